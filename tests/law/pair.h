/*
 * pair - the network in memory: messages between parties, delivered in an order drawn from a seed.
 *
 * Between two parties messages stay in order, as over one connection; which link
 * delivers next is drawn.  So whole jobs, with their crashes, run in one thread
 * and are replayed from one integer: the tests of tests/law do that.  Parties are numbers from 0.
 *
 * Ownership: pair_send copies, but a payload that is lasting is read when it is delivered, or when its link breaks, or
 * with pair_lend() never: a message has the sender's own bytes, and is lasting.  A message from pair_next is lent until
 * the next pair_next, pair_cut or pair_free.
 */
#ifndef TESTS_LAW_PAIR_H
#define TESTS_LAW_PAIR_H

#include "wire/msg.h"

#include <stdbool.h>

#define PAIR_KEPT	8	/* messages delivered that a link can deliver again */

struct pair;

/* NULL when out of memory. */
struct pair *pair_new(unsigned parties, uint64_t seed);
void	 pair_free(struct pair *p);	/* NULL is fine */

/* From now on lasting payloads are not copied.  What is repeated, or sent before its link broke, has the bytes of then. */
void	 pair_lend(struct pair *p);
/* Queues a message on the link from one party to another, which may be itself.  0 or ERR_NOMEM. */
int	 pair_send(struct pair *p, unsigned from, unsigned to, const struct msg *m);
/* The next to be delivered: 1, or 0 when every open link is empty. */
int	 pair_next(struct pair *p, unsigned *from, unsigned *to, struct msg *m);
/* Messages waiting, on held links too. */
size_t	 pair_waiting(const struct pair *p);

/* Messages waiting on one link. */
size_t	 pair_queued(struct pair *p, unsigned from, unsigned to);

/* A broken connection, one way: the link loses all but the next n messages, and what it could repeat. */
void	 pair_break(struct pair *p, unsigned from, unsigned to, size_t n);
/* A crash: all that waits on the party's links, both ways, is lost, and what they could repeat. */
void	 pair_cut(struct pair *p, unsigned party);
/*
 * A connection that broke and was made again: its sender repeats the last n messages delivered (at most PAIR_KEPT)
 * before what waits.  Returns how many.
 */
unsigned pair_repeat(struct pair *p, unsigned from, unsigned to, unsigned n);
/* Delay: while a link is held it delivers nothing and loses nothing. */
void	 pair_hold(struct pair *p, unsigned from, unsigned to, bool held);

#endif
