/*
 * io - complete reads and writes, whole files, and files that appear complete.
 *
 * The caller keeps its descriptors.  Calls that a signal interrupts are repeated.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include "base/buf.h"

#include <sys/types.h>

/* Reads n bytes, or fewer at the end of the file; *got is how many.  Returns 0 or ERR_SYS. */
int	 io_read(int fd, void *p, size_t n, size_t *got);
/* Reads n bytes at offset at.  Returns 0, ERR_SYS, or ERR_SHORT if the file ends first. */
int	 io_pread(int fd, void *p, size_t n, uint64_t at);
/* Writes all n bytes.  Returns 0 or ERR_SYS. */
int	 io_write(int fd, const void *p, size_t n);
/*
 * Copies up to n of the next bytes of a file, pipe or socket without consuming them, and waits for the first.  *got may
 * be below n before the end too.  It is 0 at the end, and for a descriptor of another kind.  Returns 0 or ERR_SYS.
 */
int	 io_peek(int fd, void *p, size_t n, size_t *got);
/* Appends a whole file ("-": standard input) to b.  Returns 0, ERR_SYS, ERR_NOMEM, or ERR_LIMIT above max bytes. */
int	 io_slurp(const char *path, size_t max, struct buf *b);
/* Appends the rest of an open file in the same way. */
int	 io_slurp_fd(int fd, size_t max, struct buf *b);

/* Flushes the file to disk; succeeds for what cannot be flushed, such as a pipe.  Returns 0 or ERR_SYS. */
int	 io_flush(int fd);
/*
 * Flushes the folder of path, so that a new or renamed file survives a crash.  Ignores errors: the caller could not
 * undo the rename.
 */
void	 io_flush_name(const char *path);

/* The last component of a path, within it. */
const char *io_base_name(const char *path);
/* Bytes of a path before its last slash; 0: there is none. */
size_t	 io_folder_length(const char *path);

/*
 * Whether two paths ("-": standard output) name one file, pipe or socket.  A file need not exist yet: then its name in
 * its folder counts.  Character devices are never one file, as what is written to a terminal or /dev/null replaces
 * nothing.
 */
bool	 io_is_same(const char *a, const char *b);
/* Whether a path names the open file of a descriptor. */
bool	 io_is_open(const char *path, int fd);

/* Opens a file without a name in $TMPDIR (default: /tmp); closing it removes it.  Returns 0 or ERR_SYS. */
int	 io_temp(int *fd);

/*
 * Raises the process's limit of open files to `files` or as near as is allowed, and never lowers it.  Returns 0, or
 * ERR_LIMIT if fewer than `least` are allowed; the line says for what, as "1000 workers".
 */
int	 io_allow_files(uint64_t files, uint64_t least, const char *what, uint64_t n);

/* Closes the descriptors from first to last.  A call of the kernel for which not every C library has a function. */
void	 io_close_range(unsigned first, unsigned last);

/* Fills n bytes from the system's random number generator, which no seed repeats.  Returns 0 or ERR_SYS. */
int	 io_random(void *p, size_t n);

/*
 * A file that appears under its name only when it is complete.  It is written next to that name as NAME.XXXXXX.tmp;
 * io_commit() flushes it to disk, renames it and flushes the folder.  Symbolic links are followed.  A device or a pipe
 * is opened and written in place.
 */
struct io_new {
	int	 fd;
	char	*path;	/* final name */
	char	*tmp;	/* temporary name; NULL if the file is written in place */
};

/* The ERR_SYS of a file that could not be created, from errno; the line names the folder if it is missing. */
int	 io_create_failed(const char *path);
/* Opens f for writing.  Returns 0, ERR_SYS, ERR_ARG (the name is empty) or ERR_NOMEM. */
int	 io_create(struct io_new *f, const char *path);
/* Flushes to disk and closes the file early, so that io_commit() has only to rename it.  Returns 0 or ERR_SYS. */
int	 io_seal(struct io_new *f);
/* Closes and renames.  On ERR_SYS the old file, if any, is unchanged and the new one is removed. */
int	 io_commit(struct io_new *f);
/* Creates, writes n bytes and commits.  Returns as these. */
int	 io_replace(const char *path, const void *p, size_t n);
/* Closes and removes the unfinished file.  After io_commit() it does nothing. */
void	 io_abandon(struct io_new *f);

#endif
