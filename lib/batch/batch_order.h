/*
 * batch_order - in which order an epoch takes its records: serves batch.
 *
 * The order is a function of (seed, epoch) and of how many records there are.
 * Up to 2^24 records their numbers are shuffled in memory (Fisher and Yates);
 * beyond, a number is sent through a permutation that takes none: Feistel
 * rounds over a rectangle of at least so many places, walked until the result
 * is a record (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).
 * With a window the records come nearly in their own order, as a shuffle buffer
 * of that many gives them: each place takes one of the buffer by chance, which the next record replaces.
 */
#ifndef BATCH_BATCH_ORDER_H
#define BATCH_BATCH_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct batch_order;

/* n records; window 0: over all of them.  Returns 0 or ERR_NOMEM. */
int	 batch_order_new(struct batch_order **o, uint64_t n, bool shuffle, uint64_t window);
void	 batch_order_free(struct batch_order *o);	/* NULL is fine */
void	 batch_order_start(struct batch_order *o, uint64_t seed, uint64_t epoch);
/* The records of places first ... first + count of the epoch; with a window, fast where first never falls. */
void	 batch_order_take(struct batch_order *o, uint64_t first, uint32_t count, uint64_t *record);

#endif
