/*
 * claim - decides whether a second process with a worker's rank replaces the first one.
 *
 * The server sends a question to the first process.  An answer refuses the claim.  The end of its connection grants
 * it, and so does silence: the connection is broken without a sign, or the process is stopped.  A slow connection may
 * be busy with other bytes before the question and the answer, so that any traffic is a sign of life, too.
 *
 * No sockets and no clock: the caller supplies the traffic and the time in seconds.
 */
#ifndef PS_SERVER_CLAIM_H
#define PS_SERVER_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLAIM_SILENCE_S	3.0	/* silence that grants the claim */
#define CLAIM_MOST_S	20.0	/* traffic for so long counts as an answer */

/* The connection of the first process. */
struct claim_sign {
	uint64_t received, sent;	/* bytes of its connection so far */
	size_t	 queued;	/* bytes that wait to be sent to it */
};

struct claim {
	struct claim_sign seen;
	double	 until;		/* the next time to look */
	double	 most;
};

enum claim_verdict { CLAIM_OPEN, CLAIM_GRANTED, CLAIM_REFUSED };

/* Whether bytes passed from one look at a connection to the next. */
bool	 claim_moved(const struct claim_sign *before, const struct claim_sign *now);
/* Starts a claim just before the question is queued; *sign is the state of the connection then. */
void	 claim_begin(struct claim *c, const struct claim_sign *sign, double now);
/* Decides.  While the claim is open, c->until is the time of the next look. */
enum claim_verdict claim_look(struct claim *c, const struct claim_sign *sign, double now);

#endif
