/* dataset_server - records for other hosts: recgive among its connections, what im2rec --serve runs. */
#include "dataset/dataset_server.h"
#include "base/clk.h"
#include "base/err.h"
#include "wire/addr.h"
#include "wire/conn.h"
#include "record/recid.h"
#include "dataset/dataset_sender.h"

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
#define DEAF_MS	200		/* no new connections for so long when the system has none to give */
#define WHY	400		/* bytes of a reason */
#define LINGER_S 5.0		/* for which a reader that was refused may read why */

struct guest {
	TAILQ_ENTRY(guest) link;
	struct conn	*conn;
	struct dataset_sender	*give;		/* NULL: refused, and what it sends is dropped; it is a stranger again */
	bool		 reader;	/* said OPEN */
	short		 events;	/* that it is polled for */
	double		 until;		/* closed then; INFINITY for a reader */
};

TAILQ_HEAD(guests, guest);

struct recserve {
	const struct dataset_server_opt *o;
	struct dataset_server_sums *sums;
	uint64_t	 id;
	int		 fd, poll;	/* listens; epoll */
	bool		 deaf;		/* fd is not polled ... */
	double		 hear_at;	/* ... until then */
	struct guests	 strangers, readers;	/* strangers in the order of `until` */
	uint32_t	 n, nstrangers;
};

static int
watch(struct recserve *s, int how, int fd, short events, void *what)
{
	struct epoll_event ev = { .events = (uint32_t)events, .data.ptr = what };	/* EPOLLIN is POLLIN, and so on */

	return epoll_ctl(s->poll, how, fd, &ev) < 0 ? err_sys("epoll") : 0;
}

/* Strangers stand in the order in which their time is over. */
static void
list_stranger(struct recserve *s, struct guest *g, double seconds)
{
	struct guest *at;

	g->reader = false;
	g->until = clk_s() + seconds;
	TAILQ_FOREACH(at, &s->strangers, link)
		if (at->until > g->until)
			break;
	if (at != NULL)
		TAILQ_INSERT_BEFORE(at, g, link);
	else
		TAILQ_INSERT_TAIL(&s->strangers, g, link);
	s->nstrangers++;
}

/* Takes a guest off its list. */
static void
unlist(struct recserve *s, struct guest *g)
{
	TAILQ_REMOVE(g->reader ? &s->readers : &s->strangers, g, link);
	s->nstrangers -= !g->reader;
}

static void
leave(struct recserve *s, struct guest *g)
{
	s->sums->strangers += !g->reader && g->give != NULL;
	unlist(s, g);
	s->n--;
	conn_close(g->conn);
	dataset_sender_free(g->give);
	free(g);
}

/* Tells the reader why it is not served; it has a moment to read it, among the strangers. */
static int
refuse(struct recserve *s, struct guest *g)
{
	char why[WHY];
	struct msg m = { .type = MSG_REFUSE, .payload = why };

	snprintf(why, sizeof(why), "%s", err_line());
	log_callback_line(s->o->say, s->o->arg, "refused %s: %s", conn_peer(g->conn), why);
	unlist(s, g);
	list_stranger(s, g, LINGER_S);
	dataset_sender_free(g->give);
	g->give = NULL;
	m.len = (uint32_t)strlen(why);
	s->sums->sent += MSG_HEAD + m.len;
	return conn_send(g->conn, &m);
}

static void
welcome(struct recserve *s, struct guest *g)
{
	unlist(s, g);
	g->reader = true;
	g->until = (double)INFINITY;
	TAILQ_INSERT_TAIL(&s->readers, g, link);
	s->sums->readers++;
	log_callback_line(s->o->say, s->o->arg, "%s reads", conn_peer(g->conn));
}

static int
take(struct recserve *s, struct guest *g, const struct msg *m)
{
	int e;

	if (g->give == NULL)
		return 0;
	if ((e = dataset_sender_take(g->give, m)) < 0)
		return e == ERR_NOMEM ? e : refuse(s, g);
	if (!g->reader)
		welcome(s, g);
	return 0;
}

/* Hands records on as long as few bytes wait. */
static int
give(struct recserve *s, struct guest *g)
{
	struct msg m;
	int e = 0;

	while (g->give != NULL && conn_queued(g->conn) < DATASET_SERVER_AHEAD && (e = dataset_sender_next(g->give, &m)) > 0) {
		s->sums->sent += MSG_HEAD + m.len;
		s->sums->records += m.type == MSG_RECORD && m.slice + m.len == m.samples && m.flags == 0;
		if ((e = conn_send(g->conn, &m)) < 0)
			break;
	}
	return e < 0 ? e : 0;
}

/* Runs a guest's connection once: 0, or what ended it. */
static int
serve(struct recserve *s, struct guest *g)
{
	short events;
	struct msg m;
	int e;

	if ((e = conn_run(g->conn)) < 0)
		return e;
	while (conn_next(g->conn, &m))
		if ((e = take(s, g, &m)) < 0)
			return e;
	if ((e = give(s, g)) < 0)
		return e;
	events = conn_events(g->conn);
	if (events != g->events && (e = watch(s, EPOLL_CTL_MOD, conn_fd(g->conn), g->events = events, g)) < 0)
		return e;
	return 0;
}

/* A stranger has until then; where there are too many, the first goes now. */
static void
add(struct recserve *s, struct guest *g)
{
	if (s->nstrangers >= DATASET_SERVER_STRANGERS)
		leave(s, TAILQ_FIRST(&s->strangers));
	list_stranger(s, g, DATASET_SERVER_OPEN_S);
	g->events = conn_events(g->conn);
	s->n++;
	if (watch(s, EPOLL_CTL_ADD, conn_fd(g->conn), g->events, g) < 0)
		leave(s, g);
}

static void
listen_again(struct recserve *s, bool on)
{
	s->deaf = !on;
	s->hear_at = clk_s() + DEAF_MS * 1e-3;
	watch(s, EPOLL_CTL_MOD, s->fd, on ? POLLIN : 0, &s->fd);
}

static void
come_in(struct recserve *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct guest *g;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			listen_again(s, false);
		return;
	}
	if (s->n >= DATASET_SERVER_READERS || (g = calloc(1, sizeof(*g))) == NULL) {
		close(fd);
		return;
	}
	if ((g->give = dataset_sender_new(s->o->recs, s->id)) == NULL || conn_take(fd, s->o->key, &g->conn) < 0) {
		if (g->give == NULL)
			close(fd);
		dataset_sender_free(g->give);
		free(g);
		return;
	}
	add(s, g);
}

/* Closes whose time is over; returns for how long nothing may happen, -1 for ever. */
static int
sweep(struct recserve *s)
{
	double now = clk_s(), next = s->deaf ? s->hear_at : (double)INFINITY;
	struct guest *g;

	if (s->deaf && now >= s->hear_at)
		listen_again(s, true);
	while ((g = TAILQ_FIRST(&s->strangers)) != NULL && now >= g->until)
		leave(s, g);
	if (g != NULL && g->until < next)
		next = g->until;
	return isinf(next) ? -1 : (int)ceil(fmax(next - now, 0) * 1e3);
}

static void
run(struct recserve *s, struct guest *g)
{
	bool reader = g->reader;

	if (serve(s, g) == 0)
		return;
	if (reader)
		log_callback_line(s->o->say, s->o->arg, "%s", err_line());
	leave(s, g);
}

static int
loop(struct recserve *s)
{
	struct epoll_event ev[EVENTS];

	for (;;) {
		int n = epoll_wait(s->poll, ev, EVENTS, sweep(s));

		for (int i = 0; i < n; i++)
			if (ev[i].data.ptr == s)
				return err_fail(ERR_STOP, "stopped on request");
		for (int i = 0; i < n; i++)
			if (ev[i].data.ptr != &s->fd)
				run(s, ev[i].data.ptr);
		for (int i = 0; i < n; i++)
			if (ev[i].data.ptr == &s->fd)
				come_in(s);
	}
}

static int
prepare(struct recserve *s)
{
	char where[ADDR_TEXT];
	int e;

	if ((e = addr_listen(s->o->listen, &s->fd, where)) < 0 || (e = recid_of(s->o->recs, &s->id)) < 0)
		return e;
	if ((s->poll = epoll_create1(EPOLL_CLOEXEC)) < 0)
		return err_sys("epoll");
	if ((e = watch(s, EPOLL_CTL_ADD, s->fd, POLLIN, &s->fd)) < 0 ||
	    (e = watch(s, EPOLL_CTL_ADD, s->o->stop_fd, POLLIN, s)) < 0)
		return e;
	s->o->listening(s->o->arg, where);
	return 0;
}

int
dataset_server_run(const struct dataset_server_opt *opt, struct dataset_server_sums *sums)
{
	struct recserve s = { .o = opt, .sums = sums, .fd = -1, .poll = -1 };
	struct guest *g;
	int e;

	*sums = (struct dataset_server_sums){ 0 };
	TAILQ_INIT(&s.strangers);
	TAILQ_INIT(&s.readers);
	if ((e = prepare(&s)) == 0)
		e = loop(&s);
	while ((g = TAILQ_FIRST(&s.strangers)) != NULL || (g = TAILQ_FIRST(&s.readers)) != NULL)
		leave(&s, g);
	if (s.fd >= 0)
		close(s.fd);
	if (s.poll >= 0)
		close(s.poll);
	return e;
}
