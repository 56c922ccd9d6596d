/*
 * lister - writes .lst files of a directory of images, as MXNet's im2rec.py --list does.
 *
 *	index TAB label TAB path		(label as %f, path from root)
 *
 * Images are numbered from 0 in the order of a sorted walk, a folder's files before its folders.  Recursive: each
 * folder that holds images is a class, numbered in the order of the walk.  Otherwise only images of root itself are
 * listed, with label 0.  Shuffled lists keep the numbers; their order comes from rng with the seed, and differs from
 * Python's.  Each of n chunks becomes PREFIX_I.lst (a single one: PREFIX.lst).  If train is below 1, it becomes
 * PREFIX_I_test.lst, PREFIX_I_train.lst and, with the rest, PREFIX_I_val.lst.  PREFIX.names has the names of the
 * classes, a line each, if folders are classes.  Source: MXNet 1.9.1, tools/im2rec.py.
 */
#ifndef SOURCE_LISTER_H
#define SOURCE_LISTER_H

#include "source/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LISTER_CHUNKS	256u

struct lister_opt {
	const char		*root;
	const char		*prefix;
	const char *const	*exts;		/* suffixes of images, such as ".jpg", in any case */
	size_t			 n_exts;	/* 0: .jpeg .jpg .png, MXNet's */
	bool			 recursive;
	bool			 shuffle;
	uint64_t		 seed;
	uint32_t		 chunks;	/* LISTER_CHUNKS at most; 0: 1 */
	/* fractions of each chunk, sum at most 1; both 0: all is for training */
	double			 train, test;
	/* Called for a file that is left out: unreadable, or with a name that fits no list.  The line names it. */
	void			(*bad)(void *ctx, int e);
	void			*ctx;
};

/*
 * Writes all files, or none.  classes, if not NULL, receives the folders in the order of their numbers, *n the number
 * of images.  Returns 0, ERR_SYS, ERR_ARG (invalid fractions, no images), ERR_LIMIT or ERR_NOMEM; the line names the
 * file.
 */
int	 lister_run(const struct lister_opt *opt, struct names *classes, uint64_t *n);

#endif
