/* dataset_client - the records of another host as a struct recs, over one connection. */
#include "dataset/dataset_client.h"
#include "base/clk.h"
#include "base/err.h"
#include "base/threads.h"
#include "dataset/dataset_reader.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define RETRY_MS	50		/* first pause between attempts, which doubles each time */
/* Fractions of timeout_s, 1/N. */
#define RETRY_MOST	30		/* longest pause between attempts */
#define SILENT		4		/* longest silence of a connection */
#define REPORT_FIRST	60		/* wait before the first report of it */
#define REPORT		6		/* wait between reports */

struct dataset_client {
	struct recs	 recs;
	char		 addr[ADDR_TEXT];
	struct dataset_client_opt o;
	pthread_t	 thread;
	bool		 running;
	int		 wake;		/* eventfd */

	/* Under the lock: */
	pthread_mutex_t	 lock;
	pthread_cond_t	 arrived;
	struct dataset_reader	*reader;
	bool		 described;	/* count and id of the records are known, and the names of the classes: */
	struct buf	 classes;	/* as CLASSES has them; list_classes() may use them without the lock */
	bool		 asleep;	/* the thread polls and has to be woken */
	bool		 end;
	int		 err;		/* the error that ended the thread, or 0 */
	char		 line[ERR_LINE];	/* its line */

	/* Of the thread alone: */
	struct conn	*conn;		/* NULL: none */
	bool		 named, holds;	/* the server has sent all CLASSES, and HOLDS, on this connection */
	struct buf	 names;		/* the CLASSES of this connection so far */
	double		 dialled;
	double		 heard;		/* the last time that a message arrived or none was due */
	double		 reported;
	int		 retry_ms;
};

bool
dataset_client_is_addr(const char *text)
{
	char host[ADDR_TEXT], port[8];

	return addr_split(text, host, port) == 0 && access(text, F_OK) != 0;
}

/* With the lock: wakes the thread if it can send a request. */
static void
wake_client_thread(struct dataset_client *c)
{
	uint64_t one = 1;

	if (!c->asleep || !dataset_reader_ready(c->reader))
		return;
	c->asleep = false;
	(void)!write(c->wake, &one, sizeof(one));	/* fails only if a wake is pending already */
}

static void
report_server_wait(struct dataset_client *c)
{
	double now = clk_s();
	char whom[ADDR_TEXT + 32];

	if (c->o.waiting == NULL || now - c->heard < c->o.timeout_s / REPORT_FIRST ||
	    now - c->reported < c->o.timeout_s / REPORT)
		return;
	c->reported = now;
	snprintf(whom, sizeof(whom), "the records of %s", c->addr);
	c->o.waiting(c->o.arg, whom);
}

/* Waits until the connection is ready, another thread wakes this one, or the time is over. */
static void
wait_for_server(struct dataset_client *c, int timeout_ms)
{
	struct pollfd f[2] = { { .fd = c->wake, .events = POLLIN }, { .fd = -1 } };
	const double until = clk_s() + timeout_ms * 1e-3;
	uint64_t count;

	if (c->conn != NULL)
		f[1] = (struct pollfd){ .fd = conn_fd(c->conn), .events = conn_events(c->conn) };
	poll(f, 2, timeout_ms);
	/* What the server sent may be there, unread: its time begins again. */
	if (clk_stopped(until))
		c->heard = clk_s();
	if (f[0].revents != 0)
		(void)!read(c->wake, &count, sizeof(count));
}

static int
handle_classes(struct dataset_client *c, const struct msg *m)
{
	int e;

	if ((e = dataset_msg_classes(m, &c->names)) <= 0)
		return e;
	c->named = true;
	if (c->described && (c->names.n != c->classes.n || memcmp(c->names.p, c->classes.p, c->names.n) != 0))
		return err_fail(ERR_FORMAT, "has other names of classes than before");
	if (!c->described) {
		buf_free(&c->classes);
		c->classes = c->names;
		c->names = (struct buf){ 0 };
	}
	buf_free(&c->names);
	return 0;
}

static int
handle_holds(struct dataset_client *c, const struct msg *m)
{
	uint64_t count, id;

	ERR_TRY(dataset_msg_holds(m, &count, &id));
	if (c->described && (count != c->recs.count || id != c->recs.id))
		return err_fail(ERR_FORMAT, "has other records than before");
	c->recs.count = count;
	c->recs.id = id;
	c->described = c->holds = true;
	pthread_cond_broadcast(&c->arrived);
	return 0;
}

static int
handle_server_msg(struct dataset_client *c, const struct msg *m)
{
	char why[ERR_LINE];
	bool claimed = false;
	int e;

	switch (m->type) {
	case MSG_CLASSES:
		if (!c->named)
			return handle_classes(c, m);
		break;
	case MSG_HOLDS:
		if (c->named)
			return handle_holds(c, m);
		break;
	case MSG_RECORD:
		if ((e = dataset_reader_receive(c->reader, m, &claimed)) == 0 && claimed)
			pthread_cond_broadcast(&c->arrived);
		return e;
	case MSG_REFUSE:
		msg_reason(m, why);
		return err_fail(ERR_AUTH, "refuses: %s", why);
	default:
		break;
	}
	return err_fail(ERR_FORMAT, "%s out of place", msg_name(m->type));
}

static int
send_requests(struct dataset_client *c)
{
	struct msg m;
	int e = 0;

	pthread_mutex_lock(&c->lock);
	c->asleep = true;
	while (e == 0 && c->holds && dataset_reader_next(c->reader, &m))
		e = conn_send(c->conn, &m);
	pthread_mutex_unlock(&c->lock);
	return e;
}

/* Handles all messages received, *n of them. */
static int
receive_records(struct dataset_client *c, unsigned *n)
{
	struct msg m;
	int e = 0;

	pthread_mutex_lock(&c->lock);
	for (*n = 0; e == 0 && conn_next(c->conn, &m); ++*n)
		e = handle_server_msg(c, &m);
	if (*n > 0 || (c->described && !dataset_reader_waits(c->reader)))
		c->heard = clk_s();
	pthread_mutex_unlock(&c->lock);
	return err_wrap(e, "%s", c->addr);
}

static int
dial_server(struct dataset_client *c)
{
	ERR_TRY(err_wrap(conn_dial(c->addr, c->o.key, CONN_READER, &c->conn), "%s", c->addr));
	c->named = c->holds = false;
	c->names.n = 0;
	c->dialled = clk_s();
	return conn_send(c->conn, &(struct msg){ .type = MSG_OPEN });
}

/* Runs the connection once and waits for more.  Returns 0 or the error that ended it. */
static int
run_server_conn(struct dataset_client *c)
{
	double silent, most = c->o.timeout_s / SILENT;
	unsigned n;

	if (c->conn == NULL)
		ERR_TRY(dial_server(c));
	ERR_TRY(send_requests(c));
	ERR_TRY(conn_run(c->conn));
	ERR_TRY(receive_records(c, &n));
	if (n > 0) {
		c->retry_ms = RETRY_MS;
		return 0;
	}
	silent = clk_s() - fmax(c->heard, c->dialled);
	if (silent >= most)
		return err_fail(ERR_PEER, "%s: no answer", c->addr);
	report_server_wait(c);
	wait_for_server(c, (int)ceil(fmin(most - silent, c->o.timeout_s / REPORT_FIRST) * 1e3));
	return 0;
}

/* Closes a connection that ended with e, and pauses.  Returns 0 if the client may connect again. */
static int
end_server_conn(struct dataset_client *c, int e)
{
	char why[ERR_LINE];

	snprintf(why, sizeof(why), "%s", err_line());
	conn_close(c->conn);
	c->conn = NULL;
	pthread_mutex_lock(&c->lock);
	c->asleep = false;
	dataset_reader_lost(c->reader);
	if (c->described && !dataset_reader_waits(c->reader))
		c->heard = clk_s();
	pthread_mutex_unlock(&c->lock);
	if (e != ERR_PEER && e != ERR_SYS)
		return err_fail(e, "%s", why);
	if (clk_s() - c->heard >= c->o.timeout_s)
		return err_fail(ERR_PEER, "%s; nothing received for %g s", why, c->o.timeout_s);
	report_server_wait(c);
	wait_for_server(c, c->retry_ms);
	c->retry_ms = (int)fmin(c->retry_ms * 2, c->o.timeout_s * 1e3 / RETRY_MOST);
	return 0;
}

static void *
run_client_thread(void *arg)
{
	struct dataset_client *c = arg;
	bool end = false;
	int e = 0;

	c->heard = clk_s();
	while (e == 0 && !end) {
		if ((e = run_server_conn(c)) < 0)
			e = end_server_conn(c, e);
		pthread_mutex_lock(&c->lock);
		end = c->end;
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_lock(&c->lock);
	c->err = e;
	snprintf(c->line, sizeof(c->line), "%s", err_line());
	pthread_cond_broadcast(&c->arrived);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static int
get_client_error(const struct dataset_client *c)
{
	if (c->err < 0)
		err_note(0, "%s", c->line);
	return c->err;
}

static int
read_record(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n)
{
	struct dataset_client *c = (struct dataset_client *)(uintptr_t)r;
	struct dataset_reader_item *it;
	int e = 0;

	pthread_mutex_lock(&c->lock);
	if ((it = dataset_reader_claim(c->reader, i)) == NULL)
		e = err_nomem();
	wake_client_thread(c);
	while (e == 0 && (e = get_client_error(c)) == 0 && (e = dataset_reader_take(c->reader, it, room)) == 0)
		pthread_cond_wait(&c->arrived, &c->lock);
	if (e > 0)
		wake_client_thread(c);	/* now there is room for more */
	pthread_mutex_unlock(&c->lock);
	*data = room->p;
	*n = room->n;
	if (e == ERR_FORMAT && c->err == 0)
		err_within("%s", c->addr);
	return e > 0 ? 0 : e;
}

static void
name_remote_record(const struct recs *r, uint64_t i, char *text, size_t size)
{
	snprintf(text, size, "%s: record %llu", r->path, (unsigned long long)i);
}

static void
want_record(const struct recs *r, uint64_t i)
{
	struct dataset_client *c = (struct dataset_client *)(uintptr_t)r;

	pthread_mutex_lock(&c->lock);
	dataset_reader_want(c->reader, i);
	wake_client_thread(c);
	pthread_mutex_unlock(&c->lock);
}

static void
forget_records(const struct recs *r)
{
	struct dataset_client *c = (struct dataset_client *)(uintptr_t)r;

	pthread_mutex_lock(&c->lock);
	dataset_reader_forget(c->reader);
	pthread_mutex_unlock(&c->lock);
}

static int
list_classes(const struct recs *r, struct names *l)
{
	struct dataset_client *c = (struct dataset_client *)(uintptr_t)r;

	return err_wrap(classes_parse(l, &c->classes), "%s", c->addr);
}

static void
close_client(struct recs *r)
{
	struct dataset_client *c = (struct dataset_client *)r;
	uint64_t one = 1;

	if (c->running) {
		pthread_mutex_lock(&c->lock);
		c->end = true;
		pthread_mutex_unlock(&c->lock);
		(void)!write(c->wake, &one, sizeof(one));
		pthread_join(c->thread, NULL);
	}
	conn_close(c->conn);
	dataset_reader_free(c->reader);
	buf_free(&c->classes);
	buf_free(&c->names);
	if (c->wake >= 0)
		close(c->wake);
	pthread_cond_destroy(&c->arrived);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Starts the thread, which blocks all signals, and waits for the server's description of the records. */
static int
start_client(struct dataset_client *c)
{
	int e;

	if ((c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		return err_sys("eventfd");
	if ((c->reader = dataset_reader_new(c->o.memory)) == NULL)
		return err_nomem();
	ERR_TRY(threads_start(&c->thread, run_client_thread, c));
	c->running = true;
	pthread_mutex_lock(&c->lock);
	while (!c->described && c->err == 0)
		pthread_cond_wait(&c->arrived, &c->lock);
	e = get_client_error(c);
	pthread_mutex_unlock(&c->lock);
	return e;
}

int
dataset_client_open(const struct dataset_client_opt *o, struct recs **r)
{
	struct dataset_client *c = calloc(1, sizeof(*c));
	char host[ADDR_TEXT], port[8];
	int e;

	*r = NULL;
	if (c == NULL)
		return err_nomem();
	c->recs = (struct recs){ .path = c->addr, .read = read_record, .name = name_remote_record, .want = want_record,
	    .forget = forget_records, .classes = list_classes, .remote = true, .close = close_client };
	c->o = *o;
	c->o.addr = c->addr;
	c->o.timeout_s = o->timeout_s > 0 ? o->timeout_s : DATASET_CLIENT_TIMEOUT_S;
	c->o.memory = o->memory > 0 ? o->memory : DATASET_CLIENT_MEMORY;
	c->retry_ms = RETRY_MS;
	c->wake = -1;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->arrived, NULL);
	if ((e = addr_split(o->addr, host, port)) == 0) {
		snprintf(c->addr, sizeof(c->addr), "%s", o->addr);
		e = start_client(c);
	}
	if (e < 0)
		close_client(&c->recs);
	else
		*r = &c->recs;
	return e;
}
