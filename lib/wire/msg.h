/*
 * msg - a message between the processes of a job, as bytes.
 *
 *	u32 length of the payload | u16 type | u16 flags | u64 incarnation | u64 step |
 *	u32 worker | u32 slice | u32 samples | f32 rate | payload[length]
 *
 * The header has 40 bytes, all little-endian; wire(5) describes each type.  Every message names its sender's
 * incarnation, and the worker, the step and the slice that it is about, so that a receiver recognizes one that is
 * repeated.
 */
#ifndef WIRE_MSG_H
#define WIRE_MSG_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MSG_HEAD	40u
#define MSG_VERSION	10u		/* version of the protocol; MSG_HELLO carries it */
#define MSG_MOST	(16u << 20)	/* most bytes of payload */

/* The sender comes first: a worker or a server of a job, a reader of records or the host that serves them. */
enum msg_type {
	MSG_HELLO = 1,	/* worker: joins; payload: the job's description */
	MSG_WELCOME,	/* server: accepts; step: its step; flags: MSG_EMPTY if it has no weights yet */
	MSG_REFUSE,	/* server: refuses; payload: one line of text */
	MSG_INIT,	/* worker that starts the job: first weights (or state: MSG_STATE_OF) of a slice, f32 */
	/* worker: gradient of a slice, summed over `samples`, in its codec; `rate`: the step's learning rate */
	MSG_PUSH,
	/*
	 * server: a slice after `step` updates, in its codec; not synchronous: `samples` updates of all workers, and
	 * the gradient that it answers was `rate` updates behind
	 */
	MSG_WEIGHTS,
	MSG_SUM,	/* worker: numbers to be summed over all workers, f64 */
	MSG_TOTAL,	/* server: their sum, f64 */
	MSG_PULL,	/* worker: requests a slice's weights (or state: MSG_STATE_OF) */
	MSG_STATE,	/* server: a slice's optimizer state, f32; its average or weights with their flags */
	MSG_STOP,	/* worker: the job should end at the next step */
	MSG_BYE,	/* worker or server: done, nothing follows */
	MSG_OPEN,	/* reader (dataset/dataset_msg.h): starts */
	MSG_HOLDS,	/* dataset server: number of records; payload: their id */
	MSG_ASK,	/* reader: requests records; payload: their numbers, u64 */
	MSG_RECORD,	/* dataset server: a part of a record, or with MSG_EMPTY the reason why it cannot be read */
	/* server: its part of a step's norms, NORM_BYTES each (ps/norms.h); worker: the sums of all parts */
	MSG_NORMS,
	MSG_EPOCH,	/* worker: epoch `step` begins */
	MSG_PING,	/* server: asks for a sign of life; worker: the answer; step: the question's number */
	/*
	 * worker: it waits for server `slice`; that server: it waits for worker `slice`, which waits for server
	 * `samples`; each may be MSG_NOBODY
	 */
	MSG_WAIT,
	/*
	 * wire/conn.h only: offers shared memory, payload: where and a token; the answer, and the answer to that, with
	 * MSG_EMPTY: there will be none
	 */
	MSG_SHM,
	MSG_DEAL,	/* server 0 of an elastic job: from batch `step` on there are `samples` workers (ps/deal.h) */
	/* wire/conn.h only: offers UCX, payload: the address of a worker; the answer, with one; and as for SHM */
	MSG_UCX,
	/*
	 * worker or server 0: changes of settings (ps/settings.h), SETTING_BYTES each; worker 0 to server 0 with
	 * MSG_EMPTY: asks for one
	 */
	MSG_SET,
	MSG_CLASSES,	/* dataset server: a part of the names of the classes */
	MSG_TYPES
};

/* Flags. */
#define MSG_STATE_OF	1u	/* the slice's optimizer state rather than its weights */
/*
 * WELCOME: no weights yet.  PUSH: no samples in this step, no payload.  PULL, WEIGHTS: the worker supplied the first
 * weights, and asks whether they are there.  SHM, UCX: no.  SET: it is asked for, not decided
 */
#define MSG_EMPTY	2u
#define MSG_LAST	4u	/* WEIGHTS: the job ends after this step.  HELLO: the worker only says goodbye */
#define MSG_AVERAGE_OF	8u	/* the slice's average, over `samples` weights */
#define MSG_MARK	16u	/* PUSH: the weights after this step join the average (net/optim/average.h) */
/* WELCOME: the server is restarted if it dies, with all that it has answered.  HELLO: the worker is */
#define MSG_KEPT	32u
/* PUSH, WEIGHTS: 256 (1 + codec) if that is another one than the shard plan's: it was changed (ps/settings.h) */
#define MSG_CODEC	768u
#define MSG_EXACT	64u	/* PULL, STATE: the slice's weights as f32, although they have a codec */
/*
 * wire/conn.h only.  PUSH, WEIGHTS: the payload is in a memory that the sender lends, and its offset, u64, stands here.
 * A received message keeps the flag.
 */
#define MSG_LENT	32768u
#define MSG_OFFSET	8u		/* bytes of that offset */

#define MSG_NOBODY	UINT32_MAX	/* WAIT: no worker, or no server */
#define MSG_UNKNOWN	(-1.0f)		/* WEIGHTS: how far behind a gradient was */

struct msg {
	uint16_t	 type, flags;
	uint64_t	 incarnation;	/* identifies the sender: random, new at each start of a process */
	uint64_t	 step;
	uint32_t	 worker;	/* rank of the worker that the message is about */
	uint32_t	 slice;		/* index of the slice in the shard plan */
	uint32_t	 samples;
	float		 rate;
	uint32_t	 len;
	const void	*payload;	/* [len]; lent */
	/*
	 * Not sent.  Of a message to send: the payload stays as it is until the peer has handled what it is for, or the
	 * connection ends, so that conn_send() need not copy it.  A gradient stays until it is answered, weights until
	 * the next gradient.  Of a message from conn_next(): the same, as the peer promises.  But a peer that breaks
	 * the promise may change it at any time, so that a receiver copies what it decides by.
	 */
	bool		 lasting;
};

void	 msg_head(const struct msg *m, uint8_t head[MSG_HEAD]);
/* Says in a header that the payload is lent, at an offset. */
void	 msg_lend(uint8_t head[MSG_HEAD + MSG_OFFSET], uint64_t at);
/* Parses a header into m (payload NULL).  Returns 0, ERR_FORMAT (unknown type) or ERR_LIMIT (len above MSG_MOST). */
int	 msg_parse(struct msg *m, const uint8_t head[MSG_HEAD]);
const char *msg_name(unsigned type);
/* Copies the line of text that m carries, without unprintable bytes; a longer line is cut. */
void	 msg_reason(const struct msg *m, char text[ERR_LINE]);

#endif
