/*
 * files - finds the files of a directory, an archive or a stream, one after the other.
 *
 * The cursor walks a directory (walk.h), reads an archive in the order of its members (arc.h), and takes any other file
 * as the only one.  "-" is standard input.  Standard input and pipes are streams: the cursor reads them once.  It reads
 * several paths one after the other, as if one directory held them.
 *
 * Names are relative to the path.  The cursor skips hidden files, reads a compressed file x.gz as x, and enters an
 * archive x.tar within an archive, up to PLACE_NEST deep, whose members it calls x/...  It enters archives in a
 * directory only with FILES_ENTER.
 *
 * A damaged archive in a directory or in another archive loses the files after the damage: files_next() returns
 * ERR_ITEM once and continues.  Damage of the path's own archive ends the walk.
 */
#ifndef SOURCE_FILES_H
#define SOURCE_FILES_H

#include "base/buf.h"
#include "source/place.h"

enum { FILES_ENTER = PLACE_ENTER, FILES_ANY_ORDER = PLACE_ANY_ORDER };

struct files;

/* how: FILES_ flags.  Returns 0, ERR_SYS, ERR_FORMAT, ERR_LIMIT or ERR_NOMEM; the line names the path. */
int	 files_open(const char *const *paths, size_t n, unsigned how, struct files **f);
/* Opens another cursor over the same paths, at their start; not for a stream.  Returns the same. */
int	 files_clone(const struct files *f, struct files **clone);
void	 files_close(struct files *f);	/* NULL is fine */
unsigned files_how(const struct files *f);
bool	 files_is_stream(const struct files *f);
/* Whether the path is a directory, or there are several: then the first folders of names are the user's choice. */
bool	 files_is_dir(const struct files *f);
/* Returns the number of archives in directories that the cursor has not entered so far. */
size_t	 files_skipped_archives(const struct files *f);
/* The first path. */
const char *files_path(const struct files *f);
/*
 * The next file.  Returns 1, with its name lent until the next call; 0 at the end; ERR_ITEM if a directory or an
 * inner archive cannot be read (the walk continues); ERR_SYS, ERR_FORMAT, ERR_LIMIT or ERR_NOMEM.  The line names the
 * place.
 */
int	 files_next(struct files *f, const char **name);
/* The line of the first ERR_ITEM that files_next() ever returned; "": there was none. */
const char *files_fault(const struct files *f);
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
 * Looking ahead in a stream.  files_hold() keeps the current file, at most max bytes of it, which can be read then; an
 * error of reading it comes after its bytes, as from the stream.  files_release() forgets the file that was kept last,
 * if it is the current one.  files_rewind() goes back to the first kept file.  After the last one comes the current
 * file, if it was neither kept nor read; other files are gone.  Elsewhere the first two do nothing, and files_rewind()
 * goes back to the start.  Both functions with a result return what files_open() does, and files_hold() ERR_LIMIT if
 * too many files are kept.
 */
int	 files_hold(struct files *f, size_t max);
void	 files_release(struct files *f);
int	 files_rewind(struct files *f, unsigned how);

#endif
