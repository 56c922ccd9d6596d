/*
 * peer_traffic - bytes and messages that a process sent to and received from one peer, by kind of message.
 *
 *	start		everything before the first gradient: hello, first weights
 *	gradients	of the weights, to the servers
 *	weights		to the workers
 *	aux		statistics of batch norm, both ways
 *	figures		sums over all workers: accuracy and loss of epochs and of validation
 *	state		the optimizer's state, for checkpoints
 *	control		all other messages
 *
 * `payload` counts neither the MSG_HEAD bytes of each message nor what TLS adds; `wire` counts every byte.
 * Threads: one thread at a time for each struct.
 */
#ifndef WIRE_PEER_TRAFFIC_H
#define WIRE_PEER_TRAFFIC_H

#include "wire/codec.h"
#include "wire/msg.h"

#include <stdbool.h>

enum peer_traffic_way { PEER_TRAFFIC_RECEIVED, PEER_TRAFFIC_SENT, PEER_TRAFFIC_WAYS };

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

/* Initialize with zeros. */
struct peer_traffic {
	uint64_t payload[PEER_TRAFFIC_WAYS][PEER_TRAFFIC_CLASS_COUNT];
	uint64_t messages[PEER_TRAFFIC_WAYS][PEER_TRAFFIC_CLASS_COUNT];
	uint64_t coded[PEER_TRAFFIC_WAYS][CODECS];	/* payload of gradients and weights by codec */
	uint64_t wire[PEER_TRAFFIC_WAYS];	/* bytes on the socket */
	bool	 begun;			/* a gradient was counted */
};

/* Counts a message; aux: its slice holds statistics of batch norm.  codec is that of gradients and weights. */
void	 peer_traffic_count(struct peer_traffic *t, enum peer_traffic_way way, const struct msg *m, bool aux,
	     enum codec_kind codec);
/* Returns t minus before. */
struct peer_traffic peer_traffic_since(const struct peer_traffic *before, const struct peer_traffic *t);
/* Returns the bytes of all messages with their headers, except those of the start. */
uint64_t peer_traffic_steps(const struct peer_traffic *t, enum peer_traffic_way way);
const char *peer_traffic_name(enum peer_traffic_class c);

#endif
