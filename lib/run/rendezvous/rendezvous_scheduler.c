/* rendezvous_scheduler - the scheduler: accepts servers and workers, gives ranks, tells where servers listen. */
#include "run/rendezvous/rendezvous.h"

#include "base/buf.h"
#include "base/clk.h"
#include "base/err.h"
#include "wire/conn.h"
#include "wire/strangers.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNJOINED_MOST 64u	/* most connections that have not joined yet, and one more for each slot */
#define JOIN_S	  10.0	/* limit for a connection to join */
#define TICK_MS	  200
#define REPORT_S  3.0	/* time before a wait is reported, and then at least between two reports */

/* A connection, and the slot of the job that it has taken. */
struct scheduler_peer {
	struct conn	*conn;
	uint32_t	 slot;		/* RENDEZVOUS_ANY: has not joined */
	struct stranger	 stranger;	/* counted until then */
	bool		 refused;	/* it was sent the reason */
};

/* The slot of a server or worker; servers first. */
struct scheduler_slot {
	bool		 connected, ever_connected;	/* is connected; was ever connected */
	bool		 servers_sent;	/* a worker has got the list of servers */
	char		 at[ADDR_TEXT];	/* where a server listens; "": not yet */
};

struct scheduler {
	const struct rendezvous_opt *o;
	const struct rendezvous_env *env;
	int		 fd;
	bool		 out_of_fds;	/* there was no descriptor or memory for a connection; skips a round */
	struct scheduler_peer	*peer;	/* [peers_most] */
	uint32_t	 n, peers_most;
	uint64_t	 conns;		/* accepted so far */
	double		 began_s, report_at;	/* clk_s() of the start, and of the next report of a wait */
	struct strangers strangers;
	struct scheduler_slot	*slot;	/* [nslots] */
	uint32_t	 nslots;
	struct pollfd	*poll;		/* [peers_most + 2] */
};

static int
reply_peer(struct scheduler_peer *g, uint16_t type, const char *text)
{
	return conn_send(g->conn, &(struct msg){ .type = type, .payload = text, .len = (uint32_t)strlen(text) });
}

/* Finds the slot for a peer that joins.  Returns RENDEZVOUS_ANY and the reason if there is none. */
static uint32_t
find_slot(const struct scheduler *s, const struct rendezvous_message *w, char why[RENDEZVOUS_TEXT])
{
	uint32_t first = w->role == RENDEZVOUS_SERVER ? 0 : s->env->servers;
	uint32_t n = w->role == RENDEZVOUS_SERVER ? s->env->servers : s->env->workers;
	const char *role = w->role == RENDEZVOUS_SERVER ? "server" : "worker";

	*why = 0;
	if (strcmp(w->tally, TALLY_VERSION) != 0)
		snprintf(why, RENDEZVOUS_TEXT, "tally %s, but the scheduler is tally %s", w->tally, TALLY_VERSION);
	else if (w->workers != s->env->workers || w->servers != s->env->servers)
		snprintf(why, RENDEZVOUS_TEXT, "%u workers and %u servers, but the job has %u and %u", w->workers,
		    w->servers, s->env->workers, s->env->servers);
	else if (w->rank != RENDEZVOUS_ANY && w->rank >= n)
		snprintf(why, RENDEZVOUS_TEXT, "there is no %s %" PRIu32, role, w->rank);
	else if (w->rank != RENDEZVOUS_ANY && s->slot[first + w->rank].connected)
		snprintf(why, RENDEZVOUS_TEXT, "%s %" PRIu32 " has already joined", role, w->rank);
	if (*why != 0)
		return RENDEZVOUS_ANY;
	if (w->rank != RENDEZVOUS_ANY)
		return first + w->rank;
	for (uint32_t i = first; i < first + n; i++)
		if (!s->slot[i].connected && !s->slot[i].ever_connected)
			return i;
	for (uint32_t i = first; i < first + n; i++)
		if (!s->slot[i].connected)
			return i;
	snprintf(why, RENDEZVOUS_TEXT, "all %ss have already joined", role);
	return RENDEZVOUS_ANY;
}

static int
handle_join(struct scheduler *s, struct scheduler_peer *g, const struct rendezvous_message *w)
{
	char text[RENDEZVOUS_TEXT];
	uint32_t at = g->slot != RENDEZVOUS_ANY ? RENDEZVOUS_ANY : find_slot(s, w, text);

	if (at == RENDEZVOUS_ANY) {
		if (g->slot != RENDEZVOUS_ANY)
			return err_fail(ERR_FORMAT, "a peer joins twice");
		s->o->say(s->o->arg, text);
		g->refused = true;
		return reply_peer(g, MSG_REFUSE, text);
	}
	g->slot = at;
	strangers_remove(&s->strangers, &g->stranger);
	s->slot[at] = (struct scheduler_slot){ .connected = true, .ever_connected = true };
	snprintf(text, sizeof(text), "rank %" PRIu32, at < s->env->servers ? at : at - s->env->servers);
	return reply_peer(g, MSG_WELCOME, text);
}

static int
handle_peer_message(struct scheduler *s, struct scheduler_peer *g, const struct msg *m)
{
	struct rendezvous_message w;

	if (m->type != MSG_HELLO)
		return err_fail(ERR_FORMAT, "%s is not for a scheduler", msg_name(m->type));
	ERR_TRY(rendezvous_parse(m->payload, m->len, &w));
	if (w.join)
		return handle_join(s, g, &w);
	if (g->slot == RENDEZVOUS_ANY || g->slot >= s->env->servers)
		return err_fail(ERR_FORMAT, "an address from a peer that is not a server");
	memcpy(s->slot[g->slot].at, w.at, sizeof(w.at));
	return 0;
}

/* Once all servers listen, sends their list to each worker that has not got it. */
static int
announce_servers(struct scheduler *s)
{
	struct buf list = { 0 };
	int e = buf_put_fmt(&list, "servers ");

	for (uint32_t i = 0; i < s->env->servers; i++) {
		if (s->slot[i].at[0] == 0) {
			buf_free(&list);
			return 0;
		}
		if (e == 0)
			e = buf_put_fmt(&list, "%s%s", i > 0 ? "," : "", s->slot[i].at);
	}
	if (e == 0)
		e = buf_terminate(&list);
	for (uint32_t i = 0; i < s->n && e == 0; i++) {
		uint32_t at = s->peer[i].slot;

		if (at != RENDEZVOUS_ANY && at >= s->env->servers && !s->slot[at].servers_sent) {
			s->slot[at].servers_sent = true;
			e = reply_peer(&s->peer[i], MSG_WELCOME, (char *)list.p);
		}
	}
	buf_free(&list);
	return e == ERR_NOMEM ? e : 0;
}

static void
remove_peer(struct scheduler *s, uint32_t i)
{
	struct scheduler_peer *g = &s->peer[i];

	if (g->slot != RENDEZVOUS_ANY)
		s->slot[g->slot].connected = false;
	strangers_remove(&s->strangers, &g->stranger);
	conn_close(g->conn);
	*g = s->peer[--s->n];
}

/* Hears a peer if it is its turn, and closes it if it is over.  Returns false then. */
static bool
service_peer(struct scheduler *s, uint32_t i, bool heard)
{
	struct scheduler_peer *g = &s->peer[i];
	struct msg m;
	int e = heard ? conn_run(g->conn) : 0;

	while (heard && e == 0 && conn_next(g->conn, &m) > 0)
		e = handle_peer_message(s, g, &m);
	strangers_believe(&s->strangers, g->conn, &g->stranger);
	if (e == 0 && g->slot == RENDEZVOUS_ANY && conn_age_s(g->conn) > JOIN_S)
		e = err_fail(ERR_PEER, "%s: has not joined within %g seconds", conn_peer(g->conn), JOIN_S);
	if (e == 0)
		return true;
	if (g->slot == RENDEZVOUS_ANY && !g->refused)
		strangers_refused(&s->strangers, err_line());
	else if (e != ERR_PEER)
		s->o->say(s->o->arg, err_line());
	remove_peer(s, i);
	return false;
}

/* A stranger is heard if there is something to hear, and as far as strangers may cost something. */
static void
service_polled_peer(struct scheduler *s, uint32_t i)
{
	bool heard = strangers_trust(&s->peer[i].stranger) ||
	    (s->poll[i + 2].revents != 0 && strangers_may(&s->strangers, STRANGERS_TURN));

	if (service_peer(s, i, heard) && heard && !strangers_trust(&s->peer[i].stranger))
		strangers_charge(&s->strangers, STRANGERS_TURN);
}

static void
evict_peer(struct scheduler *s)
{
	char who[ERR_LINE];
	uint32_t first = s->n;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->peer[i].stranger.row != 0 && (first == s->n ||
		    strangers_before(&s->strangers, &s->peer[i].stranger, &s->peer[first].stranger)))
			first = i;
	if (!s->peer[first].refused) {
		snprintf(who, sizeof(who), "%s: %s", conn_peer(s->peer[first].conn), STRANGERS_EVICTED);
		strangers_refused(&s->strangers, who);
	}
	remove_peer(s, first);
}

/* Adds a connection, and runs it. */
static void
add_peer(struct scheduler *s, struct conn *c)
{
	struct scheduler_peer *g;

	if (strangers_full(&s->strangers))
		evict_peer(s);
	g = &s->peer[s->n++];
	*g = (struct scheduler_peer){ .conn = c, .slot = RENDEZVOUS_ANY };
	strangers_add(&s->strangers, conn_peer(c), ++s->conns, &g->stranger);
	service_peer(s, s->n - 1, true);
}

static void
accept_peers(struct scheduler *s)
{
	struct conn *c;
	int e = 1;

	for (int i = 0; i < STRANGERS_BATCH && strangers_may(&s->strangers, STRANGERS_ACCEPT) &&
	    (e = strangers_take(&s->strangers, s->fd, s->o->key, CONN_MEMBER, &c)) > 0; i++)
		add_peer(s, c);
	s->out_of_fds = e < 0;
}

static bool
have_all_joined(const struct scheduler *s)
{
	for (uint32_t i = 0; i < s->nslots; i++)
		if (!s->slot[i].ever_connected)
			return false;
	return true;
}

/* Says which process is missing, after longer and longer times. */
static void
report_missing(struct scheduler *s)
{
	char text[RENDEZVOUS_TEXT];
	const double now = clk_s();

	if (now < s->report_at)
		return;
	for (uint32_t i = 0; i < s->nslots; i++) {
		const bool server = i < s->env->servers, joined = s->slot[i].ever_connected;

		if (joined && (!server || s->slot[i].at[0] != 0))
			continue;
		snprintf(text, sizeof(text), "waiting for %s %" PRIu32 " to %s", server ? "server" : "worker",
		    server ? i : i - s->env->servers, joined ? "listen" : "join");
		s->o->say(s->o->arg, text);
		break;
	}
	s->report_at = now + (now - s->began_s > REPORT_S ? now - s->began_s : REPORT_S);
}

static bool
have_all_left(const struct scheduler *s)
{
	for (uint32_t i = 0; i < s->nslots; i++)
		if (!s->slot[i].ever_connected || s->slot[i].connected)
			return false;
	return true;
}

static int
run_rendezvous_round(struct scheduler *s)
{
	bool strangers, accepts;

	s->strangers.expects = !have_all_joined(s);
	strangers = strangers_may(&s->strangers, STRANGERS_TURN);
	s->poll[0] = (struct pollfd){ .fd = s->o->stop_fd, .events = POLLIN };
	accepts = !s->out_of_fds && strangers_may(&s->strangers, STRANGERS_ACCEPT);
	s->poll[1] = (struct pollfd){ .fd = accepts ? s->fd : -1, .events = POLLIN };
	for (uint32_t i = 0; i < s->n; i++)
		s->poll[i + 2] = (struct pollfd){ .fd = strangers || strangers_trust(&s->peer[i].stranger) ?
		    conn_fd(s->peer[i].conn) : -1, .events = conn_events(s->peer[i].conn) };
	if (poll(s->poll, s->n + 2, TICK_MS) < 0 && errno != EINTR)
		return err_sys("poll");
	s->out_of_fds = false;
	if (s->poll[0].revents != 0)
		return ERR_STOP;
	/* Backwards, as remove_peer moves the last peer into the gap. */
	for (uint32_t i = s->n; i-- > 0;)
		service_polled_peer(s, i);
	if (s->poll[1].revents != 0)
		accept_peers(s);
	report_missing(s);
	return announce_servers(s);
}

int
rendezvous_run(const struct rendezvous_opt *o)
{
	struct scheduler s = { .o = o, .env = o->env, .fd = -1, .nslots = o->env->servers + o->env->workers };
	char where[ADDR_TEXT];
	int e;

	s.began_s = clk_s();
	s.report_at = s.began_s + REPORT_S;
	s.strangers = (struct strangers){ .most = UNJOINED_MOST + s.nslots, .times = 1, .burst_s = 1,
	    .say = o->say, .arg = o->arg };
	s.peers_most = s.nslots + s.strangers.most;
	s.peer = calloc(s.peers_most, sizeof(*s.peer));
	s.slot = calloc(s.nslots, sizeof(*s.slot));
	s.poll = calloc((size_t)s.peers_most + 2, sizeof(*s.poll));
	if (s.peer == NULL || s.slot == NULL || s.poll == NULL)
		e = err_nomem();
	else
		e = addr_listen(o->env->at, &s.fd, where);
	while (e == 0 && !have_all_left(&s))
		e = run_rendezvous_round(&s);
	strangers_end(&s.strangers);
	while (s.n > 0)
		remove_peer(&s, s.n - 1);
	if (s.fd >= 0)
		close(s.fd);
	free(s.peer);
	free(s.slot);
	free(s.poll);
	return e;
}
