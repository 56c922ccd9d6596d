/*
 * merge - averages, joins and splits files of tensors.
 *
 * lib/net/merge is merge (the files and the copying), merge_plan (the tensors of the output, and where each comes
 * from), merge_sum (means) and merge_split; merge_in.h is what these share.
 *
 * A mean is elementwise, in double precision, in the order of the files.  Batch norm's running variance becomes the
 * variance over the data of all files, by the law of total variance:
 *
 * 	mean = sum(f_i mean_i)	var = sum(f_i (var_i + (mean_i - mean)^2))
 *
 * A variance without means of its shape has a plain mean.  A file whose share is 0 does not count, not even its NaN.
 * Integer tensors must be equal in all files.  A join takes each tensor from the one file that has it.  A split
 * distributes whole tensors, in their order, to parts of about equal size; joining all parts restores the file.
 *
 * Optimizer state (NAME:momentum and the like) and NAME:average follow NAME when it is renamed, picked or dropped.
 *
 * Files that were trained with different preprocessing, class names or mean images (net/weights.h) are refused unless
 * forced.  The mean image is kept where the graph is kept, in safetensors whose tensors keep their names, or on
 * request.
 *
 * Files are streamed: memory holds the tables and some small buffers.  Names are those of a net's arrays, without
 * MXNet's "arg:" and "aux:".  In a .params output, a tensor of a .params input keeps its prefix, if any; other
 * tensors get "aux:" if they are running statistics, else "arg:".
 */
#ifndef NET_MERGE_MERGE_H
#define NET_MERGE_MERGE_H

#include "net/rename.h"
#include "tensor/tensors.h"

#define MERGE_FILES	1024		/* most files */
#define MERGE_PIECE	32768u		/* elements in work at a time */

/*
 * Progress callback: `done` of `all` bytes of tensors.  Called before a file is created and during the work.  A result
 * other than 0 ends the work and is returned.
 */
typedef int merge_step(void *arg, uint64_t done, uint64_t all);

/* For weights with a moving average, keep both, the average under the weights' names, or the weights. */
enum merge_average { MERGE_BOTH, MERGE_AVERAGES, MERGE_WEIGHTS };

struct merge_opt {
	char *const		*path;		/* [n] */
	uint32_t		 n;
	const double		*share;		/* [n] each file's share of a mean, their sum 1; NULL: a join */
	struct rename_rules	*rename;	/* NULL: none */
	char *const		*pick;		/* [npick] fnmatch(3) patterns of the new names to keep; none: all */
	char *const		*drop;		/* [ndrop] patterns of the new names to drop from those */
	uint32_t		 npick, ndrop;
	bool			 state;		/* keep optimizer state */
	enum merge_average	 average;
	bool			 mean_image;	/* keep the mean image in any output */
	/* Take preprocessing, class names and mean image from the first file, and join without missing parts. */
	bool			 force;
	/* Keep the first file's training position; a file without "graph" always keeps all metadata but "optimizer". */
	bool			 position;
	enum tensors_kind	 kind;		/* format of the output */
	merge_step		*step;		/* called by merge_tell() and merge_read(); NULL: none */
	/* Called for each pattern of drop that fits no tensor; NULL: not. */
	void			(*idle)(void *arg, const char *pattern);
	void			*arg;
};

struct merge;

/*
 * Opens all files; opt must outlive the merge.  The message of an error names file and tensor.  Returns 0 or an error
 * of tensors_open(), or:
 *	ERR_ARG		no tensor is selected, a rule renames none, a pattern of pick fits none, or a join
 *			lacks a part of a split file
 *	ERR_FORMAT	the files have no tensors, or differ in a tensor's name, type or shape
 */
int	 merge_open(const struct merge_opt *opt, struct merge **m);
void	 merge_close(struct merge *m);	/* NULL is fine */
/* The table of the output.  Its tensors' `at` is undefined. */
const struct tensors *merge_table(const struct merge *m);
/*
 * Sets *p to elements [at, at+n) of an output tensor, valid until the next call; n is at most MERGE_PIECE.  Returns 0,
 * ERR_FORMAT (integers differ between the files), or an error of tensors_read().
 */
int	 merge_read(struct merge *m, const struct tensor *x, uint64_t at, size_t n, const void **p);
/*
 * Calls step() with the progress.  A caller that writes a file through merge_read() calls it before
 * creating the file.
 */
int	 merge_tell(const struct merge *m);
/* Writes the file `out` ("-": standard output).  Returns as merge_read(), tensors_create() and tensors_write(). */
int	 merge_write(struct merge *m, const char *out);
/* Opens, writes and closes a merge. */
int	 merge_run(const struct merge_opt *opt, const char *out);
/*
 * Splits a file into PREFIX-00001-of-0000N.safetensors and so on, the metadata in the first.  step may be NULL.
 * Returns ERR_ARG if one of these is the file itself.
 */
int	 merge_split(const char *path, uint32_t parts, const char *prefix, merge_step *step, void *arg);

#endif
