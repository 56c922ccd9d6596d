/*
 * source - a cursor over images and their labels, from any kind of source.
 *
 * lib/source finds images wherever they are stored.  Read it in this order: source; source_kind, the table of the
 * six kinds (source_folder, source_images, source_shards, source_list, source_cifar, source_mnist); files and place,
 * the files of a path; walk (directories) and arc (archives: arc_local, arc_child, unpack).  Then come the helpers:
 * folders, list, label, names, suffix and stamp.  lister writes .lst files.
 *
 *	class folders	a directory or an archive; class = folder, in the order of the names' bytes
 *	webdataset	archives (shards) in which KEY.jpg (or .jpeg .png ...) is next to KEY.cls, its label in
 *			digits, or KEY.json with {"labels": [labels]}, or one without brackets, or with a number
 *			alone; a label that is no finite number is a string of label.h.  A file __labels__ before
 *			them names the classes, a line each; given classes are found by these names
 *	a list		.lst lines, and the folder that their paths start in
 *	CIFAR-10, -100	data_batch_N.bin and test_batch.bin; train.bin and test.bin; in a directory, an archive,
 *			or alone
 *	MNIST		train- and t10k-...-idx3-ubyte and -idx1-ubyte, in a directory or an archive, and copies of
 *			them; EMNIST: one of its sets
 *	images		with the option classless, in place of the first two: every image file, also in nested
 *			archives, with label -1; a file that is the path itself, or alone in a stream, whatever its
 *			name
 *
 * files.h describes archives and compressed files.  The file names tell the kind.  Items are numbered from 0 in the
 * order of the source; a list has its own numbers.
 *
 * Sources: https://www.cs.toronto.edu/~kriz/cifar.html (u8 label, or coarse and fine; planes R G B of 32x32).
 * http://yann.lecun.com/exdb/mnist (big-endian headers; u8 labels; u8 pixels, row by row).
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

#define SOURCE_NAMES_FILE	"__labels__"	/* of a webdataset; webdataset skips a name of this form */
#define SOURCE_CLASSES	(1u << 24)	/* labels in .cls files are below this, so that f32 holds them exactly */

enum source_split { SOURCE_ALL, SOURCE_TRAIN, SOURCE_TEST };

struct source_opt {
	const char		*path;		/* "-": standard input, which is read once */
	/* if n_paths > 0: these instead, as if one directory held them, all of one kind; not for lists */
	const char *const	*paths;
	size_t			 n_paths;
	const char		*root;		/* root of a list; NULL: "." if path ends in .lst, else no list */
	/* Train: train-*, data_batch_*, folder train.  Test: t10k-*, test_batch, folder test or val. */
	enum source_split	 split;
	/* file of class names, one a line, in the order of numbers; NULL: none */
	const char		*labels;
	const char		*class_names;	/* the text of such a file instead, or NULL */
	uint32_t		 label_width;	/* labels used of each item, which must have as many; 0: all */
	size_t			 bytes;		/* most bytes of an image; 0: IMG_BYTES */
	bool			 classless;	/* images need no class */
	/* Returns only items whose position modulo parts is part.  parts 0: all items. */
	uint32_t		 part, parts;
};

struct source_item {
	uint64_t	 id;
	uint32_t	 labels;	/* 1 or more */
	const float	*label;
	const char	*name;		/* where it comes from, for messages */
	enum source_split part;		/* the split that its file is of; SOURCE_ALL: unknown */
	bool		 later;		/* data is NULL: source_read() reads the file called name */
	const uint8_t	*data;		/* an encoded image of n bytes; or, if c > 0, pixels [h,w,c] */
	size_t		 n;
	uint32_t	 c, h, w;
};

struct source;

/*
 * Returns 0, ERR_SYS, ERR_FORMAT, ERR_SHORT, ERR_LIMIT, ERR_ARG (nothing of that split, a split is needed, paths of
 * different kinds, or different files of one part of MNIST) or ERR_NOMEM.
 */
int	 source_open(const struct source_opt *opt, struct source **s);
void	 source_close(struct source *s);	/* NULL is fine */
/* Whether a file of that name has only the images or only the labels of MNIST: source_open() needs both. */
bool	 source_is_half(const char *path);
/*
 * The next image, lent until the next call.  Returns 1, 0 at the end, or an error.  The stream continues after an error
 * of an item, which name names: ERR_ITEM; ERR_BYTES, it is too long; ERR_CLASS, it has none of the given classes.  The
 * line of ERR_CLASS is the same for all images of its folder or with its label.  Other errors end the stream, and their
 * line names file and place: ERR_SYS, ERR_FORMAT, ERR_SHORT, ERR_LIMIT, ERR_NOMEM.
 */
int	 source_next(struct source *s, struct source_item *item);
/* Whether the stream continues after that error. */
bool	 source_is_item_error(int e);
/*
 * The same item with only its name and number, for a run that resumes another.  Avoids reading the image where
 * possible.  Returns as source_next(), but may return 1 for a bad item or ERR_ITEM for a good one.
 */
int	 source_skip(struct source *s, struct source_item *item);
/*
 * Appends the image of an item that is `later`, and sets the stamp of the file read, or of the name if it cannot be
 * opened.  Threads: any, also while another reads the next items.  Returns 0, ERR_SYS (also for what is no regular
 * file), ERR_BYTES or ERR_NOMEM.
 */
int	 source_read(const struct source *s, const char *name, struct buf *data, struct stamp *stamp);
/* The fraction of the source, 0..1, that the first `done` items returned are; -1 if unknown. */
double	 source_progress(const struct source *s, uint64_t done);
/* The number of items that lost labels beyond label_width. */
uint64_t source_cut_labels(const struct source *s);
/* Whether images for training and for testing were returned together.  Unknown, and so false, for class folders. */
bool	 source_mixes_splits(const struct source *s);
/* The class names in the order of their numbers, complete at the end of the source.  None for a list. */
const struct names *source_classes(const struct source *s);

#endif
