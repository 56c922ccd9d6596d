/*
 * files - the files of a directory, an archive or a stream, one after the other.
 *
 * A directory is walked as walk.h says, an archive (arc.h) read in its own order; any other file is the only one.
 * "-" is standard input: this, and every pipe, is a stream, which is read once.  Several paths are read one after the
 * other, as if one directory held them.
 * Names are relative; hidden files are passed over.  What is packed alone, x.gz, is read as x; an archive within an
 * archive, x.tar, is entered, its members being x/..., PLACE_NEST deep; those in a directory when FILES_ENTER says so.
 *
 * An archive below the first path, or in a directory, that is damaged costs what stands behind the damage: one bad item,
 * the rest goes on.  Damage of the first itself ends the walk.
 */
#ifndef SOURCE_FILES_H
#define SOURCE_FILES_H

#include "base/buf.h"
#include "source/place.h"

enum { FILES_ENTER = PLACE_ENTER, FILES_ANY_ORDER = PLACE_ANY_ORDER };

struct files;

/* The line names the path.  Returns 0, ERR_SYS, ERR_FORMAT, ERR_LIMIT or ERR_NOMEM. */
int	 files_open(struct files **f, const char *const *paths, size_t n, unsigned how);
/* Another cursor over the same, at its beginning; not of a stream.  Returns the same. */
int	 files_clone(const struct files *f, struct files **twin);
void	 files_close(struct files *f);	/* NULL is fine */
unsigned files_how(const struct files *f);
bool	 files_is_stream(const struct files *f);
/* Whether it is a directory, or several paths, so that the first folders of names are chosen by the user. */
bool	 files_is_dir(const struct files *f);
/* Archives in directories that were not entered till now. */
size_t	 files_skipped_archives(const struct files *f);
/* The first path. */
const char *files_path(const struct files *f);
/*
 * The next file: 1, its name lent until the next call; 0 at the end; ERR_ITEM
 * when a place or an archive within cannot be read (the walk goes on); ERR_SYS,
 * ERR_FORMAT, ERR_LIMIT, ERR_NOMEM.  The line names the place.
 */
int	 files_next(struct files *f, const char **name);
/* That file for messages, as "PATH: ARCHIVE: MEMBER" or a path; and its path if it can be opened by it, else NULL. */
const char *files_display_name(struct files *f);
const char *files_plain_path(const struct files *f);
/*
 * Up to n bytes of that file; *got is less at its end alone.  Returns 0,
 * ERR_ITEM (this file cannot be read), ERR_FORMAT (the archive is damaged, the
 * walk is at its end) or ERR_NOMEM; the line does not name the file.
 */
int	 files_read(struct files *f, void *p, size_t n, size_t *got);
/* All that is left of it, appended.  Returns the same, ERR_ITEM beyond max bytes, or ERR_NOMEM. */
int	 files_slurp(struct files *f, size_t max, struct buf *b);

/*
 * Looking ahead.  files_hold() keeps the current file of a stream, max bytes of it at most; elsewhere it does nothing.
 * files_rewind() goes back: to the beginning; in a stream to the file held, or else the current one, unread as yet.
 * Once a stream goes on behind it, it is gone.  Both return what files_open() does; why a file cannot be held is
 * told by files_read() when it is read again.
 */
int	 files_hold(struct files *f, size_t max);
int	 files_rewind(struct files *f, unsigned how);

#endif
