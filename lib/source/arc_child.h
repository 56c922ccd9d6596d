/*
 * arc_child - an archive read by a process of its own: serves arc, whose contracts these are.
 *
 * Some of libarchive's readers crash or loop on hostile archives, in every release so far.  Here they are run by a child
 * of this process, without exec: it has no descriptors but the archive and a socket, may open none, write no file, take
 * no more than ARC_CHILD_MEMORY bytes more than it began with, and ARC_CHILD_CPU seconds for one answer.  When it dies, the
 * archive is damaged, ERR_FORMAT, and the line says of what it died.
 *
 *	request: u32 n, bytes to read; 0: the next member
 *	answer: i32 code, as arc.h has them | u32 packed | u32 n | n bytes: a name, what was read, or an error's line
 *
 * Words are as this machine has them.  The first answer, unasked, is whether the archive could be opened.
 */
#ifndef SOURCE_ARC_CHILD_H
#define SOURCE_ARC_CHILD_H

#include "source/arc.h"

#include <stdint.h>

#define ARC_CHILD_MEMORY	((uint64_t)2 << 30)
#define ARC_CHILD_CPU		60u

struct arc_child;

/* fd is a file, n bytes at head its first; it must stay open, and is read by nobody else. */
int	 arc_child_open(struct arc_child **a, int fd, const uint8_t *head, size_t n, enum arc_kind kind);
void	 arc_child_close(struct arc_child *a);	/* NULL is fine; ends the process */
bool	 arc_child_is_packed(const struct arc_child *a);
int	 arc_child_next(struct arc_child *a, const char **name);
int	 arc_child_read(struct arc_child *a, void *p, size_t n, size_t *got);

#endif
