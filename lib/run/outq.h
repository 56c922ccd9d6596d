/*
 * outq - bytes on their way to a descriptor whose reader may be slow.
 *
 * The descriptor stays the caller's and blocking, as others may share it; a
 * piece that poll(2) says fits is written at a time.
 */
#ifndef RUN_OUTQ_H
#define RUN_OUTQ_H

#include "base/buf.h"

#include <poll.h>

struct outq {
	int		 fd;
	int		 broken;	/* nothing can be written: what is put is dropped */
	struct buf	 b;
	size_t		 at;		/* bytes of b that are written */
};

/* Returns 0 or ERR_NOMEM. */
int	 outq_put(struct outq *q, const void *p, size_t n);
/* Each line of text behind "name: "; text ends with a newline. */
int	 outq_put_lines(struct outq *q, const char *name, const char *text, size_t n);
size_t	 outq_size(const struct outq *q);
struct pollfd outq_poll(const struct outq *q);
/* When poll said so: writes a piece.  Returns 0, or ERR_SYS the first time that fails. */
int	 outq_run(struct outq *q);
void	 outq_free(struct outq *q);

#endif
