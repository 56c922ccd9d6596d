/*
 * spool - a queue of bytes: the first in memory, the rest in an unnamed file.
 *
 * The file is in $TMPDIR or /tmp and disappears with the process.
 * Threads: one thread at a time.
 */
#ifndef RUN_SPOOL_H
#define RUN_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_MEMORY	(1u << 20)	/* bytes in memory before a file is used */
#define SPOOL_MOST	(1ull << 30)	/* bytes in all, unless spool_limit sets another limit */

struct spool;

struct spool *spool_new(void);		/* NULL when out of memory */
void	 spool_free(struct spool *s);	/* NULL is fine */
/* Sets the number of bytes at which the spool is full. */
void	 spool_limit(struct spool *s, uint64_t most);

/* The number of queued bytes. */
uint64_t spool_size(const struct spool *s);
/* False if the spool is full, or if memory is full and the file cannot be written. */
bool	 spool_room(const struct spool *s);
/* Appends bytes, even if there is no room.  Returns 0 or ERR_NOMEM. */
int	 spool_put(struct spool *s, const void *p, size_t n);
/* Removes the first n bytes; n <= spool_size.  Returns 0, ERR_NOMEM, or ERR_SYS if the file cannot be read. */
int	 spool_take(struct spool *s, void *p, size_t n);

#endif
