/*
 * msg - one message between the processes of a job, as bytes.
 *
 *	u32 length of the payload | u16 type | u16 flags | u64 incarnation | u64 step |
 *	u32 worker | u32 slice | u32 samples | f32 rate | payload[length]
 *
 * 40 bytes of head, all little-endian; wire(5) tells what each type carries.
 * Every message names its sender's incarnation, the worker, the step and the
 * slice it is about, so that taking one twice can be seen.
 */
#ifndef WIRE_MSG_H
#define WIRE_MSG_H

#include <stddef.h>
#include <stdint.h>

#define MSG_HEAD	40u
#define MSG_VERSION	4u		/* of the protocol; carried by MSG_HELLO */
#define MSG_MOST	(16u << 20)	/* most bytes of payload */

enum msg_type {
	MSG_HELLO = 1,	/* worker: here I am; payload: the job's description */
	MSG_WELCOME,	/* server: taken; step: where the server is; flags: MSG_EMPTY when it has no weights yet */
	MSG_REFUSE,	/* server: not taken; payload: one line of text */
	MSG_INIT,	/* worker 0: first weights (or state: MSG_STATE_OF) of a slice, f32 */
	MSG_PUSH,	/* worker: gradient of a slice, summed over `samples`, f32; `rate` is the step's learning rate */
	MSG_WEIGHTS,	/* server: a slice after `step` updates, f32 */
	MSG_SUM,	/* worker: numbers to be summed over all workers, f64 */
	MSG_TOTAL,	/* server: their sum, f64 */
	MSG_PULL,	/* worker: asks for a slice's weights (or state: MSG_STATE_OF) as they are */
	MSG_STATE,	/* server: a slice's optimizer state, f32 */
	MSG_STOP,	/* worker: the job should end at the next step */
	MSG_BYE,	/* either: done, nothing follows */
	MSG_OPEN,	/* reader of records (dataset/dataset_msg.h): what is there? */
	MSG_HOLDS,	/* holder: so many; payload: their id */
	MSG_ASK,	/* reader: asks for records; payload: their numbers, u64 */
	MSG_RECORD,	/* holder: a part of a record; flags: MSG_EMPTY when it cannot be read; payload: the reason */
	MSG_NORMS,	/* server: its part of a step's norms, NORM_BYTES each (ps/norms.h); worker: the sums of all parts */
	MSG_EPOCH,	/* worker: epoch `step` begins */
	MSG_PING,	/* server: are you there?  worker: the same back; step: the question's number */
	MSG_TYPES
};

/* Flags. */
#define MSG_STATE_OF	1u	/* the slice's optimizer state rather than its weights */
#define MSG_EMPTY	2u	/* WELCOME: no weights yet.  PUSH: no samples in this step, no payload */
#define MSG_LAST	4u	/* WEIGHTS: the job ends after this step */
#define MSG_AVERAGE_OF	8u	/* the slice's average; `samples` is of how many weights it is */
#define MSG_MARK	16u	/* PUSH: the weights after this step go into the average (net/optim/average.h) */

struct msg {
	uint16_t	 type, flags;
	uint64_t	 incarnation;	/* of the sender: a number that no other start of a process has */
	uint64_t	 step;
	uint32_t	 worker;	/* the rank it is about */
	uint32_t	 slice;		/* of the plan */
	uint32_t	 samples;
	float		 rate;
	uint32_t	 len;
	const void	*payload;	/* [len]; lent */
};

void	 msg_head(const struct msg *m, uint8_t head[MSG_HEAD]);
/* Reads a head into m (payload NULL).  Returns 0, ERR_FORMAT (unknown type) or ERR_LIMIT (len above MSG_MOST). */
int	 msg_parse(struct msg *m, const uint8_t head[MSG_HEAD]);
const char *msg_name(unsigned type);

#define MSG_REASON	256		/* bytes of a reason, its zero counted */

/* The line of a MSG_REFUSE, cut, without what does not print. */
void	 msg_reason(const struct msg *m, char text[MSG_REASON]);

#endif
