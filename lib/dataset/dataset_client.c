/* dataset_client - records that another host holds, as a struct recs: recask among threads and a connection. */
#include "dataset/dataset_client.h"
#include "base/clk.h"
#include "base/err.h"
#include "dataset/dataset_reader.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define RETRY_MS	50		/* between the first two attempts; then twice as long each time ... */
/* Parts of the patience. */
#define RETRY_MOST	30		/* ... up to this */
#define SILENT		4		/* that a connection may be silent */
#define TELL_FIRST	60		/* of waiting, before the first line about it ... */
#define TELL		6		/* ... and between two of them */

struct recpull {
	struct recs	 recs;
	char		 addr[ADDR_TEXT];
	struct dataset_client_opt o;
	uint8_t		 key[CONN_KEY];
	pthread_t	 thread;
	bool		 running;
	int		 wake;		/* eventfd */

	pthread_mutex_t	 lock;		/* of what follows */
	pthread_cond_t	 came;
	struct dataset_reader	*ask;
	bool		 known;		/* count and id */
	bool		 asleep;	/* the thread polls and has to be woken */
	bool		 end;
	int		 err;		/* that ended it, and its line */
	char		 line[512];

	struct conn	*conn;		/* the thread's own, as what follows; NULL: none */
	bool		 holds;		/* it has said what it holds */
	double		 dialled;
	double		 heard;		/* when something came last, or nothing was waited for */
	double		 told;
	int		 retry_ms;
};

bool
dataset_client_is_addr(const char *text)
{
	char host[ADDR_TEXT], port[8];

	return addr_split(text, host, port) == 0 && access(text, F_OK) != 0;
}

/* With the lock: the thread asks for what can be asked for now. */
static void
rouse(struct recpull *p)
{
	uint64_t one = 1;

	if (!p->asleep || !dataset_reader_ready(p->ask))
		return;
	p->asleep = false;
	(void)!write(p->wake, &one, sizeof(one));	/* it fails only when a wake is pending already */
}

/* Tells for whom it waits, when it has for a while. */
static void
tell(struct recpull *p)
{
	double now = clk_s();
	char whom[ADDR_TEXT + 32];

	if (p->o.waiting == NULL || now - p->heard < p->o.patience_s / TELL_FIRST ||
	    now - p->told < p->o.patience_s / TELL)
		return;
	p->told = now;
	snprintf(whom, sizeof(whom), "the records of %s", p->addr);
	p->o.waiting(p->o.arg, whom);
}

/* Until the connection can be run, it is woken, or the time is over. */
static void
rest(struct recpull *p, int timeout_ms)
{
	struct pollfd f[2] = { { .fd = p->wake, .events = POLLIN }, { .fd = -1 } };
	uint64_t count;

	if (p->conn != NULL)
		f[1] = (struct pollfd){ .fd = conn_fd(p->conn), .events = conn_events(p->conn) };
	poll(f, 2, timeout_ms);
	if (f[0].revents != 0)
		(void)!read(p->wake, &count, sizeof(count));
}

static int
take_holds(struct recpull *p, const struct msg *m)
{
	uint64_t count, id;
	int e;

	if ((e = dataset_msg_holds(m, &count, &id)) < 0)
		return e;
	if (p->known && (count != p->recs.count || id != p->recs.id))
		return err_fail(ERR_FORMAT, "has other records than before");
	p->recs.count = count;
	p->recs.id = id;
	p->known = p->holds = true;
	pthread_cond_broadcast(&p->came);
	return 0;
}

static int
take(struct recpull *p, const struct msg *m)
{
	char why[MSG_REASON];
	bool claimed = false;
	int e;

	switch (m->type) {
	case MSG_HOLDS:
		return take_holds(p, m);
	case MSG_RECORD:
		if ((e = dataset_reader_come(p->ask, m, &claimed)) == 0 && claimed)
			pthread_cond_broadcast(&p->came);
		return e;
	case MSG_REFUSE:
		msg_reason(m, why);
		return err_fail(ERR_AUTH, "refuses: %s", why);
	default:
		return err_fail(ERR_FORMAT, "%s out of place", msg_name(m->type));
	}
}

/* Asks for what is wanted. */
static int
ask(struct recpull *p)
{
	struct msg m;
	int e = 0;

	pthread_mutex_lock(&p->lock);
	p->asleep = true;
	while (e == 0 && p->holds && dataset_reader_next(p->ask, &m))
		e = conn_send(p->conn, &m);
	pthread_mutex_unlock(&p->lock);
	return e;
}

/* Takes what came; *n says how many messages. */
static int
take_all(struct recpull *p, unsigned *n)
{
	struct msg m;
	int e = 0;

	pthread_mutex_lock(&p->lock);
	for (*n = 0; e == 0 && conn_next(p->conn, &m); ++*n)
		e = take(p, &m);
	if (*n > 0 || (p->known && !dataset_reader_waits(p->ask)))
		p->heard = clk_s();
	pthread_mutex_unlock(&p->lock);
	if (e < 0)
		err_within("%s", p->addr);
	return e;
}

static int
dial(struct recpull *p)
{
	int e = conn_dial(p->addr, p->key, &p->conn);

	if (e < 0)
		return err_within("%s", p->addr), e;
	p->holds = false;
	p->dialled = clk_s();
	return conn_send(p->conn, &(struct msg){ .type = MSG_OPEN });
}

/* Runs the connection for a while: 0, or what ended it. */
static int
serve(struct recpull *p)
{
	double silent, most = p->o.patience_s / SILENT;
	unsigned n;
	int e;

	if (p->conn == NULL && (e = dial(p)) < 0)
		return e;
	if ((e = ask(p)) < 0 || (e = conn_run(p->conn)) < 0 || (e = take_all(p, &n)) < 0)
		return e;
	if (n > 0) {
		p->retry_ms = RETRY_MS;
		return 0;
	}
	silent = clk_s() - fmax(p->heard, p->dialled);
	if (silent >= most)
		return err_fail(ERR_PEER, "%s: no answer", p->addr);
	tell(p);
	rest(p, (int)ceil(fmin(most - silent, p->o.patience_s / TELL_FIRST) * 1e3));
	return 0;
}

/* The connection is over by e: 0 when it may be tried again, after a moment. */
static int
part(struct recpull *p, int e)
{
	char why[sizeof(p->line)];

	snprintf(why, sizeof(why), "%s", err_line());
	conn_close(p->conn);
	p->conn = NULL;
	pthread_mutex_lock(&p->lock);
	p->asleep = false;
	dataset_reader_lost(p->ask);
	if (p->known && !dataset_reader_waits(p->ask))
		p->heard = clk_s();
	pthread_mutex_unlock(&p->lock);
	if (e != ERR_PEER && e != ERR_SYS)
		return err_fail(e, "%s", why);
	if (clk_s() - p->heard >= p->o.patience_s)
		return err_fail(ERR_PEER, "%s; nothing came for %g s", why, p->o.patience_s);
	tell(p);
	rest(p, p->retry_ms);
	p->retry_ms = (int)fmin(p->retry_ms * 2, p->o.patience_s * 1e3 / RETRY_MOST);
	return 0;
}

static void *
run(void *arg)
{
	struct recpull *p = arg;
	bool end = false;
	int e = 0;

	p->heard = clk_s();
	while (e == 0 && !end) {
		if ((e = serve(p)) < 0)
			e = part(p, e);
		pthread_mutex_lock(&p->lock);
		end = p->end;
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_lock(&p->lock);
	p->err = e;
	snprintf(p->line, sizeof(p->line), "%s", err_line());
	pthread_cond_broadcast(&p->came);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int
broken(const struct recpull *p)
{
	if (p->err < 0)
		err_note(0, "%s", p->line);
	return p->err;
}

static int
read_record(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n)
{
	struct recpull *p = (struct recpull *)(uintptr_t)r;
	struct dataset_reader_item *it;
	int e = 0;

	pthread_mutex_lock(&p->lock);
	if ((it = dataset_reader_claim(p->ask, i)) == NULL)
		e = err_nomem();
	rouse(p);
	while (e == 0 && (e = broken(p)) == 0 && (e = dataset_reader_take(p->ask, it, room)) == 0)
		pthread_cond_wait(&p->came, &p->lock);
	if (e > 0)
		rouse(p);	/* there is room for more */
	pthread_mutex_unlock(&p->lock);
	*data = room->p;
	*n = room->n;
	if (e == ERR_FORMAT && p->err == 0)
		err_within("%s", p->addr);
	return e > 0 ? 0 : e;
}

static void
name_record(const struct recs *r, uint64_t i, char *text, size_t size)
{
	snprintf(text, size, "%s: record %llu", r->path, (unsigned long long)i);
}

static void
want(const struct recs *r, uint64_t i)
{
	struct recpull *p = (struct recpull *)(uintptr_t)r;

	pthread_mutex_lock(&p->lock);
	dataset_reader_want(p->ask, i);
	rouse(p);
	pthread_mutex_unlock(&p->lock);
}

static void
forget(const struct recs *r)
{
	struct recpull *p = (struct recpull *)(uintptr_t)r;

	pthread_mutex_lock(&p->lock);
	dataset_reader_forget(p->ask);
	pthread_mutex_unlock(&p->lock);
}

static void
close_pull(struct recs *r)
{
	struct recpull *p = (struct recpull *)r;
	uint64_t one = 1;

	if (p->running) {
		pthread_mutex_lock(&p->lock);
		p->end = true;
		pthread_mutex_unlock(&p->lock);
		(void)!write(p->wake, &one, sizeof(one));
		pthread_join(p->thread, NULL);
	}
	conn_close(p->conn);
	dataset_reader_free(p->ask);
	if (p->wake >= 0)
		close(p->wake);
	pthread_cond_destroy(&p->came);
	pthread_mutex_destroy(&p->lock);
	explicit_bzero(p->key, sizeof(p->key));
	free(p);
}

/* Starts the thread, which takes no signals, and waits for what the holder says. */
static int
start(struct recpull *p)
{
	sigset_t all, old;
	int e;

	if ((p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		return err_sys("eventfd");
	if ((p->ask = dataset_reader_new(p->o.memory)) == NULL)
		return err_nomem();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	e = pthread_create(&p->thread, NULL, run, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (e != 0)
		return err_note(e, "a thread for the records"), ERR_SYS;
	p->running = true;
	pthread_mutex_lock(&p->lock);
	while (!p->known && p->err == 0)
		pthread_cond_wait(&p->came, &p->lock);
	e = broken(p);
	pthread_mutex_unlock(&p->lock);
	return e;
}

int
dataset_client_open(struct recs **r, const struct dataset_client_opt *o)
{
	struct recpull *p = calloc(1, sizeof(*p));
	char host[ADDR_TEXT], port[8];
	int e;

	*r = NULL;
	if (p == NULL)
		return err_nomem();
	p->recs = (struct recs){ .path = p->addr, .read = read_record, .name = name_record, .want = want,
	    .forget = forget, .close = close_pull };
	p->o = *o;
	p->o.addr = p->addr;
	p->o.key = p->key;
	p->o.patience_s = o->patience_s > 0 ? o->patience_s : DATASET_CLIENT_PATIENCE_S;
	p->o.memory = o->memory > 0 ? o->memory : DATASET_CLIENT_MEMORY;
	p->retry_ms = RETRY_MS;
	p->wake = -1;
	memcpy(p->key, o->key, sizeof(p->key));
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->came, NULL);
	if ((e = addr_split(o->addr, host, port)) == 0) {
		snprintf(p->addr, sizeof(p->addr), "%s", o->addr);
		e = start(p);
	}
	if (e < 0)
		close_pull(&p->recs);
	else
		*r = &p->recs;
	return e;
}
