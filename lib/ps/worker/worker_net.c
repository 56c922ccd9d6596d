/* worker_net - a worker's connections, run by a thread of their own. */
#include "ps/worker/worker_net.h"
#include "base/clk.h"
#include "base/err.h"
#include "wire/conn.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_S	30.0		/* how long to try to connect to a server */
#define RETRY_MS	50		/* between attempts */
#define SERVE_MS		500		/* between looks at the servers that are there already */
#define NAME		320		/* bytes of a server's name and address */
#define PER_SLICE	5u		/* most messages about a slice that wait: three first ones, a pull, a push */

struct link {
	struct conn	*conn;		/* NULL when it is over */
	struct msg	*ring;		/* [cap] to be sent */
	uint32_t	 cap, head, n;
	uint64_t	 sent, got;	/* bytes of messages */
	bool		 pinged;	/* the server's question `ping` is to be answered */
	uint64_t	 ping;
	struct peer_traffic	 traffic;
};

struct worker_net {
	const struct worker_opt *o;
	struct worker_state *state;
	struct link	*link;		/* [nservers] */
	struct pollfd	*poll;		/* [nservers + 1]; the last is wake */
	/* [slices] trace_now() when the slice's gradient was given to be sent; NULL: no trace */
	uint64_t	*push_time;
	int		 wake;		/* eventfd */
	pthread_mutex_t	 lock;
	pthread_cond_t	 arrived;
	pthread_t	 thread;
	bool		 running, end;
	uint64_t	 events;	/* messages received, so that no wake is missed */
	int		 err;		/* the error that ended the thread, or 0; and its line */
	char		 line[ERR_LINE];
};

static int
alloc_send_queues(struct worker_net *n)
{
	const struct shard_plan *p = worker_state_plan(n->state);

	for (uint32_t i = 0; i < p->n; i++)
		n->link[p->slice[i].owner].cap += PER_SLICE;
	if (n->o->trace != NULL && (n->push_time = calloc(p->n, sizeof(*n->push_time))) == NULL)
		return err_nomem();
	for (uint32_t s = 0; s < n->o->nservers; s++) {
		n->link[s].cap += 8;	/* norms of two steps, a sum, stop, bye */
		if ((n->link[s].ring = calloc(n->link[s].cap, sizeof(struct msg))) == NULL)
			return err_nomem();
	}
	return 0;
}

int
worker_net_new(const struct worker_opt *o, struct worker_state *b, struct worker_net **net)
{
	struct worker_net *n = calloc(1, sizeof(*n));
	pthread_condattr_t attr;
	int e;

	*net = NULL;
	if (n == NULL)
		return err_nomem();
	n->o = o;
	n->state = b;
	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&n->arrived, &attr);
	pthread_condattr_destroy(&attr);
	n->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	n->link = calloc(o->nservers, sizeof(*n->link));
	n->poll = calloc(o->nservers + 1, sizeof(*n->poll));
	if (n->wake < 0)
		e = err_sys("eventfd");
	else if (n->link == NULL || n->poll == NULL)
		e = err_nomem();
	else
		e = alloc_send_queues(n);
	if (e < 0)
		worker_net_free(n);
	else
		*net = n;
	return e;
}

static void
wake_network_thread(struct worker_net *n)
{
	uint64_t one = 1;

	/* It fails only when a wake is pending already. */
	(void)!write(n->wake, &one, sizeof(one));
}

void
worker_net_free(struct worker_net *n)
{
	if (n == NULL)
		return;
	if (n->running) {
		pthread_mutex_lock(&n->lock);
		n->end = true;
		pthread_mutex_unlock(&n->lock);
		wake_network_thread(n);
		pthread_join(n->thread, NULL);
	}
	for (uint32_t s = 0; n->link != NULL && s < n->o->nservers; s++) {
		conn_close(n->link[s].conn);
		free(n->link[s].ring);
	}
	if (n->wake >= 0)
		close(n->wake);
	pthread_cond_destroy(&n->arrived);
	pthread_mutex_destroy(&n->lock);
	free(n->link);
	free(n->poll);
	free(n->push_time);
	free(n);
}

/* Reports the wait, for "server 1 (127.0.0.1:4242)". */
static void
report_server_wait(const struct worker_net *n, uint32_t s)
{
	char whom[NAME];

	if (n->o->waiting == NULL)
		return;
	snprintf(whom, sizeof(whom), "server %" PRIu32 " (%s)", s, n->o->server[s]);
	n->o->waiting(n->o->arg, whom);
}

/* With the lock, or before there is a thread. */
static void
count_link_msg(const struct worker_net *n, struct link *l, enum peer_traffic_way way, const struct msg *m)
{
	*(way == PEER_TRAFFIC_IN ? &l->got : &l->sent) += MSG_HEAD + m->len;
	peer_traffic_count(&l->traffic, way, m, m->slice >= worker_state_plan(n->state)->nweights);
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

/* Passes the messages of a connection to the state machine. */
static int
receive_messages(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	struct msg m;
	int e = 0;

	while (e == 0 && conn_next(l->conn, &m)) {
		pthread_mutex_lock(&n->lock);
		count_link_msg(n, l, PEER_TRAFFIC_IN, &m);
		n->events++;
		if (m.type == MSG_PING) {
			l->pinged = true;
			l->ping = m.step;
		} else if ((e = worker_state_take(n->state, s, &m)) < 0)
			err_within("server %" PRIu32 " (%s)", s, n->o->server[s]);
		else
			trace_answer(n, &m);
		pthread_cond_broadcast(&n->arrived);
		pthread_mutex_unlock(&n->lock);
	}
	return e;
}

/* Moves queued messages to the connection while it has room.  Returns 0 or an error of the connection. */
static int
send_queued(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	struct msg m;
	int e = 0;

	while (e == 0 && conn_room(l->conn)) {
		pthread_mutex_lock(&n->lock);
		if (l->n == 0 && !l->pinged) {
			pthread_mutex_unlock(&n->lock);
			break;
		}
		if (l->pinged) {
			m = (struct msg){ .type = MSG_PING, .incarnation = n->o->incarnation, .worker = n->o->rank,
			    .step = l->ping };
			l->pinged = false;
		} else {
			m = l->ring[l->head];
			l->head = (l->head + 1) % l->cap;
			l->n--;
		}
		count_link_msg(n, l, PEER_TRAFFIC_OUT, &m);
		pthread_mutex_unlock(&n->lock);
		e = conn_send(l->conn, &m);
	}
	return e;
}

/* Runs a connection once.  A server that answered the goodbye may close it. */
static int
run_link(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	bool parted;
	int e;

	if ((e = send_queued(n, s)) < 0)
		return e;
	e = conn_run(l->conn);
	pthread_mutex_lock(&n->lock);
	conn_moved(l->conn, &l->traffic.wire[PEER_TRAFFIC_IN], &l->traffic.wire[PEER_TRAFFIC_OUT]);
	pthread_mutex_unlock(&n->lock);
	if (e < 0) {
		pthread_mutex_lock(&n->lock);
		parted = worker_state_parted(n->state, s);
		pthread_mutex_unlock(&n->lock);
		if (!parted) {
			err_within("server %" PRIu32, s);
			return e;
		}
		conn_close(l->conn);
		l->conn = NULL;
		return 0;
	}
	return receive_messages(n, s);
}

/* The servers before s may ask whether this worker is there. */
static int
serve_links_before(struct worker_net *n, uint32_t s)
{
	int e = 0;

	for (uint32_t k = 0; k < s && e == 0; k++)
		e = n->link[k].conn != NULL ? run_link(n, k) : 0;
	return e;
}

/* Connects, and waits for the welcome; *opened: the handshake was complete. */
static int
greet_server(struct worker_net *n, uint32_t s, double until, bool *opened)
{
	struct link *l = &n->link[s];
	struct pollfd p;
	int e;

	if ((e = conn_dial(n->o->server[s], n->o->key, &l->conn)) == 0)
		e = worker_state_hello(n->state, s);
	while (e == 0 && !worker_state_welcome(n->state, s)) {
		if (clk_s() >= until)
			return err_fail(ERR_PEER, "server %" PRIu32 ": %s: no answer", s, n->o->server[s]);
		p = (struct pollfd){ .fd = conn_fd(l->conn), .events = conn_events(l->conn) };
		poll(&p, 1, SERVE_MS);
		if ((e = conn_run(l->conn)) == 0 && ((e = receive_messages(n, s)) < 0 ||
		    (e = serve_links_before(n, s)) < 0))
			return e;
		*opened |= conn_open(l->conn);
	}
	if (e < 0)
		err_within("server %" PRIu32, s);
	return e;
}

/* Tries again while a server does not accept connections, but not if it closes one after the handshake. */
static int
connect_server(struct worker_net *n, uint32_t s)
{
	double until = clk_s() + CONNECT_S, report_at = clk_s() + n->o->patience_s;
	bool opened = false;
	int e;

	while ((e = greet_server(n, s, until, &opened)) < 0) {
		conn_close(n->link[s].conn);
		n->link[s].conn = NULL;
		if (opened || (e != ERR_PEER && e != ERR_SYS) || clk_s() >= until)
			return e;
		if (clk_s() >= report_at) {
			report_server_wait(n, s);
			report_at += n->o->patience_s;
		}
		poll(NULL, 0, RETRY_MS);
		if ((e = serve_links_before(n, s)) < 0)
			return e;
	}
	return 0;
}

static int
serve_link(struct worker_net *n, uint32_t s)
{
	uint64_t from = trace_now(n->o->trace);
	const uint64_t *wire = n->link[s].traffic.wire;	/* this thread alone writes it */
	uint64_t sent = wire[PEER_TRAFFIC_OUT], got = wire[PEER_TRAFFIC_IN];
	int e = run_link(n, s);

	sent = wire[PEER_TRAFFIC_OUT] - sent;
	got = wire[PEER_TRAFFIC_IN] - got;
	if (sent + got > 0)
		trace_moved(n->o->trace, TRACE_NETWORK, from,
		    got == 0 ? "send" : sent == 0 ? "receive" : "send and receive",
		    sent, got);
	return e;
}

static int
poll_links(struct worker_net *n)
{
	uint32_t all = n->o->nservers;
	uint64_t count;
	int e;

	for (uint32_t s = 0; s < all; s++) {
		struct conn *c = n->link[s].conn;

		n->poll[s] = (struct pollfd){ .fd = -1 };
		if (c == NULL)
			continue;
		if ((e = send_queued(n, s)) < 0)
			return e;
		n->poll[s] = (struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) };
	}
	n->poll[all] = (struct pollfd){ .fd = n->wake, .events = POLLIN };
	if (poll(n->poll, all + 1, -1) < 0)
		return 0;	/* interrupted */
	if (n->poll[all].revents != 0)
		(void)!read(n->wake, &count, sizeof(count));
	for (uint32_t s = 0; s < all; s++)
		if (n->poll[s].revents != 0 && (e = serve_link(n, s)) < 0)
			return e;
	return 0;
}

/*
 * Sends the reason for the end to the other servers, if that is possible without waiting, and closes the connections.
 */
static void
close_links(struct worker_net *n)
{
	char why[ERR_LINE];
	struct msg m = { .type = MSG_REFUSE, .incarnation = n->o->incarnation, .worker = n->o->rank };

	snprintf(why, sizeof(why), "%s", err_line());
	m.len = (uint32_t)strlen(why);
	m.payload = why;
	for (uint32_t s = 0; s < n->o->nservers; s++) {
		struct conn *c = n->link[s].conn;

		if (c == NULL)
			continue;
		if (conn_send(c, &m) == 0)
			(void)conn_run(c);
		conn_close(c);
		n->link[s].conn = NULL;
	}
	err_note(0, "%s", why);
}

static void *
run_network_thread(void *arg)
{
	struct worker_net *n = arg;
	bool end = false;
	int e = 0;

	while (e == 0 && !end) {
		e = poll_links(n);
		pthread_mutex_lock(&n->lock);
		end = n->end;
		pthread_mutex_unlock(&n->lock);
	}
	if (e < 0)
		close_links(n);
	pthread_mutex_lock(&n->lock);
	n->err = e;
	snprintf(n->line, sizeof(n->line), "%s", err_line());
	pthread_cond_broadcast(&n->arrived);
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

int
worker_net_connect(struct worker_net *n)
{
	int e;

	for (uint32_t s = 0; s < n->o->nservers; s++)
		if ((e = connect_server(n, s)) < 0)
			return e;
	if ((e = pthread_create(&n->thread, NULL, run_network_thread, n)) != 0)
		return err_note(e, "a thread for the network"), ERR_SYS;
	n->running = true;
	return 0;
}

static int
get_network_error(const struct worker_net *n)
{
	if (n->err < 0)
		err_note(0, "%s", n->line);
	return n->err;
}

int
worker_net_lock(struct worker_net *n)
{
	int e;

	pthread_mutex_lock(&n->lock);
	if ((e = get_network_error(n)) < 0)
		pthread_mutex_unlock(&n->lock);
	return e;
}

void
worker_net_unlock(struct worker_net *n)
{
	pthread_mutex_unlock(&n->lock);
}

int
worker_net_wait(struct worker_net *n, uint32_t server)
{
	double until = clk_s() + n->o->patience_s;
	uint64_t seen = n->events;
	struct timespec t = { .tv_sec = (time_t)until, .tv_nsec = (long)((until - floor(until)) * 1e9) };

	while (n->events == seen && n->err == 0)
		if (pthread_cond_timedwait(&n->arrived, &n->lock, &t) == ETIMEDOUT) {
			pthread_mutex_unlock(&n->lock);
			report_server_wait(n, server);
			pthread_mutex_lock(&n->lock);
			break;
		}
	return get_network_error(n);
}

void
worker_net_send(struct worker_net *n, uint32_t server, const struct msg *m)
{
	struct link *l = &n->link[server];

	if (!n->running) {
		conn_send(l->conn, m);
		count_link_msg(n, l, PEER_TRAFFIC_OUT, m);
		return;
	}
	assert(l->n < l->cap);
	l->ring[(l->head + l->n++) % l->cap] = *m;
	if (n->push_time != NULL && m->type == MSG_PUSH)
		n->push_time[m->slice] = trace_now(n->o->trace);
	wake_network_thread(n);
}

void
worker_net_traffic(struct worker_net *n, uint64_t *sent, uint64_t *got)
{
	*sent = *got = 0;
	pthread_mutex_lock(&n->lock);
	for (uint32_t s = 0; s < n->o->nservers; s++) {
		*sent += n->link[s].sent;
		*got += n->link[s].got;
	}
	pthread_mutex_unlock(&n->lock);
}

void
worker_net_peer_traffic(struct worker_net *n, uint32_t server, struct peer_traffic *t)
{
	pthread_mutex_lock(&n->lock);
	*t = n->link[server].traffic;
	pthread_mutex_unlock(&n->lock);
}
