/* dataset_server - serves records to other hosts: the event loop of im2rec --serve. */
#include "dataset/dataset_server.h"
#include "base/clk.h"
#include "base/err.h"
#include "wire/addr.h"
#include "wire/conn.h"
#include "wire/strangers.h"
#include "record/recid.h"
#include "dataset/dataset_read_pool.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS	64
#define BURST_S	4.0		/* all readers of a job may connect at once: of that budget */
#define PAUSE_MS	200	/* pause of accepting when the system is out of descriptors or memory */
#define READ_THREADS 8u
#define READS_END_MS	3000	/* time that the end waits for reads in silence */
#define LINGER_S 5.0		/* time in which a reader that was refused may read why */

struct record_reader {
	struct dataset_read read;	/* with its sender; the first member, so that a read gives its peer */
	TAILQ_ENTRY(record_reader) link;
	struct conn	*conn;
	struct stranger	 stranger;	/* counted while it is in `strangers` */
	int		 poll;		/* the epoll that has its connection */
	bool		 reading;	/* a thread reads for it */
	bool		 refused;	/* it counts as a stranger and its messages are dropped */
	bool		 reader;	/* it has sent OPEN */
	short		 events;	/* polled for */
	double		 until;		/* time at which it is closed; INFINITY for a reader */
};

TAILQ_HEAD(peers, record_reader);

struct dataset_server {
	const struct dataset_server_opt *o;
	struct dataset_server_sums *sums;
	uint64_t	 id;
	int		 fd, poll;	/* listening socket; epoll */
	int		 poll_strangers;	/* epoll of strangers, which `poll` polls until strangers_at */
	bool		 strangers_pause;
	double		 strangers_at;
	struct dataset_read_pool *pool;
	bool		 paused;	/* fd is not polled until accept_at */
	double		 accept_at;
	struct strangers limits;
	uint64_t	 conns;		/* accepted so far */
	struct peers	 strangers, readers;	/* strangers by `until` */
	struct peers	 closed;	/* without a connection, until a thread has read for them */
	uint32_t	 n;
};

static int
set_poll_events(int epoll, int how, int fd, short events, void *what)
{
	/* EPOLLIN is POLLIN, and so on */
	struct epoll_event ev = { .events = (uint32_t)events, .data.ptr = what };

	return epoll_ctl(epoll, how, fd, &ev) < 0 ? err_sys("epoll") : 0;
}

/* Inserts a stranger in the order of `until`. */
static void
add_stranger(struct dataset_server *s, struct record_reader *g, double seconds)
{
	struct record_reader *at;

	g->reader = false;
	g->until = clk_s() + seconds;
	TAILQ_FOREACH(at, &s->strangers, link)
		if (at->until > g->until)
			break;
	if (at != NULL)
		TAILQ_INSERT_BEFORE(at, g, link);
	else
		TAILQ_INSERT_TAIL(&s->strangers, g, link);
	strangers_add(&s->limits, conn_peer(g->conn), ++s->conns, &g->stranger);
}

static void
unlist_reader(struct dataset_server *s, struct record_reader *g)
{
	TAILQ_REMOVE(g->reader ? &s->readers : &s->strangers, g, link);
	strangers_remove(&s->limits, &g->stranger);
}

static void
free_peer(struct dataset_server *s, struct record_reader *g)
{
	s->n--;
	dataset_sender_free(g->read.sender);
	free(g);
}

/* Counts and logs a stranger; who is "host:port: reason". */
static void
note_stranger(struct dataset_server *s, const struct record_reader *g, const char *who)
{
	if (g->reader || g->refused)
		return;
	s->sums->strangers++;
	strangers_refused(&s->limits, who);
}

static void
close_reader(struct dataset_server *s, struct record_reader *g)
{
	unlist_reader(s, g);
	conn_close(g->conn);
	g->conn = NULL;
	if (g->reading)
		TAILQ_INSERT_TAIL(&s->closed, g, link);
	else
		free_peer(s, g);
}

/* Sends the reason to the reader, which becomes a stranger for a moment, to read it. */
static int
refuse_reader(struct dataset_server *s, struct record_reader *g)
{
	char why[ERR_LINE];
	struct msg m = { .type = MSG_REFUSE, .payload = why };

	snprintf(why, sizeof(why), "%s", err_line());
	log_callback_line(s->o->say, s->o->arg, "refused %s: %s", conn_peer(g->conn), why);
	unlist_reader(s, g);
	add_stranger(s, g, LINGER_S);
	g->refused = true;
	m.len = (uint32_t)strlen(why);
	s->sums->sent += MSG_HEAD + m.len;
	return conn_send(g->conn, &m);
}

/* Closes a stranger whose time is over, or for which there is no room. */
static void
expire_stranger(struct dataset_server *s, struct record_reader *g, const char *why)
{
	char who[ERR_LINE];

	snprintf(who, sizeof(who), "%s: %s", conn_peer(g->conn), why);
	note_stranger(s, g, who);
	close_reader(s, g);
}

static void
accept_hello(struct dataset_server *s, struct record_reader *g)
{
	unlist_reader(s, g);
	g->reader = true;
	g->until = (double)INFINITY;
	TAILQ_INSERT_TAIL(&s->readers, g, link);
	s->sums->readers++;
	log_callback_line(s->o->say, s->o->arg, "%s reads", conn_peer(g->conn));
}

static int
handle_reader_msg(struct dataset_server *s, struct record_reader *g, const struct msg *m)
{
	int e;

	if (g->refused)
		return 0;
	if ((e = dataset_sender_take(g->read.sender, m)) < 0)
		return e == ERR_NOMEM ? e : refuse_reader(s, g);
	if (!g->reader)
		accept_hello(s, g);
	return 0;
}

/* Sends records while few bytes wait, and lets a thread read more. */
static int
send_records(struct dataset_server *s, struct record_reader *g)
{
	struct dataset_sender *d = g->read.sender;
	struct msg m;
	int e = 0;

	if (g->refused || g->reading)
		return 0;
	while (conn_queued(g->conn) < DATASET_SERVER_AHEAD && (e = dataset_sender_next(d, &m)) > 0) {
		s->sums->sent += MSG_HEAD + m.len;
		s->sums->records += m.type == MSG_RECORD && m.slice + m.len == m.samples && m.flags == 0;
		if ((e = conn_send(g->conn, &m)) < 0)
			return e;
	}
	if (e == 0 && conn_queued(g->conn) < DATASET_SERVER_AHEAD && dataset_sender_begin_read(d)) {
		g->reading = true;
		dataset_read_pool_submit(s->pool, &g->read);
	}
	return e;
}

/* Runs a connection once.  Returns 0 or the error that ended it. */
static int
run_reader_conn(struct dataset_server *s, struct record_reader *g)
{
	short events;
	struct msg m;

	ERR_TRY(conn_run(g->conn));
	while (conn_next(g->conn, &m))
		ERR_TRY(handle_reader_msg(s, g, &m));
	ERR_TRY(send_records(s, g));
	events = conn_events(g->conn);
	if (events != g->events)
		ERR_TRY(set_poll_events(g->poll, EPOLL_CTL_MOD, conn_fd(g->conn), g->events = events, g));
	return 0;
}

static void
evict_stranger(struct dataset_server *s)
{
	struct record_reader *g, *first = TAILQ_FIRST(&s->strangers);

	TAILQ_FOREACH(g, &s->strangers, link)
		if (strangers_before(&s->limits, &g->stranger, &first->stranger))
			first = g;
	expire_stranger(s, first, STRANGERS_EVICTED);
}

/* Pauses accepting for some time, or ends the pause. */
static void
set_accepting(struct dataset_server *s, bool on, double pause_s)
{
	s->paused = !on;
	s->accept_at = clk_s() + pause_s;
	set_poll_events(s->poll, EPOLL_CTL_MOD, s->fd, on ? POLLIN : 0, &s->fd);
}

/* Likewise, of hearing strangers. */
static void
set_hearing(struct dataset_server *s, bool on, double pause_s)
{
	s->strangers_pause = !on;
	s->strangers_at = clk_s() + pause_s;
	set_poll_events(s->poll, EPOLL_CTL_MOD, s->poll_strangers, on ? POLLIN : 0, &s->poll_strangers);
}

/* Closes connections whose time is over.  Returns the milliseconds until the next one, -1 for none. */
static int
close_expired_readers(struct dataset_server *s)
{
	double now = clk_s(), next = s->paused ? s->accept_at : (double)INFINITY;
	struct record_reader *g;

	if (s->strangers_pause)
		next = fmin(next, s->strangers_at);
	if (s->paused && now >= s->accept_at)
		set_accepting(s, true, 0);
	if (s->strangers_pause && now >= s->strangers_at)
		set_hearing(s, true, 0);
	while ((g = TAILQ_FIRST(&s->strangers)) != NULL && now >= g->until)
		expire_stranger(s, g, "sent no valid OPEN in time");
	if (g != NULL && g->until < next)
		next = g->until;
	return isinf(next) ? -1 : (int)ceil(fmax(next - now, 0) * 1e3);
}

/* Hears a peer whenever it has something to read, once it is credible. */
static int
trust_reader(struct dataset_server *s, struct record_reader *g)
{
	if (g->poll == s->poll)
		return 0;
	ERR_TRY(set_poll_events(g->poll, EPOLL_CTL_DEL, conn_fd(g->conn), 0, NULL));
	g->poll = s->poll;
	return set_poll_events(g->poll, EPOLL_CTL_ADD, conn_fd(g->conn), g->events, g);
}

/* Returns false if the connection is over. */
static bool
serve_reader(struct dataset_server *s, struct record_reader *g)
{
	bool reader = g->reader;
	int e = run_reader_conn(s, g);

	if (e == 0 && strangers_believe(&s->limits, g->conn, &g->stranger))
		e = trust_reader(s, g);
	if (e == 0)
		return true;
	if (reader)
		log_callback_line(s->o->say, s->o->arg, "%s", err_line());
	else
		note_stranger(s, g, err_line());
	close_reader(s, g);
	return false;
}

/* Adds a connection, and runs it; if there are too many strangers, closes one. */
static void
add_reader(struct dataset_server *s, struct conn *c)
{
	struct record_reader *g = s->n < DATASET_SERVER_READERS ? calloc(1, sizeof(*g)) : NULL;

	if (g == NULL || (g->read.sender = dataset_sender_new(s->o->recs, s->id, s->o->classes)) == NULL) {
		free(g);
		conn_close(c);
		return;
	}
	if (strangers_full(&s->limits))
		evict_stranger(s);
	g->conn = c;
	add_stranger(s, g, DATASET_SERVER_OPEN_S);
	g->events = conn_events(c);
	g->poll = s->poll_strangers;
	s->n++;
	if (set_poll_events(g->poll, EPOLL_CTL_ADD, conn_fd(c), g->events, g) < 0)
		close_reader(s, g);
	else
		serve_reader(s, g);
}

static void
accept_readers(struct dataset_server *s)
{
	struct conn *c;
	int e = 1;

	for (int i = 0; i < STRANGERS_BATCH && e > 0; i++) {
		if (!strangers_may(&s->limits, STRANGERS_ACCEPT)) {
			set_accepting(s, false, strangers_wait_s(&s->limits));
			return;
		}
		if ((e = strangers_take(&s->limits, s->fd, s->o->key, CONN_READER, &c)) > 0)
			add_reader(s, c);
	}
	if (e < 0)
		set_accepting(s, false, PAUSE_MS * 1e-3);
}

/* Runs the strangers that have something to read, as far as they may cost something. */
static void
serve_strangers(struct dataset_server *s)
{
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(s->poll_strangers, ev, EVENTS, 0);

	while (n > 0) {
		int first = 0;
		struct record_reader *g;

		if (!strangers_may(&s->limits, STRANGERS_TURN)) {
			set_hearing(s, false, strangers_wait_s(&s->limits));
			return;
		}
		for (int i = 1; i < n; i++)
			if (strangers_precedes(&s->limits, &((struct record_reader *)ev[i].data.ptr)->stranger,
			    &((struct record_reader *)ev[first].data.ptr)->stranger))
				first = i;
		g = ev[first].data.ptr;
		ev[first] = ev[--n];
		if (serve_reader(s, g) && !strangers_trust(&g->stranger))
			strangers_charge(&s->limits, STRANGERS_TURN);
	}
}

/* Sends what threads have read. */
static void
serve_reads(struct dataset_server *s)
{
	struct dataset_reads done = STAILQ_HEAD_INITIALIZER(done);
	struct dataset_read *r;

	dataset_read_pool_collect(s->pool, &done);
	while ((r = STAILQ_FIRST(&done)) != NULL) {
		struct record_reader *g = (struct record_reader *)r;

		STAILQ_REMOVE_HEAD(&done, link);
		g->reading = false;
		if (g->conn != NULL) {
			serve_reader(s, g);
		} else {
			TAILQ_REMOVE(&s->closed, g, link);
			free_peer(s, g);
		}
	}
}

static int
run_dataset_loop(struct dataset_server *s)
{
	struct epoll_event ev[EVENTS];

	for (;;) {
		int n = epoll_wait(s->poll, ev, EVENTS, close_expired_readers(s));
		bool read = false;	/* records, which may close peers that other events are of */
		bool strangers = false;	/* likewise */

		for (int i = 0; i < n; i++)
			if (ev[i].data.ptr == s)
				return err_fail(ERR_STOP, "stopped on request");
		for (int i = 0; i < n; i++)
			if (ev[i].data.ptr == s->pool)
				read = true;
			else if (ev[i].data.ptr == &s->poll_strangers)
				strangers = true;
			else if (ev[i].data.ptr != &s->fd)
				serve_reader(s, ev[i].data.ptr);
		if (read)
			serve_reads(s);
		if (strangers)
			serve_strangers(s);
		for (int i = 0; i < n; i++)
			if (ev[i].data.ptr == &s->fd)
				accept_readers(s);
	}
}

/* Waits for the reads in progress, whose memory is lent, and says so if that takes long. */
static void
end_reads(struct dataset_server *s)
{
	struct pollfd p = { .events = POLLIN };
	int timeout = READS_END_MS;

	if (TAILQ_EMPTY(&s->closed))
		return;
	dataset_read_pool_cancel(s->pool);
	p.fd = dataset_read_pool_fd(s->pool);
	while (!TAILQ_EMPTY(&s->closed)) {
		if (poll(&p, 1, timeout) == 0) {
			log_callback_line(s->o->say, s->o->arg, "waiting for a read of %s, which does not end",
			    s->o->recs->path);
			timeout = -1;
		}
		serve_reads(s);
	}
}

static int
open_dataset_server(struct dataset_server *s)
{
	char where[ADDR_TEXT];

	ERR_TRY(addr_listen(s->o->listen, &s->fd, where));
	ERR_TRY(recid_of(s->o->recs, &s->id));
	if ((s->poll = epoll_create1(EPOLL_CLOEXEC)) < 0 || (s->poll_strangers = epoll_create1(EPOLL_CLOEXEC)) < 0)
		return err_sys("epoll");
	ERR_TRY(dataset_read_pool_new(READ_THREADS, &s->pool));
	ERR_TRY(set_poll_events(s->poll, EPOLL_CTL_ADD, dataset_read_pool_fd(s->pool), POLLIN, s->pool));
	ERR_TRY(set_poll_events(s->poll, EPOLL_CTL_ADD, s->fd, POLLIN, &s->fd));
	ERR_TRY(set_poll_events(s->poll, EPOLL_CTL_ADD, s->poll_strangers, POLLIN, &s->poll_strangers));
	ERR_TRY(set_poll_events(s->poll, EPOLL_CTL_ADD, s->o->stop_fd, POLLIN, s));
	s->o->listening(s->o->arg, where);
	return 0;
}

int
dataset_server_run(const struct dataset_server_opt *opt, struct dataset_server_sums *sums)
{
	struct dataset_server s = { .o = opt, .sums = sums, .fd = -1, .poll = -1, .poll_strangers = -1, .limits = {
	    .most = DATASET_SERVER_STRANGERS, .times = STRANGERS_OPEN, .burst_s = BURST_S,
	    .say = opt->say, .arg = opt->arg } };
	struct record_reader *g;
	int e;

	*sums = (struct dataset_server_sums){ 0 };
	TAILQ_INIT(&s.strangers);
	TAILQ_INIT(&s.readers);
	TAILQ_INIT(&s.closed);
	if ((e = open_dataset_server(&s)) == 0)
		e = run_dataset_loop(&s);
	strangers_end(&s.limits);
	while ((g = TAILQ_FIRST(&s.strangers)) != NULL || (g = TAILQ_FIRST(&s.readers)) != NULL) {
		s.sums->strangers += !g->reader && !g->refused;
		close_reader(&s, g);
	}
	end_reads(&s);
	dataset_read_pool_free(s.pool);
	if (s.fd >= 0)
		close(s.fd);
	if (s.poll >= 0)
		close(s.poll);
	if (s.poll_strangers >= 0)
		close(s.poll_strangers);
	return e;
}
