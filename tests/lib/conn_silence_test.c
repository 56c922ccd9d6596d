/* conn_silence_test - the host of a peer that no longer or never answers is lost, one that only does not read is not. */
#include "tap.h"

#include "ends.h"
#include "packets.h"

#define DEAD_S		1.0	/* the silence of the connections whose hosts die */
#define FOUND_S		20.0	/* by which they have ended, on a busy machine too; TCP gives up after 15 minutes */
#define OUTAGE_S	3.0
#define AWAY_S		10.0	/* the silence of those with an outage */
#define FULL_S		8.0	/* for which a peer reads nothing */
#define DIAL_S		30.0	/* most time of an attempt to connect; that of the system is a minute or two */

static const uint8_t key[CONN_KEY] = "one key for the whole of a job.";
static uint8_t bytes[4u << 20];

enum { IDLE, BUSY, FULL, FULL_DEAD, IDLE_OUTAGE, BUSY_OUTAGE, OPEN, SHAKE = OPEN, DIAL, ALL };
static struct ends ends[ALL];

/* From now on packets are dropped at both ends, or no more. */
static void
cut(struct ends *e, bool off)
{
	if (!packets_drop(conn_fd(e->a), off) || !packets_drop(conn_fd(e->b), off)) {
		printf("Bail out! no socket filter\n");
		exit(1);
	}
}

static void
send_bytes(struct conn *c, uint32_t n)
{
	conn_send(c, &(struct msg){ .type = MSG_PUSH, .step = 9, .len = n, .payload = bytes });
}

/* Runs all connections for a while; the second ends of FULL and FULL_DEAD read nothing. */
static void
run_all(double s, bool (*enough)(void))
{
	for (double until = clk_s() + s; clk_s() < until && (enough == NULL || !enough());) {
		poll(NULL, 0, 20);
		for (int i = 0; i < ALL; i++) {
			struct ends *e = &ends[i];

			ends_step(e->a, &e->ea, e->la);
			if (i != FULL && i != FULL_DEAD)
				ends_step(e->b, &e->eb, e->lb);
		}
	}
}

static bool
found_dead(void)
{
	return ends[IDLE].ea != 0 && ends[IDLE].eb != 0 && ends[BUSY].ea != 0 && ends[FULL_DEAD].ea != 0;
}

static bool
has_given_up(void)
{
	return ends[SHAKE].ea != 0 && ends[DIAL].ea != 0;
}

/* Begins two connections: the host of the one dies within the handshake, that of the other never answers. */
static int
dial_nobody(void)
{
	int listener = ends_listen(ends[DIAL].where);

	ends_meet(&ends[SHAKE], key, key);
	cut(&ends[SHAKE], false);
	if (!packets_drop(listener, false) || conn_dial(ends[DIAL].where, key, CONN_WORKER, &ends[DIAL].a) < 0) {
		printf("Bail out! no connection: %s\n", err_line());
		exit(1);
	}
	return listener;
}

static bool
takes_all(struct ends *e, int n)
{
	struct msg m;
	double until = clk_s() + PATIENCE_S;

	while (n > 0 && clk_s() < until && e->ea == 0 && e->eb == 0) {
		poll(NULL, 0, 1);
		ends_step(e->a, &e->ea, e->la);
		ends_step(e->b, &e->eb, e->lb);
		while (n > 0 && conn_next(e->b, &m))
			n--;
	}
	return n == 0;
}

/* A socket's option of TCP; -1: the system has none. */
static int
get_option(const struct conn *c, int name)
{
	socklen_t n = sizeof(int);
	int v;

	return getsockopt(conn_fd(c), IPPROTO_TCP, name, &v, &n) == 0 ? v : -1;
}

/* The system keeps an idle connection, at which nobody looks, for more than the silence, and asks from a tenth on. */
static void
test_longest(void)
{
	static const double silences[] = { 1, CONN_SILENCE_S, 86400, 327680, 1e6 };
	struct ends e;

	ends_meet(&e, NULL, NULL);
	for (size_t i = 0; i < sizeof(silences) / sizeof(*silences); i++) {
		int idle, every, most;

		conn_set_silence(e.a, silences[i]);
		idle = get_option(e.a, TCP_KEEPIDLE);
		every = get_option(e.a, TCP_KEEPINTVL);
		most = get_option(e.a, TCP_KEEPCNT);
		ok(idle >= 1 && idle <= silences[i] / 10 + 1 && every == idle && idle + most * (double)every > silences[i],
		    "a silence of %.0f s: a question after %d s, and %d more", silences[i], idle, most);
	}
	ends_close(&e);
}

int
main(void)
{
	const struct { int at; bool b; const char *what; } dead[] = {
		{ IDLE, false, "a half-open connection that is idle ends" },
		{ IDLE, true, "the other end of a half-open connection ends" },
		{ BUSY, false, "a half-open connection with a message under way ends" },
		{ FULL_DEAD, false, "a half-open connection to a process that was stopped before ends" },
	};
	double began, silence;
	int listener;

	if (!packets_known()) {
		skip("hosts that die", "the system has no filters of sockets or no TCP_INFO");
		return done();
	}
	for (int i = 0; i < OPEN; i++) {
		ends_meet(&ends[i], key, key);
		conn_set_silence(ends[i].a, i < IDLE_OUTAGE ? DEAD_S : AWAY_S);
		conn_set_silence(ends[i].b, i < IDLE_OUTAGE ? DEAD_S : AWAY_S);
		if (!ends_run(&ends[i], ends_open))
			ok(false, "the handshake of connection %d", i);
	}
	for (int i = 0; i < 4; i++) {
		send_bytes(ends[FULL].a, sizeof(bytes));
		send_bytes(ends[FULL_DEAD].a, sizeof(bytes));
	}
	run_all(1, NULL);
	for (int i = 0; i < OPEN; i++)
		if (i != FULL)
			cut(&ends[i], false);
	began = clk_s();
	listener = dial_nobody();
	send_bytes(ends[BUSY].a, 100000);
	send_bytes(ends[BUSY_OUTAGE].a, 100000);
	run_all(OUTAGE_S, NULL);
	cut(&ends[IDLE_OUTAGE], true);
	cut(&ends[BUSY_OUTAGE], true);
	send_bytes(ends[IDLE_OUTAGE].a, 100);
	run_all(PATIENCE_S, found_dead);
	ok(clk_s() - began < FOUND_S, "half-open connections are found in seconds: %.1f", clk_s() - began);
	for (size_t i = 0; i < sizeof(dead) / sizeof(dead[0]); i++) {
		const struct ends *e = &ends[dead[i].at];

		ok((dead[i].b ? e->eb : e->ea) == ERR_PEER &&
		    strstr(dead[i].b ? e->lb : e->la, "its host or the network has not answered for ") != NULL, "%s: %s",
		    dead[i].what, dead[i].b ? e->lb : e->la);
	}
	ok(takes_all(&ends[IDLE_OUTAGE], 1), "an idle connection survives a shorter outage: %s", ends[IDLE_OUTAGE].la);
	ok(takes_all(&ends[BUSY_OUTAGE], 1), "a connection with a message under way survives a shorter outage: %s", ends[BUSY_OUTAGE].la);
	run_all(began + FULL_S - clk_s(), NULL);
	ok(ends[FULL].ea == 0 && conn_queued(ends[FULL].a) > 0,
	    "a connection to a process that is stopped is not taken for half-open: %s", ends[FULL].la);
	ok(takes_all(&ends[FULL], 4), "a process that was stopped reads everything later");
	run_all(began + DIAL_S - clk_s(), has_given_up);
	ok(ends[SHAKE].ea == ERR_PEER && strstr(ends[SHAKE].la, "has not answered for ") != NULL,
	    "a handshake with a host that dies ends: %s", ends[SHAKE].la);
	ok(ends[DIAL].ea == ERR_PEER && strstr(ends[DIAL].la, "cannot be reached") != NULL,
	    "an attempt to connect to a host that does not answer ends: %s", ends[DIAL].la);
	close(listener);
	for (int i = 0; i < ALL; i++)
		ends_close(&ends[i]);

	test_longest();
	setenv("TALLY_SILENCE", "2.5", 1);
	ok(conn_silence(&silence) == 0 && silence == 2.5, "TALLY_SILENCE is the silence");
	setenv("TALLY_SILENCE", "0", 1);
	ok(conn_silence(&silence) == ERR_LIMIT, "%s", err_line());
	setenv("TALLY_SILENCE", "long", 1);
	ok(conn_silence(&silence) == ERR_FORMAT, "%s", err_line());
	unsetenv("TALLY_SILENCE");
	ok(conn_silence(&silence) == 0 && silence == CONN_SILENCE_S, "the silence has a default without TALLY_SILENCE");
	return done();
}
