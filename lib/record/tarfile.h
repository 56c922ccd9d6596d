/* tarfile - writes files as a tar stream (ustar), a function of their names and bytes only. */
#ifndef RECORD_TARFILE_H
#define RECORD_TARFILE_H

#include <stddef.h>

struct tarfile;

/* Writes to fd, which the caller closes.  Each function returns 0, ERR_SYS or ERR_NOMEM. */
int	 tarfile_open(int fd, struct tarfile **t);
int	 tarfile_put(struct tarfile *t, const char *name, const void *p, size_t n);
/* Writes the end of the stream.  Frees t, also on errors. */
int	 tarfile_end(struct tarfile *t);
/* Frees t without writing the end.  NULL is fine. */
void	 tarfile_drop(struct tarfile *t);

#endif
