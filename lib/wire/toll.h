/*
 * toll - what a process sent to and got from one peer, by the kind of message.
 *
 *	start		everything before the first gradient: greetings, first weights
 *	gradients	of weights, to the servers
 *	weights		to the workers
 *	aux		batch norm's statistics, both ways
 *	figures		sums over all workers: accuracy, loss, of epochs and of validation
 *	state		the optimizer's, for checkpoints
 *	control		all else
 *
 * Payload is what messages carry; MSG_HEAD bytes a message come to it, and what TLS adds, which is in wire alone.
 * Threads: a toll is for one thread at a time.
 */
#ifndef WIRE_TOLL_H
#define WIRE_TOLL_H

#include "wire/msg.h"

#include <stdbool.h>

enum toll_way { TOLL_IN, TOLL_OUT, TOLL_WAYS };

#define TOLL_CLASSES(X) \
	X(TOLL_START, "start") \
	X(TOLL_GRADIENTS, "gradients") \
	X(TOLL_WEIGHTS, "weights") \
	X(TOLL_AUX, "aux") \
	X(TOLL_FIGURES, "figures") \
	X(TOLL_STATE, "state") \
	X(TOLL_CONTROL, "control")

#define TOLL_ENUM(name, text) name,
enum toll_class { TOLL_CLASSES(TOLL_ENUM) TOLL_CLASS_COUNT };
#undef TOLL_ENUM

/* One of zeros stands at the beginning. */
struct toll {
	uint64_t payload[TOLL_WAYS][TOLL_CLASS_COUNT];
	uint64_t messages[TOLL_WAYS][TOLL_CLASS_COUNT];
	uint64_t wire[TOLL_WAYS];	/* on the socket */
	bool	 begun;			/* a gradient has been seen */
};

/* Counts a message; aux: its slice is one of batch norm's statistics. */
void	 toll_count(struct toll *t, enum toll_way way, const struct msg *m, bool aux);
/* What t has more than before. */
struct toll toll_since(const struct toll *before, const struct toll *t);
/* Messages with their heads, without start. */
uint64_t toll_steps(const struct toll *t, enum toll_way way);
const char *toll_name(enum toll_class c);

#endif
