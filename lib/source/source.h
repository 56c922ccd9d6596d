/*
 * source - a cursor over pictures, wherever they come from.
 *
 *	class folders	a directory or an archive; class = folder, in the order of the names' bytes
 *	webdataset	archives (shards) in which KEY.jpg (or .jpeg .png ...) stands next to KEY.cls, its label in digits, or to
 *			KEY.json with {"labels": [numbers]}
 *	a list		.lst lines, and the folder that their paths begin in
 *	CIFAR-10, -100	data_batch_N.bin and test_batch.bin; train.bin and test.bin; in a directory, an archive, or one alone
 *	MNIST		train- and t10k-...-idx3-ubyte and -idx1-ubyte, in a directory or an archive; EMNIST: one of its sets
 *
 * Archives and packed files are what files.h says, within each other too.  Which kind a place is, is told by the names
 * in it.  Numbers count from 0 in the order of the source, a list's are its own.
 *
 * Formats: https://www.cs.toronto.edu/~kriz/cifar.html (u8 label, or coarse and fine; planes R G B of 32x32);
 * http://yann.lecun.com/exdb/mnist (big-endian heads; u8 labels; u8 pixels, rows of a picture);
 * https://github.com/webdataset/webdataset (a key is a name up to its first dot; cls and cls2 are integers as text).
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "base/buf.h"
#include "source/names.h"
#include "source/stamp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum source_split { SOURCE_ALL, SOURCE_TRAIN, SOURCE_TEST };

struct source_opt {
	const char		*path;	/* "-": standard input, which is read once */
	const char *const	*paths;	/* n_paths > 0: these instead, as if one directory held them; not for lists */
	size_t			 n_paths;
	const char		*root;	/* of a list; NULL: "." when path ends in .lst, else no list */
	/* Train: train-*, data_batch_*, folder train; test: t10k-*, test_batch, folder test or val. */
	enum source_split	 split;
	const char		*labels;	/* a file of classes' names, one a line, in the order of their numbers; NULL: none */
	uint32_t		 label_width;	/* labels of an item, the first; 0: all that there are.  An item with fewer is a bad one. */
	uint32_t		 part, parts;	/* of all items in their order, those whose place is part modulo parts; parts 0: all */
};

struct source_item {
	uint64_t	 id;
	uint32_t	 labels;	/* 1 or more */
	const float	*label;
	const char	*name;		/* for messages: where it comes from */
	bool		 later;		/* the picture is in the file called name, for source_read(): data is NULL */
	const uint8_t	*data;		/* an encoded picture of n bytes; or, c > 0, pixels [h,w,c] */
	size_t		 n;
	uint32_t	 c, h, w;
};

struct source;

/* Returns 0, ERR_SYS, ERR_FORMAT, ERR_SHORT, ERR_LIMIT, ERR_ARG (nothing of that split, or a split must be said), ERR_NOMEM. */
int	 source_open(struct source **s, const struct source_opt *opt);
void	 source_close(struct source *s);	/* NULL is fine */
/*
 * The next picture, lent until the next call: 1, 0 at the end, ERR_ITEM (name
 * is that of the bad item; the stream goes on), or what ends the stream, its
 * line naming file and place: ERR_SYS, ERR_FORMAT, ERR_SHORT, ERR_LIMIT, ERR_NOMEM.
 */
int	 source_next(struct source *s, struct source_item *item);
/*
 * The same item by its name and number alone, its picture not read where that can be helped: 1, 0 or what ends the
 * stream, or ERR_ITEM where source_next() may have given an item or ERR_ITEM.  For a run that goes on where another ended.
 */
int	 source_skip(struct source *s, struct source_item *item);
/*
 * The picture of an item that is `later`, appended, and the stamp of the file that it was read from, or else of the name.
 * Threads: any.  Returns 0, ERR_SYS, ERR_LIMIT or ERR_NOMEM.
 */
int	 source_read(const char *name, struct buf *data, struct stamp *stamp);
/* How much of the source `done` of the items are that it gave so far, 0..1, where that is known; else -1. */
double	 source_progress(const struct source *s, uint64_t done);
/* Items given of which labels beyond label_width were left out. */
uint64_t source_cut_labels(const struct source *s);
/* The classes' names in the order of their numbers; complete when the end was reached.  None for a list. */
const struct names *source_classes(const struct source *s);

#endif
