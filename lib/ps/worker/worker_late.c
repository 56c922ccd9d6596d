/* worker_late - finds the processes that keep a worker waiting: serves worker_net. */
#include "ps/worker/worker_net_in.h"

#include <stdio.h>

#define NAMES	4	/* processes that a report names at most */
#define NAME	384	/* bytes of a process's name, address and host's state */

struct late {
	struct {
		bool	 server, unanswered;
		uint32_t rank;
	} who[NAMES];
	uint32_t n;
	bool	 more;		/* there are others */
};

void
worker_late_tell(struct worker_net *n, uint32_t server)
{
	const struct msg m = { .type = MSG_WAIT, .incarnation = n->o->incarnation, .worker = n->o->rank,
	    .slice = server };

	n->waits = server != MSG_NOBODY;
	for (uint32_t s = 0; s < n->o->nservers; s++) {
		struct link *l = &n->link[s];

		if (n->waits) {
			l->late = MSG_NOBODY;
			l->answered = false;
		}
		/* A question waits behind gradients only where the answer is needed next. */
		if (l->lost || (l->asked && n->waits) || (s != server && l->queue.n > 0))
			continue;
		l->asked |= n->waits;
		worker_net_send(n, s, &m);
	}
}

void
worker_late_take(struct worker_net *n, uint32_t s, const struct msg *m)
{
	struct link *l = &n->link[s];

	l->asked = false;
	l->answered = true;
	l->late = m->slice < n->o->nworkers ? m->slice : MSG_NOBODY;
	l->behind = m->samples < n->o->nservers ? m->samples : MSG_NOBODY;
}

static void
add_late(const struct worker_net *n, struct late *all, bool server, uint32_t rank)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->who[i].server == server && all->who[i].rank == rank)
			return;
	if (all->n < NAMES) {
		all->who[all->n].server = server;
		all->who[all->n].unanswered = server && n->link[rank].unanswered;
		all->who[all->n++].rank = rank;
	} else {
		all->more = true;
	}
}

/* Adds the processes that keep server s from answering, or s itself if it does not answer. */
static void
add_late_of_server(const struct worker_net *n, uint32_t s, struct late *all)
{
	const struct link *l = &n->link[s];

	if (!worker_state_owed(n->state, s))
		return;
	/* What is said of a server that answers is out of date: it did not answer another worker then. */
	if (l->late != MSG_NOBODY && l->behind != MSG_NOBODY && !n->link[l->behind].answered)
		add_late(n, all, true, l->behind);
	else if (l->late != MSG_NOBODY)
		add_late(n, all, false, l->late);
	else if (!l->answered && !l->carries)
		add_late(n, all, true, s);
}

void
worker_late_report(struct worker_net *n, uint32_t server)
{
	struct late all = { .n = 0 };
	char whom[NAMES * NAME];
	size_t at = 0;

	if (n->o->waiting == NULL)
		return;
	pthread_mutex_lock(&n->lock);
	for (uint32_t s = 0; s < n->o->nservers && n->running; s++)
		add_late_of_server(n, s, &all);
	if (all.n == 0)
		add_late(n, &all, true, server);
	pthread_mutex_unlock(&n->lock);
	for (uint32_t i = 0; i < all.n && at < sizeof(whom); i++)
		at += (size_t)snprintf(whom + at, sizeof(whom) - at, all.who[i].server ? "%s%s %u (%s%s)" : "%s%s %u",
		    i > 0 ? ", " : "", all.who[i].server ? "server" : "worker", all.who[i].rank,
		    all.who[i].server ? n->o->server[all.who[i].rank] : "",
		    all.who[i].unanswered ? "; its host or the network does not answer" : "");
	if (all.more && at < sizeof(whom))
		snprintf(whom + at, sizeof(whom) - at, " and others");
	n->o->waiting(n->o->arg, whom);
}
