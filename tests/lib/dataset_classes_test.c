/* dataset_classes_test - names of classes from a dataset server: in parts, again on each connection, and refusals of bad ones. */
#include "lib/ends.h"
#include "made.h"
#include "tap.h"

#include "dataset/dataset_client.h"
#include "dataset/dataset_sender.h"

#include <pthread.h>
#include <string.h>

#define MANY	60000u		/* names of 11 bytes and a newline: three parts */
#define SENT	4u		/* most messages on a connection */
#define CONNS	2

static const uint8_t key[CONN_KEY] = { 1, 2, 3 };
static const uint8_t id[8] = { 7 };

/* All names that a sender sends; *parts: in how many messages. */
static void
receive(const struct buf *names, struct buf *text, unsigned *parts, const char *what)
{
	struct made made = made_recs(40);
	struct dataset_sender *s = dataset_sender_new(&made.recs, 7, names);
	struct msg m;
	int e = 0;

	*parts = 0;
	is(dataset_sender_next(s, &m), 0, "%s: nothing is sent before OPEN", what);
	dataset_sender_take(s, &(struct msg){ .type = MSG_OPEN });
	while (e == 0 && dataset_sender_next(s, &m) == 1 && m.type == MSG_CLASSES && m.len <= DATASET_MSG_PART) {
		e = dataset_msg_classes(&m, text);
		++*parts;
	}
	is(e, 1, "%s: the last part is known as such", what);
	ok(dataset_sender_next(s, &m) == 1 && m.type == MSG_HOLDS, "%s: HOLDS follows", what);
	is(dataset_sender_next(s, &m), 0, "%s: nothing follows HOLDS", what);
	dataset_sender_free(s);
}

static void
test_parts(void)
{
	struct buf names = { 0 }, text = { 0 };
	unsigned parts;

	for (unsigned i = 0; i < MANY; i++)
		buf_put_fmt(&names, "class %05u\n", i);
	receive(&names, &text, &parts, "many names");
	is(parts, 3, "many names come in parts");
	ok(text.n == names.n && memcmp(text.p, names.p, text.n) == 0, "the parts are the names");
	text.n = 0;
	receive(&(struct buf){ 0 }, &text, &parts, "no names");
	is(parts, 1, "no names are one message");
	is(text.n, 0, "the message of no names is empty");
	buf_free(&names);
	buf_free(&text);
}

static void
refuses(const struct msg *m, size_t before, int code, const char *line)
{
	struct buf text = { 0 };

	buf_put(&text, "0123456789", before);
	is(dataset_msg_classes(m, &text), code, "refused: %s", line);
	is_str(err_line(), line, "the line says so");
	buf_free(&text);
}

static void
refuses_names(const char *p, size_t n, const char *line)
{
	refuses(&(struct msg){ .type = MSG_CLASSES, .samples = (uint32_t)n, .len = (uint32_t)n, .payload = p }, 0, ERR_FORMAT,
	    line);
}

static void
test_refusals(void)
{
	struct buf text = { 0 };

	refuses(&(struct msg){ .samples = NAMES_BYTES + 1, .len = 2, .payload = "a\n" }, 0, ERR_LIMIT,
	    "CLASSES: longer than 67108864 bytes");
	refuses(&(struct msg){ .samples = 2, .len = 4, .payload = "a\nb\n" }, 0, ERR_FORMAT, "CLASSES: 4 bytes at 0 of 2");
	refuses(&(struct msg){ .samples = 2 }, 0, ERR_FORMAT, "CLASSES: 0 bytes at 0 of 2");
	refuses(&(struct msg){ .slice = 4, .samples = 6, .len = 2, .payload = "b\n" }, 2, ERR_FORMAT,
	    "CLASSES: a part at 4 after 2 bytes");
	refuses(&(struct msg){ .samples = 6, .len = 2, .payload = "b\n" }, 2, ERR_FORMAT, "CLASSES: a part at 0 after 2 bytes");
	refuses_names("ant\nbee\nant\n", 12, "CLASSES: ant: listed twice");
	refuses_names("ant\n\nbee\n", 9, "CLASSES: line 2 is empty, and class 1 has no name");
	refuses_names("a\0t\nbee\n", 8, "CLASSES: a zero byte; save the names as UTF-8, not as UTF-16");
	refuses_names("\xe4\nbee\n", 6, "CLASSES: has a control character, or is not UTF-8");
	refuses_names("\33[2J\n\33[2J\n", 10, "CLASSES: has a control character, or is not UTF-8");
	refuses_names("ant\r\n", 5, "CLASSES: has a control character, or is not UTF-8");
	for (unsigned i = 0; i <= NAMES_MOST; i++)
		buf_put_fmt(&text, "%x\n", i);
	refuses(&(struct msg){ .samples = (uint32_t)text.n, .len = (uint32_t)text.n, .payload = text.p }, 0, ERR_LIMIT,
	    "CLASSES: more than 131072 names, or 67108864 bytes of them");
	buf_free(&text);
}

/* A server that sends these messages on its connections, one after the other, and closes all but the last. */
struct server {
	struct msg	 sent[CONNS][SENT];	/* up to one without a type */
	unsigned	 conns;
	int		 listener;
	char		 where[ADDR_TEXT];
	pthread_t	 thread;
};

/* Sends the messages up to HOLDS after OPEN, and the others after ASK; then closes, or waits until the peer does. */
static void
serve_one(struct server *s, const struct msg *sent, bool last)
{
	struct conn *c;
	struct msg m;
	unsigned i = 0;

	if (conn_take(ends_accept(s->listener), key, CONN_READER, &c) < 0)
		return;
	while (conn_run(c) == 0 && (last || i == 0 || conn_queued(c) > 0)) {
		struct pollfd p = { .fd = conn_fd(c) };

		while (conn_next(c, &m))
			for (bool held = false; !held && i < SENT && sent[i].type != 0; i++) {
				held = sent[i].type == MSG_HOLDS;
				conn_send(c, &sent[i]);
			}
		p.events = conn_events(c);
		if (last || i == 0 || conn_queued(c) > 0)
			poll(&p, 1, 100);
	}
	conn_close(c);
}

static void *
serve(void *arg)
{
	struct server *s = arg;

	for (unsigned i = 0; i < s->conns; i++)
		serve_one(s, s->sent[i], i + 1 == s->conns);
	return NULL;
}

static int
meet(struct server *s, struct recs **r)
{
	s->listener = ends_listen(s->where);
	pthread_create(&s->thread, NULL, serve, s);
	return dataset_client_open(&(struct dataset_client_opt){ .addr = s->where, .key = key, .timeout_s = 20 }, r);
}

static void
part(struct server *s, struct recs *r)
{
	if (r != NULL)
		r->close(r);
	pthread_join(s->thread, NULL);
	close(s->listener);
}

#define HOLDS	{ .type = MSG_HOLDS, .step = 40, .len = 8, .payload = id }
#define PART(text, at, all) \
	{ .type = MSG_CLASSES, .slice = at, .samples = all, .len = sizeof(text) - 1, .payload = text }
#define NAMES(text) PART(text, 0, sizeof(text) - 1)

static void
is_refused(struct server *s, const char *why)
{
	struct recs *r;
	char line[ERR_LINE];

	is(meet(s, &r), ERR_FORMAT, "a reader refuses its server: %s", why);
	snprintf(line, sizeof(line), "%s: %s", s->where, why);
	is_str(err_line(), line, "the line has the server's address");
	part(s, r);
}

static void
test_client(void)
{
	struct server early = { .conns = 1, .sent = { { HOLDS } } };
	struct server incomplete = { .conns = 1, .sent = { { PART("ant\n", 0, 8), HOLDS } } };
	struct server twice = { .conns = 1, .sent = { { NAMES("ant\n"), NAMES("ant\n"), HOLDS } } };
	struct server bad = { .conns = 1, .sent = { { NAMES("ant\nant\n"), HOLDS } } };
	struct server broken = { .conns = 2, .sent = { { PART("ant\n", 0, 8) },
	    { PART("ant\n", 0, 8), PART("bee\n", 4, 8), HOLDS } } };
	struct server same = { .conns = 2, .sent = { { NAMES("ant\n"), HOLDS }, { NAMES("ant\n"), HOLDS,
	    { .type = MSG_RECORD, .samples = 1, .len = 1, .payload = "x" } } } };
	struct server other = { .conns = 2, .sent = { { NAMES("ant\n"), HOLDS }, { NAMES("bee\n"), HOLDS } } };
	struct buf room = { 0 };
	struct names l = { 0 };
	const uint8_t *data;
	char line[ERR_LINE];
	struct recs *r;
	size_t n;

	is_refused(&early, "HOLDS out of place");
	is_refused(&incomplete, "HOLDS out of place");
	is_refused(&twice, "CLASSES out of place");
	is_refused(&bad, "CLASSES: ant: listed twice");

	is(meet(&broken, &r), 0, "a reader whose connection breaks between two parts connects again");
	ok(r->classes(r, &l) == 0 && l.n == 2 && strcmp(l.p[0], "ant") == 0 && strcmp(l.p[1], "bee") == 0,
	    "the reader has the names of the second connection");
	names_free(&l);
	ok(r->remote, "the records are remote");
	part(&broken, r);

	is(meet(&other, &r), 0, "a reader connects to a server that returns with other names");
	is(r->read(r, 0, &room, &data, &n), ERR_FORMAT, "the reader reads no more records");
	snprintf(line, sizeof(line), "%s: has other names of classes than before", other.where);
	is_str(err_line(), line, "the line says why");
	part(&other, r);

	is(meet(&same, &r), 0, "a reader connects to a server that returns with the same names");
	ok(r->classes(r, &l) == 0 && l.n == 1, "the reader has the same names");
	names_free(&l);
	ok(r->read(r, 0, &room, &data, &n) == 0 && n == 1, "the reader reads on");
	part(&same, r);
	buf_free(&room);
}

int
main(void)
{
	test_parts();
	test_refusals();
	test_client();
	return done();
}
