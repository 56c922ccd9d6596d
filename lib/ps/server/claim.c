/* claim - decides whether a second process with a worker's rank replaces the first one. */
#include "ps/server/claim.h"

/* The last bytes of a queue, such as a question, fit the system's buffer even if the peer is dead. */
bool
claim_moved(const struct claim_sign *before, const struct claim_sign *now)
{
	return now->received != before->received || (now->sent != before->sent && now->queued > 0);
}

void
claim_begin(struct claim *c, const struct claim_sign *sign, double now)
{
	*c = (struct claim){ .seen = *sign, .until = now + CLAIM_SILENCE_S, .most = now + CLAIM_MOST_S };
}

enum claim_verdict
claim_look(struct claim *c, const struct claim_sign *sign, double now)
{
	if (now < c->until)
		return CLAIM_OPEN;
	if (!claim_moved(&c->seen, sign))
		return CLAIM_GRANTED;
	if (now >= c->most)
		return CLAIM_REFUSED;
	c->seen = *sign;
	c->until = now + CLAIM_SILENCE_S < c->most ? now + CLAIM_SILENCE_S : c->most;
	return CLAIM_OPEN;
}
