/*
 * files - finds the files of a directory, an archive or a stream, one after the other.
 *
 * A directory is walked (walk.h), an archive is read in its own order (arc.h), and any other file is the only
 * one.  "-" is standard input.  It and every pipe are streams, which are read once.  Several paths are read one after
 * the other, as if one directory held them.
 *
 * Names are relative; hidden files are skipped.  A compressed file x.gz is read as x.  An archive x.tar within an
 * archive is entered, up to PLACE_NEST deep, and its members are called x/...  Archives in a directory are entered
 * with FILES_ENTER.
 *
 * If an archive in a directory or in another archive is damaged, the files after the damage are lost: this gives one
 * bad item, and the walk continues.  Damage of the path's own archive ends the walk.
 */
#ifndef SOURCE_FILES_H
#define SOURCE_FILES_H

#include "base/buf.h"
#include "source/place.h"

enum { FILES_ENTER = PLACE_ENTER, FILES_ANY_ORDER = PLACE_ANY_ORDER };

struct files;

/* how: FILES_ flags.  Returns 0, ERR_SYS, ERR_FORMAT, ERR_LIMIT or ERR_NOMEM; the line names the path. */
int	 files_open(struct files **f, const char *const *paths, size_t n, unsigned how);
/* Opens another cursor over the same paths, at their start; not for a stream.  Returns the same. */
int	 files_clone(const struct files *f, struct files **clone);
void	 files_close(struct files *f);	/* NULL is fine */
unsigned files_how(const struct files *f);
bool	 files_is_stream(const struct files *f);
/* Whether it is a directory, or several paths, so that the user chose the first folders of names. */
bool	 files_is_dir(const struct files *f);
/* Archives in directories that were not entered so far. */
size_t	 files_skipped_archives(const struct files *f);
/* The first path. */
const char *files_path(const struct files *f);
/*
 * The next file.  Returns 1, with its name lent until the next call; 0 at the end; ERR_ITEM if a directory or an
 * inner archive cannot be read (the walk continues); ERR_SYS, ERR_FORMAT, ERR_LIMIT or ERR_NOMEM.  The line names the
 * place.
 */
int	 files_next(struct files *f, const char **name);
/* Whether that file is a path itself, compressed or not, and no archive. */
bool	 files_is_bare(const struct files *f);
/* That file's name for messages: "PATH: ARCHIVE: MEMBER" or a path. */
const char *files_display_name(struct files *f);
/* That file's path if open(2) can open it, else NULL. */
const char *files_plain_path(const struct files *f);
/*
 * Reads up to n bytes of that file; *got is less only at its end.  Returns 0, ERR_ITEM (this file cannot be read),
 * ERR_FORMAT (the archive is damaged and the walk ends) or ERR_NOMEM.  The line does not name the file.
 */
int	 files_read(struct files *f, void *p, size_t n, size_t *got);
/* Appends the rest of that file.  Returns the same, ERR_BYTES above max bytes, or ERR_NOMEM. */
int	 files_slurp(struct files *f, size_t max, struct buf *b);

/*
 * Looking ahead.  In a stream, files_hold() keeps the current file, at most max bytes of it; elsewhere it does
 * nothing.  A failure to read it is reported when the kept file is read.  files_rewind() goes back to the start.  In
 * a stream it goes back to the kept file, or else to the current one, of which nothing was read; once the stream
 * continues after it, the kept file is gone.  Both return what files_open() does.
 */
int	 files_hold(struct files *f, size_t max);
int	 files_rewind(struct files *f, unsigned how);

#endif
