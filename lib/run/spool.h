/*
 * spool - bytes kept in order until somebody takes them: the first in memory, the rest in a file without a name.
 *
 * The file lies in $TMPDIR or /tmp and is gone with the process.
 * Threads: for one thread at a time.
 */
#ifndef RUN_SPOOL_H
#define RUN_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_MEMORY	(1u << 20)	/* bytes in memory before the file is begun */
#define SPOOL_MOST	(1ull << 30)	/* bytes in all, unless spool_limit says otherwise */

struct spool;

struct spool *spool_new(void);		/* NULL when out of memory */
void	 spool_free(struct spool *s);	/* NULL is fine */
/* The most bytes before it counts as full. */
void	 spool_limit(struct spool *s, uint64_t most);

/* Bytes that wait. */
uint64_t spool_size(const struct spool *s);
/* May more be put?  False when it is full, or when memory is and no file can be written. */
bool	 spool_room(const struct spool *s);
/* Puts bytes behind the others, room or not.  Returns 0 or ERR_NOMEM. */
int	 spool_put(struct spool *s, const void *p, size_t n);
/* Takes the first n bytes; n <= spool_size.  Returns 0, ERR_NOMEM, or ERR_SYS when the file cannot be read. */
int	 spool_take(struct spool *s, void *p, size_t n);

#endif
