/* worker_link - a worker's connection to one server, from the first attempt on: serves worker_net. */
#include "ps/worker/worker_net_in.h"
#include "base/clk.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define CONNECT_S	30.0		/* least time to try to connect to a server */
#define AFTER_S		10.0		/* least time beyond the silence: an outage may hide that the server is there */
#define STOP_S		2.0		/* the same after a request to stop: its job may end because of that server */
#define PART_S		2.0		/* nobody listens for so long: the server has ended after the goodbye */
#define RETRY_MS	50		/* time between attempts */
#define OTHER_MS	500		/* time between attempts while the server's host does not answer */
#define SERVE_MS		500		/* time between looks at the servers that are there already */
#define MEMORY_FLOATS	(6 + 2 * OPT_STATES)	/* most floats in a server's memory for each weight */
#define MEMORY_SLICE	4096			/* most bytes in it for each slice, besides its floats */
#define MEMORY_HEAD	(16u << 20)		/* most bytes in it besides those of the slices */

void
worker_link_count(const struct worker_net *n, struct link *l, enum peer_traffic_way way, const struct msg *m)
{
	const struct shard_plan *p = worker_state_plan(n->state);

	*(way == PEER_TRAFFIC_RECEIVED ? &l->received : &l->sent) += MSG_HEAD + m->len;
	peer_traffic_count(&l->traffic, way, m, m->slice >= p->nweights,
	    shard_plan_carried(p, m, n->o->slack == STALE_SYNC));
}

/* With the lock: traces the time from the push of a slice until its weights arrived. */
static void
trace_answer(struct worker_net *n, const struct msg *m)
{
	if (n->push_time == NULL || m->type != MSG_WEIGHTS)
		return;
	trace_flight(n->o->trace, n->push_time[m->slice], m->slice, m->len);
	n->push_time[m->slice] = 0;
}

static void
close_other(struct link *l)
{
	conn_close(l->other);
	l->other = NULL;
}

static double
get_connect_s(const struct worker_net *n)
{
	return fmax(CONNECT_S, (n->o->silence_s > 0 ? n->o->silence_s : CONN_SILENCE_S) + AFTER_S);
}

void
worker_link_expect_again(struct worker_net *n)
{
	for (uint32_t s = 0; s < n->o->nservers; s++)
		n->link[s].until = clk_s() + get_connect_s(n);
}

/* Passes the messages of a connection to the state machine. */
static int
receive_messages(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	struct msg m;
	int e = 0;

	while (e == 0 && conn_next(l->conn, &m)) {
		pthread_mutex_lock(&n->lock);
		worker_link_count(n, l, PEER_TRAFFIC_RECEIVED, &m);
		n->events += m.type != MSG_WAIT && m.type != MSG_PING;
		if (m.type == MSG_WAIT) {
			worker_late_take(n, s, &m);
		} else if (m.type == MSG_PING) {
			l->pinged = true;
			l->ping = m.step;
		} else if ((e = worker_state_take(n->state, s, &m)) < 0) {
			err_within("server %" PRIu32 " (%s)", s, n->o->server[s]);
		} else {
			trace_answer(n, &m);
			if (m.type == MSG_WELCOME)
				conn_reached(l->conn, l->reached);
			if (m.type == MSG_WELCOME && l->lost) {
				l->lost = false;
				close_other(l);
				worker_state_repeat(n->state, s);
			}
		}
		pthread_cond_broadcast(&n->arrived);
		pthread_mutex_unlock(&n->lock);
	}
	return e;
}

/* Receives weights at once where the state machine has them. */
static void *
find_weights_place(void *arg, const struct msg *m)
{
	struct link *l = arg;
	struct worker_net *n = l->net;
	void *to;

	pthread_mutex_lock(&n->lock);
	to = worker_state_place(n->state, (uint32_t)(l - n->link), m);
	pthread_mutex_unlock(&n->lock);
	return to;
}

/* More bytes than any server's memory has (ps/server/server_state.h). */
static size_t
limit_server_memory(const struct worker_net *n)
{
	const struct graph *g = n->o->graph;

	return (g->P + g->A) * MEMORY_FLOATS * sizeof(float) +
	    worker_state_plan(n->state)->n * (MEMORY_SLICE + n->o->nworkers * sizeof(uint64_t)) + MEMORY_HEAD;
}

/*
 * Where it was before.  A lookup of its name could take long, if the network fails, and delay all other servers.  In
 * the last seconds it is looked up all the same: it may have been started on another host.
 */
static const char *
choose_address(const struct worker_net *n, uint32_t s)
{
	const struct link *l = &n->link[s];

	return l->reached[0] == 0 || (l->lost && clk_s() >= l->until - AFTER_S) ? n->o->server[s] : l->reached;
}

static int
dial_server(struct worker_net *n, uint32_t s, struct conn **c)
{
	struct link *l = &n->link[s];

	ERR_TRY(conn_dial(choose_address(n, s), n->o->key, CONN_WORKER, c));
	conn_set_place(*c, find_weights_place, l);
	if (n->o->silence_s > 0)
		conn_set_silence(*c, n->o->silence_s);
	if (n->o->transport == CONN_UCX)
		conn_use_ucx(*c);
	if (n->o->transport != CONN_AUTO)
		return 0;
	conn_use_shm(*c, 0);
	if (n->o->lends != NULL)
		conn_lend(*c, n->o->lends);
	conn_borrow(*c, limit_server_memory(n));
	return 0;
}

/* The queue has room for all that a worker may send before it is answered. */
static int
check_queue(struct worker_net *n, uint32_t s)
{
	return n->link[s].overflowed ? err_fail(ERR_FORMAT, "server %" PRIu32
	    " (%s): answers messages that it has not received", s, n->o->server[s]) : 0;
}

int
worker_link_push(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	struct msg m;
	int e = check_queue(n, s);

	while (e == 0 && conn_room(l->conn)) {
		pthread_mutex_lock(&n->lock);
		if (l->queue.n == 0 && !l->pinged) {
			pthread_mutex_unlock(&n->lock);
			break;
		}
		if (l->pinged) {
			m = (struct msg){ .type = MSG_PING, .incarnation = n->o->incarnation, .worker = n->o->rank,
			    .step = l->ping };
			l->pinged = false;
		} else {
			m = send_queue_take(&l->queue);
		}
		worker_link_count(n, l, PEER_TRAFFIC_SENT, &m);
		pthread_mutex_unlock(&n->lock);
		e = conn_send(l->conn, &m);
	}
	return e;
}

/* The connection broke, or another one takes its place: what is queued will be repeated. */
static void
lose_link(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];

	pthread_mutex_lock(&n->lock);
	worker_state_keep(n->state, s);
	if (!l->lost) {
		l->until = clk_s() + get_connect_s(n);
		l->failing_since = 0;
	}
	l->lost = true;
	send_queue_clear(&l->queue);
	l->pinged = l->asked = l->answered = false;
	l->late = MSG_NOBODY;
	for (int way = 0; way < PEER_TRAFFIC_WAYS; way++)
		l->earlier[way] = l->traffic.wire[way];
	pthread_mutex_unlock(&n->lock);
	l->retry_at = clk_s() + RETRY_MS * 1e-3;
	conn_close(l->conn);
	l->conn = NULL;
}

/*
 * A server that dies after it has stored the last goodbye, and before it has answered, is over when it is started
 * again.  So if a worker has said goodbye, and nobody listens any more, the server has ended.  It may be there while
 * the network fails, and a connection that it has not accepted yet may break before it is started again.  Call this
 * after an attempt to connect that failed, or at the end of a connection.
 */
static bool
has_server_ended(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	const bool refused = l->conn != NULL ? conn_refused(l->conn) : errno == ECONNREFUSED;

	if (!worker_state_parting(n->state))
		return false;
	if (!refused) {
		l->failing_since = 0;
		return false;
	}
	if (l->failing_since == 0)
		l->failing_since = clk_s();
	return clk_s() - l->failing_since >= PART_S;
}

/* Ends a connection that broke.  Returns 0 if the job goes on without it or with another one. */
static int
end_link(struct worker_net *n, uint32_t s, int e)
{
	bool parted, kept;

	pthread_mutex_lock(&n->lock);
	if (has_server_ended(n, s)) {
		worker_state_part(n->state, s);
		n->link[s].lost = false;
		n->events++;
		pthread_cond_broadcast(&n->arrived);
	}
	parted = worker_state_parted(n->state, s);
	if (parted)
		worker_state_keep(n->state, s);
	kept = worker_state_kept(n->state, s);
	pthread_mutex_unlock(&n->lock);
	if (!parted && (!kept || (e != ERR_PEER && e != ERR_SYS))) {
		err_within("server %" PRIu32, s);
		return e;
	}
	if (!parted) {
		lose_link(n, s);
		return 0;
	}
	conn_close(n->link[s].conn);
	n->link[s].conn = NULL;
	return 0;
}

static int
greet_again(struct worker_net *n, uint32_t s)
{
	int e;

	pthread_mutex_lock(&n->lock);
	e = worker_state_hello(n->state, s);
	pthread_mutex_unlock(&n->lock);
	return e;
}

/* Connects again to a server that is restarted, and says hello. */
static int
retry_link(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	int e;

	if (n->o->stop != NULL && *n->o->stop > 0)
		l->until = fmin(l->until, clk_s() + STOP_S);
	if (clk_s() >= l->until)
		return err_fail(ERR_PEER, "server %" PRIu32 " (%s) is lost and did not return", s, n->o->server[s]);
	if (l->conn != NULL || clk_s() < l->retry_at)
		return 0;
	if ((e = dial_server(n, s, &l->conn)) == 0)
		e = greet_again(n, s);
	return e < 0 ? end_link(n, s, e) : 0;
}

/*
 * TCP repeats what nobody answers at intervals that double: after an outage a connection goes on only after up to the
 * outage's length.  A new one takes its place as soon as the server's host answers it.  The old one stays until the
 * server has accepted that, or its end would look like the worker's.
 */
static int
try_other(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	struct conn *new;
	bool kept;

	if (l->lost || (!l->unanswered && l->other == NULL))
		return 0;
	pthread_mutex_lock(&n->lock);
	kept = worker_state_kept(n->state, s);
	pthread_mutex_unlock(&n->lock);
	if (!l->unanswered || !kept) {
		close_other(l);
		return 0;
	}
	if (l->other == NULL && clk_s() < l->retry_at)
		return 0;
	if ((l->other == NULL && dial_server(n, s, &l->other) < 0) || conn_run(l->other) < 0) {
		l->retry_at = clk_s() + OTHER_MS * 1e-3;
		close_other(l);
		return 0;
	}
	if (!conn_open(l->other))
		return 0;
	new = l->other;
	l->other = l->conn;
	l->conn = NULL;
	lose_link(n, s);
	l->conn = new;
	return greet_again(n, s);
}

int
worker_link_timeout(const struct worker_net *n)
{
	for (uint32_t s = 0; s < n->o->nservers; s++)
		if (n->link[s].lost || n->link[s].other != NULL)
			return RETRY_MS;
	return WORKER_LINK_TURN_MS;
}

int
worker_link_run(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	uint64_t received, sent;
	int e;

	if (l->lost)
		ERR_TRY(retry_link(n, s));
	if (l->conn == NULL)
		return 0;
	ERR_TRY(try_other(n, s));
	ERR_TRY(worker_link_push(n, s));
	e = conn_run(l->conn);
	conn_byte_counts(l->conn, &received, &sent);
	pthread_mutex_lock(&n->lock);
	l->traffic.wire[PEER_TRAFFIC_RECEIVED] = l->earlier[PEER_TRAFFIC_RECEIVED] + received;
	l->traffic.wire[PEER_TRAFFIC_SENT] = l->earlier[PEER_TRAFFIC_SENT] + sent;
	l->unanswered = conn_unanswered(l->conn);
	l->carries = conn_carries(l->conn);
	if (conn_open(l->conn))
		l->failing_since = 0;
	pthread_mutex_unlock(&n->lock);
	return e < 0 ? end_link(n, s, e) : receive_messages(n, s);
}

/* Connects to a server that has not welcomed this worker, or runs the connection. */
static int
greet_server(struct worker_net *n, uint32_t s, double until)
{
	struct link *l = &n->link[s];
	int e;

	if (l->conn == NULL && clk_s() < l->retry_at)
		return 0;
	if (l->conn == NULL) {
		if ((e = dial_server(n, s, &l->conn)) == 0)
			e = worker_state_hello(n->state, s);
	} else if ((e = conn_run(l->conn)) == 0) {
		return receive_messages(n, s);
	}
	if (e == 0)
		return 0;
	err_within("server %" PRIu32, s);
	if (has_server_ended(n, s))
		worker_state_part(n->state, s);
	conn_close(l->conn);
	l->conn = NULL;
	if (worker_state_parted(n->state, s))
		return 0;
	/* It may not accept connections yet, or is started again.  Only a refusal is final. */
	if ((e != ERR_PEER && e != ERR_SYS) || clk_s() >= until)
		return e;
	l->retry_at = clk_s() + RETRY_MS * 1e-3;
	return 0;
}

/* Whether a server has accepted this worker, or has ended after the goodbye of its predecessor. */
static bool
is_greeted(const struct worker_net *n, uint32_t s)
{
	return worker_state_welcome(n->state, s) || worker_state_parted(n->state, s);
}

/*
 * Waits until a connection to one of the servers is ready, or until the next attempt to connect.  Returns false if this
 * process was stopped meanwhile.
 */
static bool
poll_greetings(struct worker_net *n, uint32_t end)
{
	int timeout_ms = SERVE_MS;
	double until;

	for (uint32_t s = 0; s < end; s++) {
		struct conn *c = n->link[s].conn;

		n->poll[s] = (struct pollfd){ .fd = -1 };
		if (c != NULL)
			n->poll[s] = (struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) };
		else if (n->link[s].lost || !is_greeted(n, s))
			timeout_ms = RETRY_MS;
	}
	until = clk_s() + timeout_ms * 1e-3;
	poll(n->poll, end, timeout_ms);
	return !clk_stopped(until);
}

int
worker_link_connect(struct worker_net *n, uint32_t end)
{
	double until = clk_s() + get_connect_s(n), report_at = clk_s() + n->o->wait_report_s;
	uint32_t missing = 0;
	int e;

	for (;;) {
		for (uint32_t s = 0; s < end; s++) {
			/* One that has welcomed this worker may ask whether it is there. */
			if (n->link[s].lost || is_greeted(n, s))
				e = worker_link_run(n, s);
			else
				e = greet_server(n, s, until);
			if (e < 0)
				return e;
		}
		while (missing < end && is_greeted(n, missing))
			missing++;
		if (missing == end)
			return 0;
		/*
		 * A server that is connected may take minutes to get its memory from a busy machine.  A worker that is
		 * started again also waits for one that is stopped.
		 */
		if (n->link[missing].conn != NULL && !conn_open(n->link[missing].conn) && !n->o->kept &&
		    clk_s() >= until)
			return err_fail(ERR_PEER, "server %" PRIu32 ": %s: no answer", missing, n->o->server[missing]);
		if (clk_s() >= report_at) {
			worker_late_report(n, missing);
			report_at += n->o->wait_report_s;
		}
		if (!poll_greetings(n, end)) {
			report_at = clk_s() + n->o->wait_report_s;
			until = clk_s() + get_connect_s(n);
			worker_link_expect_again(n);
		}
	}
}
