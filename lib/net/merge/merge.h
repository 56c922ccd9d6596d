/*
 * merge - files of tensors in, one file of tensors out.
 *
 * A mean is taken element by element, in double precision, in the order of the
 * files.  Batch norm's running variance is merged as the variance of what the
 * files saw together, by the law of total variance:
 *
 *	mean = sum(f_i mean_i)	var = sum(f_i (var_i + (mean_i - mean)^2))
 *
 * Whole numbers must be the same in all files.  A join takes each tensor from
 * the one file that has it.  A split deals whole tensors, in their order, to
 * parts of about the same size; a join of all parts is the file again.
 *
 * Optimizer state, NAME:momentum and the like, and NAME:average are renamed, picked and dropped as NAME is.
 *
 * Files are streamed: memory is that of the tables and of some small buffers.
 * Names are those of a net's arrays: MXNet's "arg:" and "aux:" are taken off.  A list that is written has those that a list had,
 * which may be none, and else "aux:" before running statistics and "arg:" before all others.
 */
#ifndef NET_MERGE_MERGE_H
#define NET_MERGE_MERGE_H

#include "net/rename.h"
#include "tensor/tensors.h"

#define MERGE_FILES	1024		/* most files */
#define MERGE_PIECE	32768u		/* elements in work at a time */

/*
 * Told before a file is made and as work goes on: bytes of tensors done, of so many in all.  Anything but 0 ends it, and is what
 * is returned.
 */
typedef int merge_step(void *arg, uint64_t done, uint64_t all);

/* Of weights that have a moving average beside them: both, the average under the weights' names, or the weights. */
enum merge_average { MERGE_BOTH, MERGE_AVERAGES, MERGE_WEIGHTS };

struct merge_opt {
	char *const		*path;		/* [n] */
	uint32_t		 n;
	const double		*share;		/* [n] of each file, their sum 1; NULL: a join */
	const struct rename_rules *rename;	/* NULL: none */
	char *const		*pick;		/* [npick] fnmatch(3) patterns: of new names these alone; none: all ... */
	char *const		*drop;		/* [ndrop] ... and of those not these */
	uint32_t		 npick, ndrop;
	bool			 state;		/* optimizer state is kept */
	enum merge_average	 average;
	bool			 position;	/* the first file's metadata is kept: beside "graph", which another program's has not */
	enum tensors_kind	 kind;		/* of what is written */
	merge_step		*step;		/* at each merge_tell() and merge_read(); NULL: nobody */
	void			*arg;
};

struct merge;

/*
 * Opens all files; opt is lent until merge_close().  Returns 0, ERR_ARG (nothing is left), ERR_FORMAT (the files differ in a
 * tensor's name, type or shape), or what tensors_open() returns; the line names file and tensor.
 */
int	 merge_open(const struct merge_opt *opt, struct merge **m);
void	 merge_close(struct merge *m);	/* NULL is fine */
/* The table of what they make together.  Its `at` means nothing. */
const struct tensors *merge_table(const struct merge *m);
/*
 * *p is elements [at, at+n) of a tensor of the table, n at most MERGE_PIECE, lent until the next call.  Returns 0, ERR_FORMAT
 * (whole numbers differ), or what tensors_read() returns.
 */
int	 merge_read(struct merge *m, const struct tensor *x, uint64_t at, size_t n, const void **p);
/* Tells step how far it is: for who makes a file with merge_read(), before there is one. */
int	 merge_tell(const struct merge *m);
/* Writes out, "-" for standard output.  Returns what merge_read(), tensors_create() and tensors_write() return. */
int	 merge_write(struct merge *m, const char *out);
/* All of these. */
int	 merge_run(const struct merge_opt *opt, const char *out);
/* Writes PREFIX-00001-of-0000N.safetensors and the other parts of a file; metadata goes into the first.  step may be NULL. */
int	 merge_split(const char *path, uint32_t parts, const char *prefix, merge_step *step, void *arg);

#endif
