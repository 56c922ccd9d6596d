/* serve_lend - memory that workers of this host may read, and theirs: serves serve. */
#include "ps/server/serve_in.h"

#include <unistd.h>

void
serve_lend(struct serve *s, struct conn *c)
{
	const struct shard_plan *p = server_state_plan(s->state);
	const struct memory *m = server_state_memory(s->state);

	if (s->o->transport != CONN_AUTO)
		return;
	if (s->lends.p == NULL)
		s->lends = (struct loan){ .p = m->base, .size = m->size, .fd = loan_open(m->fd) };
	conn_lend(c, &s->lends);
	conn_borrow(c, p->P * sizeof(float) + LOAN_PAGE);
}

void
serve_lend_end(struct serve *s)
{
	if (s->lends.p != NULL && s->lends.fd >= 0)
		close(s->lends.fd);
}
