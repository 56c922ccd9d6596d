/*
 * peer_traffic - what a process sent to and got from one peer, by the kind of message.
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
#ifndef WIRE_PEER_TRAFFIC_H
#define WIRE_PEER_TRAFFIC_H

#include "wire/msg.h"

#include <stdbool.h>

enum peer_traffic_way { PEER_TRAFFIC_IN, PEER_TRAFFIC_OUT, PEER_TRAFFIC_WAYS };

#define PEER_TRAFFIC_CLASSES(X) \
	X(PEER_TRAFFIC_START, "start") \
	X(PEER_TRAFFIC_GRADIENTS, "gradients") \
	X(PEER_TRAFFIC_WEIGHTS, "weights") \
	X(PEER_TRAFFIC_AUX, "aux") \
	X(PEER_TRAFFIC_FIGURES, "figures") \
	X(PEER_TRAFFIC_STATE, "state") \
	X(PEER_TRAFFIC_CONTROL, "control")

#define PEER_TRAFFIC_ENUM(name, text) name,
enum peer_traffic_class { PEER_TRAFFIC_CLASSES(PEER_TRAFFIC_ENUM) PEER_TRAFFIC_CLASS_COUNT };
#undef PEER_TRAFFIC_ENUM

/* One of zeros stands at the beginning. */
struct peer_traffic {
	uint64_t payload[PEER_TRAFFIC_WAYS][PEER_TRAFFIC_CLASS_COUNT];
	uint64_t messages[PEER_TRAFFIC_WAYS][PEER_TRAFFIC_CLASS_COUNT];
	uint64_t wire[PEER_TRAFFIC_WAYS];	/* on the socket */
	bool	 begun;			/* a gradient has been seen */
};

/* Counts a message; aux: its slice is one of batch norm's statistics. */
void	 peer_traffic_count(struct peer_traffic *t, enum peer_traffic_way way, const struct msg *m, bool aux);
/* What t has more than before. */
struct peer_traffic peer_traffic_since(const struct peer_traffic *before, const struct peer_traffic *t);
/* Messages with their heads, without start. */
uint64_t peer_traffic_steps(const struct peer_traffic *t, enum peer_traffic_way way);
const char *peer_traffic_name(enum peer_traffic_class c);

#endif
