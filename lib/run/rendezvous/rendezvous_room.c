/* rendezvous_room - the scheduler's end of meet: who has come, with which rank, and what they are told. */
#include "run/rendezvous/rendezvous.h"

#include "base/buf.h"
#include "base/err.h"
#include "wire/conn.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGERS 64u	/* connections that have not joined */
#define JOIN_S	  10.0	/* that one may take to */
#define TICK_MS	  200

/* A connection, and the place of the job that it has taken. */
struct guest {
	struct conn	*conn;
	uint32_t	 place;		/* or RENDEZVOUS_ANY: has not joined */
};

/* A server's or worker's place: servers first. */
struct place {
	bool		 here, came;	/* is connected; ever was */
	bool		 told;		/* where the servers are */
	char		 at[ADDR_TEXT];	/* a server's; "": does not listen yet */
};

struct room {
	const struct rendezvous_opt *o;
	const struct rendezvous_env *env;
	int		 fd;
	bool		 deaf;		/* for a turn: the system had no descriptor to give */
	struct guest	*guest;		/* [most] */
	uint32_t	 n, most, strangers;
	struct place	*place;		/* [places] */
	uint32_t	 places;
	struct pollfd	*poll;		/* [most + 2] */
};

static int
tell(struct guest *g, uint16_t type, const char *text)
{
	return conn_send(g->conn, &(struct msg){ .type = type, .payload = text, .len = (uint32_t)strlen(text) });
}

/* The place for who joins, or why there is none. */
static uint32_t
find_place(const struct room *r, const struct rendezvous_word *w, char why[RENDEZVOUS_TEXT])
{
	uint32_t first = w->role == RENDEZVOUS_SERVER ? 0 : r->env->servers;
	uint32_t n = w->role == RENDEZVOUS_SERVER ? r->env->servers : r->env->workers;
	const char *role = w->role == RENDEZVOUS_SERVER ? "server" : "worker";

	*why = 0;
	if (strcmp(w->tally, TALLY_VERSION) != 0)
		snprintf(why, RENDEZVOUS_TEXT, "tally is %s there and %s here", w->tally, TALLY_VERSION);
	else if (w->workers != r->env->workers || w->servers != r->env->servers)
		snprintf(why, RENDEZVOUS_TEXT, "%" PRIu32 " workers and %" PRIu32 " servers there, %" PRIu32 " and %" PRIu32 " here",
		    w->workers, w->servers, r->env->workers, r->env->servers);
	else if (w->rank != RENDEZVOUS_ANY && w->rank >= n)
		snprintf(why, RENDEZVOUS_TEXT, "there is no %s %" PRIu32, role, w->rank);
	else if (w->rank != RENDEZVOUS_ANY && r->place[first + w->rank].here)
		snprintf(why, RENDEZVOUS_TEXT, "%s %" PRIu32 " is here already", role, w->rank);
	if (*why != 0)
		return RENDEZVOUS_ANY;
	if (w->rank != RENDEZVOUS_ANY)
		return first + w->rank;
	for (uint32_t i = first; i < first + n; i++)
		if (!r->place[i].here && !r->place[i].came)
			return i;
	for (uint32_t i = first; i < first + n; i++)
		if (!r->place[i].here)
			return i;
	snprintf(why, RENDEZVOUS_TEXT, "all %ss are here already", role);
	return RENDEZVOUS_ANY;
}

static int
take_join(struct room *r, struct guest *g, const struct rendezvous_word *w)
{
	char text[RENDEZVOUS_TEXT];
	uint32_t at = g->place != RENDEZVOUS_ANY ? RENDEZVOUS_ANY : find_place(r, w, text);

	if (at == RENDEZVOUS_ANY) {
		if (g->place != RENDEZVOUS_ANY)
			return err_fail(ERR_FORMAT, "joins twice");
		r->o->say(r->o->arg, text);
		return tell(g, MSG_REFUSE, text);
	}
	g->place = at;
	r->strangers--;
	r->place[at] = (struct place){ .here = true, .came = true };
	snprintf(text, sizeof(text), "rank %" PRIu32, at < r->env->servers ? at : at - r->env->servers);
	return tell(g, MSG_WELCOME, text);
}

static int
take(struct room *r, struct guest *g, const struct msg *m)
{
	struct rendezvous_word w;
	int e;

	if (m->type != MSG_HELLO)
		return err_fail(ERR_FORMAT, "%s is not for a scheduler", msg_name(m->type));
	if ((e = rendezvous_parse(m->payload, m->len, &w)) < 0)
		return e;
	if (w.join)
		return take_join(r, g, &w);
	if (g->place == RENDEZVOUS_ANY || g->place >= r->env->servers)
		return err_fail(ERR_FORMAT, "an address of who is no server");
	memcpy(r->place[g->place].at, w.at, sizeof(w.at));
	return 0;
}

/* When all servers listen, each worker is told where, once. */
static int
tell_workers(struct room *r)
{
	struct buf list = { 0 };
	int e = buf_put_fmt(&list, "servers ");

	for (uint32_t i = 0; i < r->env->servers; i++) {
		if (r->place[i].at[0] == 0) {
			buf_free(&list);
			return 0;
		}
		if (e == 0)
			e = buf_put_fmt(&list, "%s%s", i > 0 ? "," : "", r->place[i].at);
	}
	if (e == 0)
		e = buf_terminate(&list);
	for (uint32_t i = 0; i < r->n && e == 0; i++) {
		uint32_t at = r->guest[i].place;

		if (at != RENDEZVOUS_ANY && at >= r->env->servers && !r->place[at].told) {
			r->place[at].told = true;
			e = tell(&r->guest[i], MSG_WELCOME, (char *)list.p);
		}
	}
	buf_free(&list);
	return e == ERR_NOMEM ? e : 0;
}

static void
drop(struct room *r, uint32_t i)
{
	struct guest *g = &r->guest[i];

	if (g->place != RENDEZVOUS_ANY)
		r->place[g->place].here = false;
	else
		r->strangers--;
	conn_close(g->conn);
	*g = r->guest[--r->n];
}

static void
run_guest(struct room *r, uint32_t i)
{
	struct guest *g = &r->guest[i];
	struct msg m;
	int e = conn_run(g->conn);

	while (e == 0 && conn_next(g->conn, &m) > 0)
		e = take(r, g, &m);
	if (e == 0 && g->place == RENDEZVOUS_ANY && conn_age_s(g->conn) > JOIN_S)
		e = ERR_PEER;
	if (e == 0)
		return;
	if (e != ERR_PEER)
		r->o->say(r->o->arg, err_line());
	drop(r, i);
}

static void
let_in(struct room *r)
{
	int fd = accept4(r->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		r->deaf = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
		return;
	}
	r->guest[r->n] = (struct guest){ .place = RENDEZVOUS_ANY };
	if (conn_take(fd, r->o->key, &r->guest[r->n].conn) == 0) {
		r->n++;
		r->strangers++;
	}
}

static bool
over(const struct room *r)
{
	for (uint32_t i = 0; i < r->places; i++)
		if (!r->place[i].came || r->place[i].here)
			return false;
	return true;
}

static int
turn(struct room *r)
{
	bool room = r->n < r->most && r->strangers < STRANGERS && !r->deaf;

	r->poll[0] = (struct pollfd){ .fd = r->o->stop_fd, .events = POLLIN };
	r->poll[1] = (struct pollfd){ .fd = room ? r->fd : -1, .events = POLLIN };
	for (uint32_t i = 0; i < r->n; i++)
		r->poll[i + 2] = (struct pollfd){ .fd = conn_fd(r->guest[i].conn), .events = conn_events(r->guest[i].conn) };
	if (poll(r->poll, r->n + 2, TICK_MS) < 0 && errno != EINTR)
		return err_sys("poll");
	r->deaf = false;
	if (r->poll[0].revents != 0)
		return ERR_STOP;
	/* From the end: the last takes the place of one that goes. */
	for (uint32_t i = r->n; i-- > 0;)
		run_guest(r, i);
	if (r->poll[1].revents != 0)
		let_in(r);
	return tell_workers(r);
}

int
rendezvous_run(const struct rendezvous_opt *o)
{
	struct room r = { .o = o, .env = o->env, .fd = -1, .places = o->env->servers + o->env->workers };
	char where[ADDR_TEXT];
	int e;

	r.most = r.places + STRANGERS;
	r.guest = calloc(r.most, sizeof(*r.guest));
	r.place = calloc(r.places, sizeof(*r.place));
	r.poll = calloc((size_t)r.most + 2, sizeof(*r.poll));
	if (r.guest == NULL || r.place == NULL || r.poll == NULL)
		e = err_nomem();
	else
		e = addr_listen(o->env->at, &r.fd, where);
	while (e == 0 && !over(&r))
		e = turn(&r);
	while (r.n > 0)
		drop(&r, r.n - 1);
	if (r.fd >= 0)
		close(r.fd);
	free(r.guest);
	free(r.place);
	free(r.poll);
	return e;
}
