/* worker_net - a worker's connections, run by a thread of their own. */
#include "ps/worker/worker_net_in.h"
#include "base/clk.h"
#include "base/err.h"
#include "base/threads.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define ANSWER		(1 / 3.0)	/* part of wait_report_s in which a server can say for whom a worker waits */
#define AGAIN		3		/* multiple of wait_report_s after which the same wait is reported again */
#define QUIT_S		1.0	/* time for telling the servers that this worker gives up */
#define PER_SLICE	5u		/* most messages about a slice that wait: three first ones, a pull, a push */

static int
alloc_send_queues(struct worker_net *n)
{
	const struct shard_plan *p = worker_state_plan(n->state);
	uint32_t cap;

	if (n->o->trace != NULL && (n->push_time = calloc(p->n, sizeof(*n->push_time))) == NULL)
		return err_nomem();
	for (uint32_t s = 0; s < n->o->nservers; s++) {
		n->link[s].net = n;
		n->link[s].late = MSG_NOBODY;
		/* norms of two steps, again, a sum, an epoch, stop, bye, a question; settings, again, and a request */
		cap = 24;
		for (uint32_t i = 0; i < p->n; i++)
			cap += p->slice[i].owner == s ? PER_SLICE : 0;
		ERR_TRY(send_queue_init(&n->link[s].queue, cap));
	}
	return 0;
}

int
worker_net_new(const struct worker_opt *o, struct worker_state *ws, struct worker_net **net)
{
	struct worker_net *n = calloc(1, sizeof(*n));
	pthread_condattr_t attr;
	int e;

	*net = NULL;
	if (n == NULL)
		return err_nomem();
	n->o = o;
	n->state = ws;
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
		if (n->running)
			pthread_mutex_lock(&n->lock);
		worker_state_keep(n->state, s);
		if (n->running)
			pthread_mutex_unlock(&n->lock);
		conn_close(c);
		n->link[s].conn = NULL;
	}
	err_note(0, "%s", why);
}

static bool
has_parted(const struct worker_net *n)
{
	for (uint32_t s = 0; s < n->o->nservers; s++)
		if (!worker_state_parted(n->state, s))
			return false;
	return true;
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
	/* Servers would wait for a successor. */
	if (n->o->kept && n->link != NULL && !has_parted(n))
		close_links(n);
	for (uint32_t s = 0; n->link != NULL && s < n->o->nservers; s++) {
		conn_close(n->link[s].conn);
		conn_close(n->link[s].other);
		send_queue_free(&n->link[s].queue);
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

static int
serve_link(struct worker_net *n, uint32_t s)
{
	uint64_t from = trace_now(n->o->trace);
	const uint64_t *wire = n->link[s].traffic.wire;	/* this thread alone writes it */
	uint64_t sent = wire[PEER_TRAFFIC_SENT], received = wire[PEER_TRAFFIC_RECEIVED];
	int e = worker_link_run(n, s);

	sent = wire[PEER_TRAFFIC_SENT] - sent;
	received = wire[PEER_TRAFFIC_RECEIVED] - received;
	if (sent + received > 0)
		trace_transfer(n->o->trace, TRACE_NETWORK, from,
		    received == 0 ? "send" : sent == 0 ? "receive" : "send and receive",
		    sent, received);
	return e;
}

static int
poll_links(struct worker_net *n)
{
	uint32_t all = n->o->nservers;
	uint64_t count;
	double until;
	bool turn;
	int e, timeout_ms;

	for (uint32_t s = 0; s < all; s++) {
		struct conn *c = n->link[s].conn;

		n->poll[s] = (struct pollfd){ .fd = -1 };
		if (c == NULL)
			continue;
		ERR_TRY(worker_link_push(n, s));
		n->poll[s] = (struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) };
	}
	n->poll[all] = (struct pollfd){ .fd = n->wake, .events = POLLIN };
	timeout_ms = worker_link_timeout(n);
	until = clk_s() + timeout_ms * 1e-3;
	e = poll(n->poll, all + 1, timeout_ms);
	if (clk_stopped(until))
		worker_link_expect_again(n);
	if (e < 0)
		return 0;	/* interrupted */
	if (n->poll[all].revents != 0)
		(void)!read(n->wake, &count, sizeof(count));
	if ((turn = clk_s() >= n->turn_at))
		n->turn_at = clk_s() + WORKER_LINK_TURN_MS * 1e-3;
	for (uint32_t s = 0; s < all; s++) {
		const struct link *l = &n->link[s];

		if ((n->poll[s].revents != 0 || l->lost || l->other != NULL || turn) && (e = serve_link(n, s)) < 0)
			return e;
	}
	return 0;
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
		if (e == 0 && n->quits)
			e = err_fail(ERR_STOP, "it was asked to end at once");
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

	/*
	 * Server 0 first: of two processes in the name of one worker the same one is refused everywhere.  Then the
	 * others at once: each may take seconds to find that the last process in this worker's name is gone.  One that
	 * is started again has no other beside it, and no server may miss it because another one is stopped.
	 */
	if (!n->o->kept)
		ERR_TRY(worker_link_connect(n, 1));
	ERR_TRY(worker_link_connect(n, n->o->nservers));
	if ((e = pthread_create(&n->thread, NULL, run_network_thread, n)) != 0)
		return threads_fail(e, "the network");
	n->running = true;
	return 0;
}

void
worker_net_quit(struct worker_net *n)
{
	const double until = clk_s() + QUIT_S;
	const struct timespec t = { .tv_sec = (time_t)until, .tv_nsec = (long)((until - floor(until)) * 1e9) };

	pthread_mutex_lock(&n->lock);
	n->quits = true;
	wake_network_thread(n);
	while (n->running && n->err == 0 && pthread_cond_timedwait(&n->arrived, &n->lock, &t) != ETIMEDOUT)
		continue;
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

/*
 * With the lock: waits for so many seconds.  Returns false if nothing has arrived; *stopped: this process did not run.
 */
static bool
wait_for(struct worker_net *n, uint64_t seen, double seconds, bool *stopped)
{
	const double until = clk_s() + seconds;
	const struct timespec t = { .tv_sec = (time_t)until, .tv_nsec = (long)((until - floor(until)) * 1e9) };

	*stopped = false;
	while (n->events == seen && n->err == 0)
		if (pthread_cond_timedwait(&n->arrived, &n->lock, &t) == ETIMEDOUT) {
			*stopped = clk_stopped(until);
			return false;
		}
	return true;
}

int
worker_net_wait(struct worker_net *n, uint32_t server)
{
	const uint64_t seen = n->events;
	const double answer = n->o->wait_report_s * ANSWER;
	double most = n->o->wait_report_s * (n->told == 1 + seen ? AGAIN : 1);
	bool stopped, late = false;

	/* The answer comes before the wait is reported, unless the server itself is late. */
	while (!late && !wait_for(n, seen, most - answer, &stopped)) {
		/* What this worker waits for may be there, unread: the time begins again. */
		most = n->o->wait_report_s;
		if (stopped)
			continue;
		worker_late_tell(n, server);
		if (wait_for(n, seen, answer, &stopped))
			break;
		late = !stopped;
	}
	if (late) {
		n->told = 1 + seen;
		pthread_mutex_unlock(&n->lock);
		worker_late_report(n, server);
		pthread_mutex_lock(&n->lock);
	}
	/* Otherwise those that wait for this worker would be told of a server that has answered. */
	if (n->waits && n->events != seen)
		worker_late_tell(n, MSG_NOBODY);
	return get_network_error(n);
}

void
worker_net_send(struct worker_net *n, uint32_t server, const struct msg *m)
{
	struct link *l = &n->link[server];

	if (l->lost && m->type != MSG_HELLO)
		return;
	if (!n->running || m->type == MSG_HELLO) {
		conn_send(l->conn, m);
		worker_link_count(n, l, PEER_TRAFFIC_SENT, m);
		return;
	}
	if (l->queue.n == l->queue.cap)
		l->overflowed = true;
	else
		send_queue_put(&l->queue, m);
	if (n->push_time != NULL && m->type == MSG_PUSH)
		n->push_time[m->slice] = trace_now(n->o->trace);
	wake_network_thread(n);
}

void
worker_net_traffic(struct worker_net *n, uint64_t *sent, uint64_t *received)
{
	*sent = *received = 0;
	pthread_mutex_lock(&n->lock);
	for (uint32_t s = 0; s < n->o->nservers; s++) {
		*sent += n->link[s].sent;
		*received += n->link[s].received;
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
