/*
 * arc_child - reads an archive in a separate process.  For arc, with the contracts of arc.h.
 *
 * In every release so far, some readers of libarchive crash or loop on hostile archives.  A forked child runs
 * them.  It keeps only the archive and a socket open, may open no files and write none, and may use at most
 * ARC_CHILD_MEMORY bytes more than at its start, and ARC_CHILD_CPU seconds for each answer.  If it dies, the archive
 * is damaged: ERR_FORMAT, with a line that states the cause.
 *
 *	request: u32 n, bytes to read; 0: the next member
 *	answer: i32 code, as in arc.h | u32 packed | u32 n | n bytes: a name, the bytes read, or an error's line
 *
 * Words are in the machine's byte order.  The child sends a first answer unasked: whether the archive could be
 * opened.
 */
#ifndef SOURCE_ARC_CHILD_H
#define SOURCE_ARC_CHILD_H

#include "source/arc.h"

#include <stdint.h>

#define ARC_CHILD_MEMORY	((uint64_t)2 << 30)
#define ARC_CHILD_CPU		60u

struct arc_child;

/* fd is a file whose first n bytes are head.  It must stay open, and nobody else may read it. */
int	 arc_child_open(int fd, const uint8_t *head, size_t n, enum arc_kind kind, struct arc_child **a);
void	 arc_child_close(struct arc_child *a);	/* NULL is fine; ends the process */
bool	 arc_child_is_packed(const struct arc_child *a);
int	 arc_child_next(struct arc_child *a, const char **name);
int	 arc_child_read(struct arc_child *a, void *p, size_t n, size_t *got);

#endif
