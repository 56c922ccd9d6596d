/*
 * claim - a second process in the name of a worker: may it take the place of the first?
 *
 * The first is asked whether it is there.  Its answer refuses the claim; its end grants it, and so does silence: its
 * connection is broken without a sign, or its process is stopped.  A slow connection may be busy before the question
 * and the answer, so that whatever moves on it is a sign of life, too.
 *
 * No sockets and no clock: the caller says what has moved and what time it is, in seconds.
 */
#ifndef PS_SERVER_CLAIM_H
#define PS_SERVER_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#define CLAIM_SILENCE_S	3.0	/* without a sign the first is gone */
#define CLAIM_MOST_S	20.0	/* signs for so long are as good as an answer */

/* The first one's connection. */
struct claim_sign {
	uint64_t received, sent;	/* bytes on its socket so far */
	size_t	 queued;	/* bytes that wait to be sent to it */
};

struct claim {
	struct claim_sign seen;
	double	 until;		/* the next time to look */
	double	 most;
};

enum claim_verdict { CLAIM_OPEN, CLAIM_GRANTED, CLAIM_REFUSED };

/* When the question is queued; *sign: the connection before that. */
void	 claim_begin(struct claim *c, const struct claim_sign *sign, double now);
/* Looks again.  While the claim is open c->until says when it may not be any more. */
enum claim_verdict claim_look(struct claim *c, const struct claim_sign *sign, double now);

#endif
