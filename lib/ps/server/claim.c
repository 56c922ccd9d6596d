/* claim - decides whether a second process with a worker's rank replaces the first one. */
#include "ps/server/claim.h"

#include <stdbool.h>

void
claim_begin(struct claim *c, const struct claim_sign *sign, double now)
{
	*c = (struct claim){ .seen = *sign, .until = now + CLAIM_SILENCE_S, .most = now + CLAIM_MOST_S };
}

enum claim_verdict
claim_look(struct claim *c, const struct claim_sign *sign, double now)
{
	/* The last bytes of a queue, such as the question, fit the system's buffer even if the peer is dead. */
	bool moved = sign->received != c->seen.received || (sign->sent != c->seen.sent && sign->queued > 0);

	if (now < c->until)
		return CLAIM_OPEN;
	if (!moved)
		return CLAIM_GRANTED;
	if (now >= c->most)
		return CLAIM_REFUSED;
	c->seen = *sign;
	c->until = now + CLAIM_SILENCE_S < c->most ? now + CLAIM_SILENCE_S : c->most;
	return CLAIM_OPEN;
}
