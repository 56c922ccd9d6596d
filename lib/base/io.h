/*
 * io - whole reads and writes, whole files, and files that appear at once.
 *
 * Descriptors stay the caller's.  Interrupted calls are taken up again.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include "base/buf.h"

#include <sys/types.h>

/* Reads until n bytes or the end.  *got says how many.  Returns 0 or ERR_SYS. */
int	 io_read(int fd, void *p, size_t n, size_t *got);
/* The same at an offset; ERR_SHORT when the file ends before n bytes. */
int	 io_pread(int fd, void *p, size_t n, uint64_t at);
/* Writes all n bytes.  Returns 0 or ERR_SYS. */
int	 io_write(int fd, const void *p, size_t n);
/*
 * Copies up to n of the bytes that a file, a pipe or a socket gives next, and leaves them to be read.  Waits for the first;
 * *got may be less than n before the end, too, and is 0 at the end or where fd is of another kind.  Returns 0 or ERR_SYS.
 */
int	 io_peek(int fd, void *p, size_t n, size_t *got);
/* Appends the whole file ("-": standard input) to b.  Returns 0, ERR_SYS, ERR_NOMEM, or ERR_LIMIT beyond max bytes. */
int	 io_slurp(const char *path, size_t max, struct buf *b);
/* The same of all that is left of an open file. */
int	 io_slurp_fd(int fd, size_t max, struct buf *b);

/* Flushes what was written to disk; what cannot be flushed, such as a pipe, is fine.  Returns 0 or ERR_SYS. */
int	 io_flush(int fd);
/* Flushes the folder of path: a new name is on disk when its folder is.  It cannot be taken back where that fails. */
void	 io_flush_name(const char *path);

/* A file without a name in $TMPDIR (default: /tmp), gone when it is closed.  Returns 0 or ERR_SYS. */
int	 io_temp(int *fd);

/* n bytes of chance from the system, which no seed repeats.  Returns 0 or ERR_SYS. */
int	 io_random(void *p, size_t n);

/*
 * A file that appears under its name only when all of it is there: written
 * beside it as NAME.XXXXXX.tmp, flushed to disk and renamed by io_commit(),
 * which flushes the folder, too.  Symbolic links are followed.  What is no plain file, a device or a pipe, is
 * opened and written as it is.
 */
struct io_new {
	int	 fd;
	char	*path;	/* the name it will have */
	char	*tmp;	/* the name it has until then; NULL: it is written in place */
};

/* Returns 0, ERR_SYS, ERR_ARG (no name) or ERR_NOMEM. */
int	 io_create(struct io_new *f, const char *path);
/* Flushes to disk and closes ahead of io_commit(), which then has only the name to give.  Returns 0 or ERR_SYS. */
int	 io_seal(struct io_new *f);
/* Closes and renames.  On ERR_SYS the old file, if any, is untouched and the new one is gone. */
int	 io_commit(struct io_new *f);
/* Closes and removes what was written; after io_commit() it does nothing. */
void	 io_abandon(struct io_new *f);

#endif
