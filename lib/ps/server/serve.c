/* serve - the event loop of a server: connections around its state machine. */
#include "ps/server/serve_in.h"
#include "base/clk.h"
#include "base/err.h"
#include "ps/hello.h"
#include "wire/addr.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_S	5.0	/* how long connections stay open at the end, for peers to read the last messages */
#define PAUSE_MS	200	/* no new connections for so long when the system has none to give */
#define TURN_S		0.5	/* time between two turns in which all connections are run */

/* Ends the service; the first reason counts. */
static void
end_service(struct serve *s, int e, const char *why)
{
	if (s->err < 0)
		return;
	s->err = e;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

struct client *
serve_find_client(struct serve *s, uint32_t rank)
{
	const uint32_t at = rank < s->o->nworkers ? s->worker[rank].client : UINT32_MAX;

	/* Others are looked at only after a change of connections: each answer to a worker comes here. */
	if (at < s->n && s->client[at].rank == rank && !s->client[at].over)
		return &s->client[at];
	for (uint32_t i = 0; i < s->n; i++)
		if (s->client[i].rank == rank && !s->client[i].over) {
			s->worker[rank].client = i;
			return &s->client[i];
		}
	return NULL;
}

static void
refuse_client(struct serve *s, struct client *g, const char *why)
{
	struct msg m = { .type = MSG_REFUSE, .len = (uint32_t)strlen(why), .payload = why };

	g->done = g->refused = true;
	g->until = clk_s() + LINGER_S;
	conn_set_place(g->conn, NULL, NULL);
	if (conn_send(g->conn, &m) < 0)
		g->over = true;
	else
		s->sums->sent += MSG_HEAD + m.len;
}

void
serve_lose_worker(struct serve *s, uint32_t rank, const char *reason)
{
	char why[ERR_LINE];

	snprintf(why, sizeof(why), "worker %" PRIu32 " is lost: %s", rank, reason);
	if (server_state_sync(s->state) || server_state_plan(s->state) == NULL) {
		end_service(s, ERR_PEER, why);
		return;
	}
	log_callback_line(s->o->say_lost, s->o->arg, "%s", why);
	serve_begin_epoch(s, rank, EPOCH_TRAFFIC_NONE);
	s->worker[rank].lost = true;
	server_state_lost(s->state, rank);
}

/* The memory that a worker lends ends with its connection. */
static void
keep_gradients(struct serve *s, uint32_t rank)
{
	if (server_state_keep(s->state, rank) < 0)
		end_service(s, ERR_NOMEM, err_line());
}

/* Ends a connection that broke or was refused. */
static void
drop_client(struct serve *s, struct client *g, const char *reason)
{
	const bool returns = g->kept && !g->done;
	int64_t rank = g->rank;

	if (rank >= 0)
		keep_gradients(s, (uint32_t)rank);
	g->rank = -1;
	g->over = g->over || !g->done;
	if (g->stranger.row == 0)
		strangers_add(&s->strangers, conn_peer(g->conn), g->nth, &g->stranger);
	if (rank < 0 || server_state_gone(s->state, (uint32_t)rank))
		return;
	if (serve_claim_take(s, (uint32_t)rank))
		g->page = -1;
	else if (returns)
		serve_expect_worker(s, (uint32_t)rank, reason);
	else
		serve_lose_worker(s, (uint32_t)rank, reason);
}

static void
report_shard(struct serve *s)
{
	const struct shard_plan *p = server_state_plan(s->state);
	size_t here = 0;

	for (uint32_t i = 0; i < p->nweights; i++)
		here += p->slice[i].owner == s->o->index ? p->slice[i].count : 0;
	if (s->o->elastic > 0)
		log_callback_line(s->o->say, s->o->arg, "holds %zu of %zu weights for %" PRIu32
		    " workers, at most %" PRIu32, here, p->P, s->o->elastic, s->o->nworkers);
	else
		log_callback_line(s->o->say, s->o->arg, "holds %zu of %zu weights for %" PRIu32 " worker%s", here, p->P,
		    s->o->nworkers, s->o->nworkers > 1 ? "s" : "");
	if (s->o->memory != NULL && s->o->memory->limited)
		log_callback_line(s->o->say, s->o->arg, "no memory that outlives this process, because of the limit of "
		    "file sizes (ulimit -f): if it is killed, the job ends");
	s->since = clk_s();
}

/* Makes the connection whose hello was accepted the worker's, in place of an earlier one. */
static void
bind_client(struct serve *s, uint32_t rank)
{
	struct client *old = serve_find_client(s, rank);

	if (old != NULL && old != s->now) {
		log_callback_line(s->o->say, s->o->arg, "worker %" PRIu32 " reconnected from %s", rank,
		    conn_peer(s->now->conn));
		keep_gradients(s, rank);
		old->rank = old->page = -1;
		old->over = true;
	}
	s->worker[rank].lost = false;
	s->worker[rank].waits = MSG_NOBODY;
	serve_greet_worker(s, rank);
	s->worker[rank].latest = s->now->nth;
	if (s->now->rank < 0)
		epoch_traffic_join(&s->traffic, rank);
	s->now->rank = s->now->page = rank;
	strangers_remove(&s->strangers, &s->now->stranger);
	conn_set_place(s->now->conn, server_state_place, s->state);
	serve_lend(s, s->now->conn);
	s->now->claims = -1;
	s->now->until = (double)INFINITY;
	if (s->since == 0)
		report_shard(s);
}

void
serve_send(struct serve *s, struct client *g, uint32_t worker, const struct msg *m)
{
	if (conn_send(g->conn, m) < 0) {
		g->over = true;		/* closed next, and then lost */
		return;
	}
	s->sums->sent += MSG_HEAD + m->len;
	serve_count_msg(s, worker, PEER_TRAFFIC_SENT, m);
}

static void
send_to_worker(void *arg, uint32_t worker, const struct msg *m)
{
	struct serve *s = arg;
	struct client *g;

	if (m->type == MSG_WELCOME)
		bind_client(s, worker);
	if ((g = serve_find_client(s, worker)) != NULL && !g->done)
		serve_send(s, g, worker, m);
}

/* Messages that do not fit the connection's queue stay in the state machine, which needs no memory for them. */
static bool
has_send_room(void *arg, uint32_t worker)
{
	struct client *g = serve_find_client(arg, worker);

	return g == NULL || g->done || conn_room(g->conn);
}

/* A dead worker's hello may still be unread here: the process that connected later is alive. */
static bool
is_superseded(const struct serve *s, const struct client *g, const struct msg *m)
{
	return m->type == MSG_HELLO && m->worker < s->o->nworkers && g->nth < s->worker[m->worker].latest;
}

bool
serve_hand_over(struct serve *s, struct client *g, const struct msg *m)
{
	bool known = g->rank >= 0;

	s->now = g;
	if (known) {
		s->worker[m->worker].waits = MSG_NOBODY;
		serve_count_msg(s, m->worker, PEER_TRAFFIC_RECEIVED, m);
	} else {
		g->incarnation = m->incarnation;
	}
	if (m->type == MSG_HELLO)
		g->kept = m->flags & MSG_KEPT;
	if (server_state_take(s->state, m) < 0)
		return false;
	if (!known)
		serve_count_msg(s, m->worker, PEER_TRAFFIC_RECEIVED, m);
	if (m->type == MSG_EPOCH)
		serve_begin_epoch(s, m->worker, m->step);
	if (m->type == MSG_BYE && !server_state_sync(s->state))
		serve_begin_epoch(s, m->worker, EPOCH_TRAFFIC_NONE);	/* the others go on without it */
	return true;
}

void
serve_reject(struct serve *s, struct client *g)
{
	char why[ERR_LINE];

	snprintf(why, sizeof(why), "%s", err_line());
	if (g->rank < 0)
		log_callback_line(s->o->say, s->o->arg, "refused %s: %s", conn_peer(g->conn), why);
	refuse_client(s, g, why);
	drop_client(s, g, why);
}

static void
handle_client_msg(struct serve *s, struct client *g, const struct msg *m)
{
	char why[ERR_LINE];

	s->sums->received += MSG_HEAD + m->len;
	if (g->done)
		return;
	if (g->rank >= 0 && m->type == MSG_REFUSE) {	/* it gives up */
		msg_reason(m, why);
		conn_set_place(g->conn, NULL, NULL);
		g->done = true;
		g->until = clk_s() + LINGER_S;
		drop_client(s, g, why);
		return;
	}
	if (g->rank < 0 ? m->type != MSG_HELLO : m->worker != g->rank) {
		err_note(0, "%s out of place", msg_name(m->type));
	} else if (is_superseded(s, g, m)) {
		err_note(0, "a later process is worker %" PRIu32, m->worker);
	} else if (g->rank >= 0 && m->type == MSG_PING) {
		serve_count_msg(s, m->worker, PEER_TRAFFIC_RECEIVED, m);
		serve_claim_answered(s, m->worker, m->step);
		return;
	} else if (g->rank >= 0 && m->type == MSG_WAIT) {
		serve_answer_wait(s, g, m);
		return;
	} else if ((g->rank < 0 && serve_claim_begin(s, g, m)) || serve_hand_over(s, g, m)) {
		return;
	}
	serve_reject(s, g);
}

void
serve_run_client(struct serve *s, struct client *g)
{
	struct msg m;
	int e;

	/* Another connection has its worker, and the buffer in which it was receiving. */
	if (g->over)
		return;
	e = conn_run(g->conn);
	serve_count_wire(s, g);
	if (e < 0) {
		char why[ERR_LINE];

		snprintf(why, sizeof(why), "%s", err_line());
		if (g->rank < 0 && !g->done)
			serve_refuse_stranger(s, why);
		g->over = true;
		g->kept = g->kept && (e == ERR_PEER || e == ERR_SYS);
		drop_client(s, g, why);
		return;
	}
	/*
	 * The server reads no messages of a worker that does not read its answers, as these would cause more answers.
	 */
	if (g->rank >= 0)
		server_state_resume(s->state, (uint32_t)g->rank);
	while (!g->over && g->claims < 0 && conn_room(g->conn) && conn_next(g->conn, &m))
		handle_client_msg(s, g, &m);
}

void
serve_close_finished(struct serve *s)
{
	double now;

	serve_claims(s);
	now = serve_check_pause(s);
	for (uint32_t i = 0; i < s->n;) {
		struct client *g = &s->client[i];

		if (!g->over && now >= g->until)
			serve_expire(s, g, "sent no valid HELLO in time");
		if (!g->over) {
			i++;
			continue;
		}
		if (g->rank >= 0)
			drop_client(s, g, "does not read its messages");
		strangers_remove(&s->strangers, &g->stranger);
		conn_close(g->conn);
		s->client[i] = s->client[--s->n];
	}
}

/* Milliseconds until the next connection's time is over, or until all are to be run; -1 for none. */
static int
get_poll_timeout(const struct serve *s)
{
	double first = s->n > 0 ? s->turn_at : (double)INFINITY, left;

	for (uint32_t i = 0; i < s->n; i++)
		first = fmin(first, s->client[i].until);
	first = fmin(first, fmin(serve_next_return(s), clk_s() + strangers_wait_s(&s->strangers)));
	if (s->paused)
		return PAUSE_MS;
	if (isinf(first))
		return -1;
	left = first - clk_s();
	return left > 0 ? (int)ceil(left * 1e3) : 0;
}

/* Polls all connections and runs those that are ready; unless listening, accepts none and cannot be stopped. */
static void
poll_clients(struct serve *s, int timeout_ms, bool listening)
{
	uint32_t n = s->n;
	bool turn, strangers = serve_polls_strangers(s, listening);

	s->poll[0] = (struct pollfd){ .fd = listening ? s->o->stop_fd : -1, .events = POLLIN };
	s->poll[1] = (struct pollfd){ .fd = listening && !s->paused && strangers_may(&s->strangers, STRANGERS_ACCEPT) ?
	    s->fd : -1, .events = POLLIN };
	s->poll[2] = (struct pollfd){ .fd = listening && s->o->joins_fd > 0 ? s->o->joins_fd : -1, .events = POLLIN };
	for (uint32_t i = 0; i < n; i++) {
		struct client *g = &s->client[i];

		s->poll[SERVE_POLLS + i] = (struct pollfd){ .events = conn_events(g->conn),
		    .fd = g->claims < 0 && (strangers || strangers_trust(&g->stranger)) ? conn_fd(g->conn) : -1 };
	}
	s->paused = false;
	serve_check_pause(s);
	s->turns++;
	s->due = timeout_ms < 0 ? (double)INFINITY : s->due + timeout_ms * 1e-3;
	if (poll(s->poll, SERVE_POLLS + n, timeout_ms) < 0)
		return;		/* interrupted */
	serve_check_pause(s);
	if (s->poll[0].revents != 0)
		end_service(s, ERR_STOP, "stopped on request");
	if (s->poll[2].revents != 0)
		serve_expect_joins(s);
	if ((turn = clk_s() >= s->turn_at))
		s->turn_at = clk_s() + TURN_S;
	for (uint32_t i = 0; i < n && s->err == 0; i++) {
		struct client *g = &s->client[i];

		if (g->stranger.row == 0 && (s->poll[SERVE_POLLS + i].revents != 0 || (turn && g->claims < 0)))
			serve_run_client(s, g);
	}
	serve_run_strangers(s, n);
	if (turn && listening && s->err == 0)
		serve_check_workers(s);
	if (s->poll[1].revents != 0 && s->err == 0)
		serve_accept(s);
	if (listening)
		serve_lose_absent(s);
	serve_close_finished(s);
}

/*
 * Sends the reason to workers that have not said goodbye, and gives them a moment to read it: closing the connection
 * while they still send could discard it.  For the other workers it is enough that the goodbye was sent.
 */
static void
finish_clients(struct serve *s)
{
	int e = s->err;
	size_t waiting;

	strangers_end(&s->strangers);
	s->err = 0;
	serve_expect_nobody(s);
	for (uint32_t i = 0; i < s->n; i++) {
		struct client *g = &s->client[i];

		if (g->rank < 0 && !g->done) {
			s->sums->strangers++;
			g->over = true;
		} else if (e < 0 && !g->done && !server_state_gone(s->state, (uint32_t)g->rank)) {
			refuse_client(s, g, s->why);
		}
		g->done = true;
		g->rank = -1;
		g->until = clk_s() + LINGER_S;
	}
	serve_close_finished(s);
	do {
		waiting = 0;
		for (uint32_t i = 0; i < s->n; i++)
			waiting += s->client[i].refused || conn_queued(s->client[i].conn) > 0;
		if (waiting > 0)
			poll_clients(s, get_poll_timeout(s), false);
	} while (waiting > 0);
	s->err = e;
}

static int
run_service(struct serve *s)
{
	char why[32];

	while (s->err == 0 && !server_state_over(s->state))
		poll_clients(s, get_poll_timeout(s), true);
	for (uint32_t w = 0; s->err == 0 && w < s->o->nworkers; w++) {
		snprintf(why, sizeof(why), "worker %" PRIu32 " was lost", w);
		if (s->worker[w].lost)
			end_service(s, ERR_PEER, why);
	}
	finish_clients(s);
	for (uint32_t w = 0; server_state_plan(s->state) != NULL && w < s->o->nworkers; w++)
		serve_begin_epoch(s, w, EPOCH_TRAFFIC_NONE);
	if (server_state_plan(s->state) != NULL)
		serve_report_epoch(s, EPOCH_TRAFFIC_NONE, s->traffic.sum);
	if (s->err < 0)
		err_note(0, "%s", s->why);
	return s->err;
}

static int
open_service(struct serve *s)
{
	struct server_state_opt so = { .nworkers = s->o->nworkers, .elastic = s->o->elastic,
	    .index = s->o->index, .nservers = s->o->nservers, .incarnation = s->o->incarnation, .memory = s->o->memory,
	    .lends = s->o->transport == CONN_AUTO, .emit = send_to_worker,
	    .room = has_send_room, .arg = s };
	char where[ADDR_TEXT];
	int e;

	snprintf(where, sizeof(where), "%s", s->o->listen);
	s->fd = s->o->listen_fd > 0 ? s->o->listen_fd : -1;
	if ((e = server_state_new(&so, &s->state)) < 0 ||
	    (s->fd < 0 && (e = addr_listen(s->o->listen, &s->fd, where)) < 0) ||
	    (e = epoch_traffic_init(&s->traffic, s->o->nworkers,
	    s->o->elastic > 0 ? s->o->elastic : s->o->nworkers)) < 0)
		return e;
	s->most = 2 * s->o->nworkers + SERVE_STRANGERS + 1;
	s->client = calloc(s->most, sizeof(*s->client));
	s->poll = calloc(SERVE_POLLS + (size_t)s->most, sizeof(*s->poll));
	s->worker = calloc(s->o->nworkers, sizeof(*s->worker));
	if (s->client == NULL || s->poll == NULL || s->worker == NULL)
		return err_nomem();
	for (uint32_t w = 0; w < s->o->nworkers; w++)
		s->worker[w].waits = MSG_NOBODY;
	serve_expect_workers(s);
	if (s->o->listening != NULL)
		s->o->listening(s->o->arg, where);
	return 0;
}

int
serve_run(const struct serve_opt *opt, struct serve_sums *sums)
{
	struct serve s = { .o = opt, .sums = sums, .fd = -1, .strangers = {
	    .most = SERVE_STRANGERS + opt->nworkers, .times = opt->elastic > 0 ? STRANGERS_OPEN : 1, .burst_s = 1,
	    .say = opt->say, .arg = opt->arg } };
	int e;

	*sums = (struct serve_sums){ 0 };
	if ((e = open_service(&s)) == 0)
		e = run_service(&s);
	if (s.state != NULL)
		sums->steps = server_state_steps(s.state);
	sums->seconds = s.since > 0 ? clk_s() - s.since : 0;
	for (uint32_t i = 0; i < s.n; i++)
		conn_close(s.client[i].conn);
	if (s.fd >= 0)
		close(s.fd);
	serve_lend_end(&s);
	server_state_free(s.state);
	epoch_traffic_free(&s.traffic);
	free(s.client);
	free(s.poll);
	free(s.worker);
	return e;
}
