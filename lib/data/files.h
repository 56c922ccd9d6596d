/*
 * files - the files of a directory or an archive, one after the other.
 *
 * A directory is walked in the order of its names' bytes, below itself too,
 * symbolic links followed; an archive (tar, zip; gzip, bzip2, xz, zstd) in its
 * own order; any other file is the only one.  Names are relative; hidden
 * files are passed over.  In a directory, too, x.gz is read as x.
 * What an archive says about sizes is not believed.
 */
#ifndef DATA_FILES_H
#define DATA_FILES_H

#include "base/buf.h"

#include <stdbool.h>

struct files;

/* The line names the path.  Returns 0, ERR_SYS, ERR_FORMAT or ERR_NOMEM. */
int	 files_open(struct files **f, const char *path);
void	 files_close(struct files *f);	/* NULL is fine */
bool	 files_is_dir(const struct files *f);
const char *files_path(const struct files *f);
/*
 * The next file: 1, its name lent until the next call; 0 at the end; ERR_ITEM
 * when a place in a directory cannot be read (the walk goes on); ERR_SYS,
 * ERR_FORMAT, ERR_NOMEM.  The line names the place.
 */
int	 files_next(struct files *f, const char **name);
/*
 * Up to n bytes of that file; *got is less at its end alone.  Returns 0,
 * ERR_ITEM (a file of a directory cannot be read), ERR_FORMAT (the archive is
 * damaged) or ERR_NOMEM; the line does not name the file.
 */
int	 files_read(struct files *f, void *p, size_t n, size_t *got);
/* All that is left of it, appended.  Returns the same, ERR_ITEM beyond max bytes, or ERR_NOMEM. */
int	 files_slurp(struct files *f, size_t max, struct buf *b);

#endif
