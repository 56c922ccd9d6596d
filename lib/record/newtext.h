/*
 * newtext - a text file that is written through a buffer and appears atomically.
 *
 * A zeroed struct newtext is no file: all functions but newtext_create() then do nothing.
 */
#ifndef RECORD_NEWTEXT_H
#define RECORD_NEWTEXT_H

#include "base/io.h"

struct newtext {
	struct buf	 wait;		/* append lines here, then call newtext_step() */
	char		*path;
	struct io_new	 file;
};

/*
 * Owns path, allocated with malloc(); NULL gives ERR_NOMEM.  All return 0, ERR_SYS or ERR_NOMEM;
 * messages name the file.
 */
int	 newtext_create(struct newtext *t, char *path);
int	 newtext_step(struct newtext *t);
/* Writes everything to disk, not yet under its name. */
int	 newtext_seal(struct newtext *t);
/* Gives the sealed file its name. */
int	 newtext_commit(struct newtext *t);
void	 newtext_free(struct newtext *t);	/* removes a file that is not committed */

#endif
