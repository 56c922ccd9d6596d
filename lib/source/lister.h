/*
 * lister - a directory of pictures in, .lst files out: what MXNet's im2rec.py --list does.
 *
 *	index TAB label TAB path		(label as %f, path from root)
 *
 * Pictures are numbered from 0 in the order of a sorted walk (walk.h), files before folders.  Recursive: each folder that holds
 * pictures is a class, numbered as the walk comes to it; else those of root itself are listed, with label 0.
 * Shuffled lists keep the numbers; their order is that of rng by seed, not Python's.
 * Each of n chunks becomes PREFIX_I.lst (one: PREFIX.lst), and where train is below 1, PREFIX_I_test.lst,
 * PREFIX_I_train.lst and, of what is left, PREFIX_I_val.lst.
 * Source: MXNet 1.9.1, tools/im2rec.py.
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
	const char *const	*exts;		/* endings of pictures' names, as ".jpg", in any case ... */
	size_t			 n_exts;	/* ... 0: .jpeg .jpg .png, as MXNet has them */
	bool			 recursive;
	bool			 shuffle;
	uint64_t		 seed;
	uint32_t		 chunks;	/* LISTER_CHUNKS at most; 0: 1 */
	double			 train, test;	/* shares of each chunk, their sum at most 1; both 0: all of it is for training */
	/* A place that cannot be read, a name that fits no list; the line names it.  It is left out. */
	void			(*bad)(void *ctx, int e);
	void			*ctx;
};

/*
 * Writes the lists, all at once or none; classes, if not NULL, gets the folders in the order of their numbers, and
 * *n the number of pictures.  Returns 0, ERR_SYS, ERR_ARG (shares that do not fit, no pictures), ERR_LIMIT or ERR_NOMEM;
 * the line names the file.
 */
int	 lister_run(const struct lister_opt *opt, struct names *classes, uint64_t *n);

#endif
