/*
 * batch_order - the order of records in an epoch: internal to batch.
 *
 * The order is a function of (seed, epoch) and of the number of records.  Up to 2^24 records, their numbers are
 * shuffled in memory (Fisher and Yates).  Above that, a permutation without a table maps places to records: Feistel
 * rounds over a rectangle of at least that many places, repeated until the result is a record (Black and Rogaway,
 * "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).  With a window the order is that of a shuffle buffer of that
 * size: each place takes a random record of the buffer, and the next record replaces it.
 */
#ifndef BATCH_BATCH_ORDER_H
#define BATCH_BATCH_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct batch_order;

/* Makes an order of n records; window 0: all of them.  Returns 0 or ERR_NOMEM. */
int	 batch_order_new(uint64_t n, bool shuffle, uint64_t window, struct batch_order **o);
void	 batch_order_free(struct batch_order *o);	/* NULL is fine */
void	 batch_order_start(struct batch_order *o, uint64_t seed, uint64_t epoch);
/* The records of places [first, first + count) of the epoch.  With a window it is fast if first never decreases. */
void	 batch_order_take(struct batch_order *o, uint64_t first, uint32_t count, uint64_t *record);

#endif
