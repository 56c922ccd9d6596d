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

#define CONNECT_S	30.0		/* how long a server may take to be there */
#define RETRY_MS	50		/* between attempts */
#define TEND_MS		500		/* between looks at the servers that are there already */
#define NAME		320		/* bytes of a server's name and address */
#define PER_SLICE	5u		/* most messages about a slice that wait: three first ones, a pull, a push */

struct link {
	struct conn	*conn;		/* NULL when it is over */
	struct msg	*ring;		/* [cap] to be sent */
	uint32_t	 cap, head, n;
	uint64_t	 sent, got;	/* bytes of messages */
	bool		 pinged;	/* the server's question `ping` is to be answered */
	uint64_t	 ping;
	struct peer_traffic	 toll;
};

struct worker_net {
	const struct worker_opt *o;
	struct worker_state *brain;
	struct link	*link;		/* [nservers] */
	struct pollfd	*poll;		/* [nservers + 1]; the last is wake */
	uint32_t	 nweights;	/* slices, those behind are of aux */
	uint64_t	*flies;		/* [slices] trace_now() when the slice's gradient was given to be sent; NULL: no trace */
	int		 wake;		/* eventfd */
	pthread_mutex_t	 lock;
	pthread_cond_t	 came;
	pthread_t	 thread;
	bool		 running, end;
	uint64_t	 events;	/* counts what came, so that no wake is missed */
	int		 err;		/* that ended it */
	char		 line[512];
};

static int
rings(struct worker_net *n)
{
	struct shard_plan *p;
	int e;

	if ((e = shard_plan_new(n->o->graph, n->o->nservers, n->o->slice > 0 ? n->o->slice : SHARD_PLAN_SLICE, n->o->mults,
	    &n->o->hyper, &p)) < 0)
		return e;
	for (uint32_t i = 0; i < p->n; i++)
		n->link[p->slice[i].owner].cap += PER_SLICE;
	n->nweights = p->nweights;
	if (n->o->trace != NULL && (n->flies = calloc(p->n, sizeof(*n->flies))) == NULL) {
		shard_plan_free(p);
		return err_nomem();
	}
	shard_plan_free(p);
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
	n->brain = b;
	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&n->came, &attr);
	pthread_condattr_destroy(&attr);
	n->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	n->link = calloc(o->nservers, sizeof(*n->link));
	n->poll = calloc(o->nservers + 1, sizeof(*n->poll));
	if (n->wake < 0)
		e = err_sys("eventfd");
	else if (n->link == NULL || n->poll == NULL)
		e = err_nomem();
	else
		e = rings(n);
	if (e < 0)
		worker_net_free(n);
	else
		*net = n;
	return e;
}

static void
wake(struct worker_net *n)
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
		wake(n);
		pthread_join(n->thread, NULL);
	}
	for (uint32_t s = 0; n->link != NULL && s < n->o->nservers; s++) {
		conn_close(n->link[s].conn);
		free(n->link[s].ring);
	}
	if (n->wake >= 0)
		close(n->wake);
	pthread_cond_destroy(&n->came);
	pthread_mutex_destroy(&n->lock);
	free(n->link);
	free(n->poll);
	free(n->flies);
	free(n);
}

/* Tells the caller that it waits, as "server 1 (127.0.0.1:4242)". */
static void
tell(const struct worker_net *n, uint32_t s)
{
	char whom[NAME];

	if (n->o->waiting == NULL)
		return;
	snprintf(whom, sizeof(whom), "server %" PRIu32 " (%s)", s, n->o->server[s]);
	n->o->waiting(n->o->arg, whom);
}

/* With the lock, or before there is a thread. */
static void
count(const struct worker_net *n, struct link *l, enum peer_traffic_way way, const struct msg *m)
{
	*(way == PEER_TRAFFIC_IN ? &l->got : &l->sent) += MSG_HEAD + m->len;
	peer_traffic_count(&l->toll, way, m, m->slice >= n->nweights);
}

/* With the lock: a slice that the brain took has come back. */
static void
landed(struct worker_net *n, const struct msg *m)
{
	if (n->flies == NULL || m->type != MSG_WEIGHTS)
		return;
	trace_flight(n->o->trace, n->flies[m->slice], m->slice, m->len);
	n->flies[m->slice] = 0;
}

/* Gives the brain what a connection has brought. */
static int
take(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	struct msg m;
	int e = 0;

	while (e == 0 && conn_next(l->conn, &m)) {
		pthread_mutex_lock(&n->lock);
		count(n, l, PEER_TRAFFIC_IN, &m);
		n->events++;
		if (m.type == MSG_PING) {
			l->pinged = true;
			l->ping = m.step;
		} else if ((e = worker_state_take(n->brain, s, &m)) < 0)
			err_within("server %" PRIu32 " (%s)", s, n->o->server[s]);
		else
			landed(n, &m);
		pthread_cond_broadcast(&n->came);
		pthread_mutex_unlock(&n->lock);
	}
	return e;
}

/* Hands on what there is room for.  Returns 0 or an error of the connection. */
static int
fill(struct worker_net *n, uint32_t s)
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
			m = (struct msg){ .type = MSG_PING, .incarnation = n->o->incarnation, .worker = n->o->rank, .step = l->ping };
			l->pinged = false;
		} else {
			m = l->ring[l->head];
			l->head = (l->head + 1) % l->cap;
			l->n--;
		}
		count(n, l, PEER_TRAFFIC_OUT, &m);
		pthread_mutex_unlock(&n->lock);
		e = conn_send(l->conn, &m);
	}
	return e;
}

/* A server that said goodbye may close. */
static int
move(struct worker_net *n, uint32_t s)
{
	struct link *l = &n->link[s];
	bool parted;
	int e;

	if ((e = fill(n, s)) < 0)
		return e;
	e = conn_run(l->conn);
	pthread_mutex_lock(&n->lock);
	conn_moved(l->conn, &l->toll.wire[PEER_TRAFFIC_IN], &l->toll.wire[PEER_TRAFFIC_OUT]);
	pthread_mutex_unlock(&n->lock);
	if (e < 0) {
		pthread_mutex_lock(&n->lock);
		parted = worker_state_parted(n->brain, s);
		pthread_mutex_unlock(&n->lock);
		if (!parted) {
			err_within("server %" PRIu32, s);
			return e;
		}
		conn_close(l->conn);
		l->conn = NULL;
		return 0;
	}
	return take(n, s);
}

/* The servers before s may ask whether this worker is there. */
static int
tend(struct worker_net *n, uint32_t s)
{
	int e = 0;

	for (uint32_t k = 0; k < s && e == 0; k++)
		e = n->link[k].conn != NULL ? move(n, k) : 0;
	return e;
}

/* From the first packet to the welcome.  *opened: the server was there. */
static int
greet(struct worker_net *n, uint32_t s, double until, bool *opened)
{
	struct link *l = &n->link[s];
	struct pollfd p;
	int e;

	if ((e = conn_dial(n->o->server[s], n->o->key, &l->conn)) == 0)
		e = worker_state_hello(n->brain, s);
	while (e == 0 && !worker_state_welcome(n->brain, s)) {
		if (clk_s() >= until)
			return err_fail(ERR_PEER, "server %" PRIu32 ": %s: no answer", s, n->o->server[s]);
		p = (struct pollfd){ .fd = conn_fd(l->conn), .events = conn_events(l->conn) };
		poll(&p, 1, TEND_MS);
		if ((e = conn_run(l->conn)) == 0 && ((e = take(n, s)) < 0 || (e = tend(n, s)) < 0))
			return e;
		*opened |= conn_open(l->conn);
	}
	if (e < 0)
		err_within("server %" PRIu32, s);
	return e;
}

/* A server that is not there yet is tried again, one that closes after it was there is not. */
static int
connect_one(struct worker_net *n, uint32_t s)
{
	double until = clk_s() + CONNECT_S, tell_at = clk_s() + n->o->patience_s;
	bool opened = false;
	int e;

	while ((e = greet(n, s, until, &opened)) < 0) {
		conn_close(n->link[s].conn);
		n->link[s].conn = NULL;
		if (opened || (e != ERR_PEER && e != ERR_SYS) || clk_s() >= until)
			return e;
		if (clk_s() >= tell_at) {
			tell(n, s);
			tell_at += n->o->patience_s;
		}
		poll(NULL, 0, RETRY_MS);
		if ((e = tend(n, s)) < 0)
			return e;
	}
	return 0;
}

static int
serve(struct worker_net *n, uint32_t s)
{
	uint64_t from = trace_now(n->o->trace);
	const uint64_t *wire = n->link[s].toll.wire;	/* this thread alone writes it */
	uint64_t sent = wire[PEER_TRAFFIC_OUT], got = wire[PEER_TRAFFIC_IN];
	int e = move(n, s);

	sent = wire[PEER_TRAFFIC_OUT] - sent;
	got = wire[PEER_TRAFFIC_IN] - got;
	if (sent + got > 0)
		trace_moved(n->o->trace, TRACE_NETWORK, from, got == 0 ? "send" : sent == 0 ? "receive" : "send and receive",
		    sent, got);
	return e;
}

static int
turn(struct worker_net *n)
{
	uint32_t all = n->o->nservers;
	uint64_t count;
	int e;

	for (uint32_t s = 0; s < all; s++) {
		struct conn *c = n->link[s].conn;

		n->poll[s] = (struct pollfd){ .fd = -1 };
		if (c == NULL)
			continue;
		if ((e = fill(n, s)) < 0)
			return e;
		n->poll[s] = (struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) };
	}
	n->poll[all] = (struct pollfd){ .fd = n->wake, .events = POLLIN };
	if (poll(n->poll, all + 1, -1) < 0)
		return 0;	/* interrupted */
	if (n->poll[all].revents != 0)
		(void)!read(n->wake, &count, sizeof(count));
	for (uint32_t s = 0; s < all; s++)
		if (n->poll[s].revents != 0 && (e = serve(n, s)) < 0)
			return e;
	return 0;
}

/* The job goes away: the other servers hear why, as far as that goes without waiting, rather than lose this worker. */
static void
part(struct worker_net *n)
{
	char why[sizeof(n->line)];
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
run(void *arg)
{
	struct worker_net *n = arg;
	bool end = false;
	int e = 0;

	while (e == 0 && !end) {
		e = turn(n);
		pthread_mutex_lock(&n->lock);
		end = n->end;
		pthread_mutex_unlock(&n->lock);
	}
	if (e < 0)
		part(n);
	pthread_mutex_lock(&n->lock);
	n->err = e;
	snprintf(n->line, sizeof(n->line), "%s", err_line());
	pthread_cond_broadcast(&n->came);
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

int
worker_net_connect(struct worker_net *n)
{
	int e;

	for (uint32_t s = 0; s < n->o->nservers; s++)
		if ((e = connect_one(n, s)) < 0)
			return e;
	if ((e = pthread_create(&n->thread, NULL, run, n)) != 0)
		return err_note(e, "a thread for the network"), ERR_SYS;
	n->running = true;
	return 0;
}

static int
broken(const struct worker_net *n)
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
	if ((e = broken(n)) < 0)
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
		if (pthread_cond_timedwait(&n->came, &n->lock, &t) == ETIMEDOUT) {
			pthread_mutex_unlock(&n->lock);
			tell(n, server);
			pthread_mutex_lock(&n->lock);
			break;
		}
	return broken(n);
}

void
worker_net_send(struct worker_net *n, uint32_t server, const struct msg *m)
{
	struct link *l = &n->link[server];

	if (!n->running) {
		conn_send(l->conn, m);
		count(n, l, PEER_TRAFFIC_OUT, m);
		return;
	}
	assert(l->n < l->cap);
	l->ring[(l->head + l->n++) % l->cap] = *m;
	if (n->flies != NULL && m->type == MSG_PUSH)
		n->flies[m->slice] = trace_now(n->o->trace);
	wake(n);
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
worker_net_toll(struct worker_net *n, uint32_t server, struct peer_traffic *t)
{
	pthread_mutex_lock(&n->lock);
	*t = n->link[server].toll;
	pthread_mutex_unlock(&n->lock);
}
