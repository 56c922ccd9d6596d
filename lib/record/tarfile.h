/*
 * tarfile - files out, one after the other, as a tar stream (ustar) that depends on nothing but their names and bytes.
 */
#ifndef RECORD_TARFILE_H
#define RECORD_TARFILE_H

#include <stddef.h>

struct tarfile;

/* Writes to fd, which stays the caller's.  Each returns 0, ERR_SYS or ERR_NOMEM. */
int	 tarfile_open(struct tarfile **t, int fd);
int	 tarfile_put(struct tarfile *t, const char *name, const void *p, size_t n);
/* Writes the end.  Frees t, also on errors. */
int	 tarfile_end(struct tarfile *t);
/* Frees t without an end of the stream.  NULL is fine. */
void	 tarfile_drop(struct tarfile *t);

#endif
