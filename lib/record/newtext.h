/*
 * newtext - a text file that appears at once: lines are put into a buffer and written as it fills.
 *
 * A zeroed struct newtext is no file: all but newtext_create() do nothing with it.
 */
#ifndef RECORD_NEWTEXT_H
#define RECORD_NEWTEXT_H

#include "base/io.h"

struct newtext {
	struct buf	 wait;		/* put lines here, and then call newtext_step() */
	char		*path;
	struct io_new	 file;
};

/* Takes path, which free() must be able to free; NULL is ERR_NOMEM.  Each returns 0, ERR_SYS or ERR_NOMEM; lines name the file. */
int	 newtext_create(struct newtext *t, char *path);
int	 newtext_step(struct newtext *t);
/* All of it on disk, not yet under its name. */
int	 newtext_seal(struct newtext *t);
/* What was sealed gets its name. */
int	 newtext_commit(struct newtext *t);
void	 newtext_free(struct newtext *t);	/* drops what was not committed */

#endif
