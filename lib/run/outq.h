/*
 * outq - a queue of bytes for a descriptor whose reader may be slow.
 *
 * The caller owns the descriptor, which stays blocking because other processes may share it.  Each
 * call of outq_run writes only as much as poll(2) guarantees not to block.
 */
#ifndef RUN_OUTQ_H
#define RUN_OUTQ_H

#include "base/buf.h"

#include <poll.h>

struct outq {
	int		 fd;
	int		 broken;	/* a write failed: all further bytes are dropped */
	struct buf	 b;
	size_t		 at;		/* bytes of b that are written */
};

/* Appends bytes.  Returns 0 or ERR_NOMEM. */
int	 outq_put(struct outq *q, const void *p, size_t n);
/* Appends each line of text with "name: " before it; text ends with a newline. */
int	 outq_put_lines(struct outq *q, const char *name, const char *text, size_t n);
size_t	 outq_size(const struct outq *q);
struct pollfd outq_poll(const struct outq *q);
/* Writes once, after poll has reported the descriptor ready.  Returns 0, or ERR_SYS once, when a write fails. */
int	 outq_run(struct outq *q);
void	 outq_free(struct outq *q);

#endif
