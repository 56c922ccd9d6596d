/* conn_ucx_test - two ends agree on UCX or go on over the socket; an end that goes, or sends nonsense, harms no other. */
#include "tap.h"

#include "ends_count.h"
#include "wire/conn_in.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The leak sanitizer crashes in what the library loads.  conn_test.c has its check, too. */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return 1;
}

static void
meet_over_ucx(struct ends *e, bool a, bool b)
{
	ends_meet(e, NULL, NULL);
	if (a)
		conn_use_ucx(e->a);
	if (b)
		conn_use_ucx(e->b);
}

static void
open_ends(struct ends *e, bool a, bool b)
{
	meet_over_ucx(e, a, b);
	next_a = next_b = bad = 0;
	send_number(e->a, 0, 100000);
	send_number(e->b, 0, 100000);
	if (!ends_run(e, took_one))
		printf("Bail out! no connection: %s %s\n", e->la, e->lb), exit(1);
}

static bool
a_ended(struct ends *e)
{
	return e->ea != 0;
}

static void
test_choice(void)
{
	static const char *const whom[] = { "neither", "the caller", "the called", "both" };
	uint64_t received[2], sent[2];
	struct ends e;

	for (int i = 0; i < 4; i += i == 0 ? 2 : 1) {
		open_ends(&e, i & 1, i & 2);
		is(bad, 0, "if %s would use UCX, messages are exchanged", whom[i]);
		is(e.a->ucx != NULL && e.b->ucx != NULL, i == 3, "two ends use UCX if both would");
		is(e.a->ucx != NULL || e.b->ucx != NULL, i == 3, "two ends use no UCX unless both would");
		ok(e.a->ucx_next == NULL && e.b->ucx_next == NULL, "nothing else is left");
		conn_byte_counts(e.a, &received[0], &sent[0]);
		conn_byte_counts(e.b, &received[1], &sent[1]);
		ok(received[0] == sent[1] && received[1] == sent[0] && sent[0] > 100000 && sent[0] < 102000,
		    "both ends count the same bytes: %d and %d", (int)sent[0], (int)received[0]);
		ends_close(&e);
	}
	meet_over_ucx(&e, true, false);
	send_number(e.a, 0, 10);
	ok(ends_run(&e, a_ended) && e.ea == ERR_NOTSUP, "a caller that would use UCX says that the called would not: %s", e.la);
	ends_close(&e);
	ends_meet(&e, NULL, NULL);
	conn_use_shm(e.a, 0);
	conn_use_ucx(e.b);
	next_a = next_b = bad = 0;
	send_number(e.a, 0, 10);
	send_number(e.b, 0, 10);
	ok(ends_run(&e, took_one) && bad == 0 && !conn_path_used(e.a) && !conn_path_used(e.b),
	    "an offer of shared memory to an end that would use UCX is declined");
	ends_close(&e);
}

static bool
b_ended(struct ends *e)
{
	take_numbers(e->b, &next_b);
	return e->eb != 0;
}

static void
test_endings(void)
{
	struct ends e;

	open_ends(&e, true, true);
	send_number(e.a, 1, 3000000);
	send_number(e.a, 2, 7);
	for (double start = clk_s(); conn_queued(e.a) > 0 && clk_s() - start < PATIENCE_S;) {
		ends_step(e.a, &e.ea, e.la);
		ends_step(e.b, &e.eb, e.lb);
		take_numbers(e.b, &next_b);
	}
	conn_close(e.a);
	e.a = NULL;
	ok(ends_run(&e, b_ended) && next_b == 3 && bad == 0, "what was sent before the end arrives");
	is(e.eb, ERR_PEER, "the end is the peer's: %s", e.lb);
	is(conn_queued(e.b), 0, "nothing waits for a peer that has gone");
	ends_close(&e);

	open_ends(&e, true, true);
	send_number(e.a, 1, 3000000);
	conn_close(e.a);
	e.a = NULL;
	send_number(e.b, 1, 3000000);
	ok(ends_run(&e, b_ended), "an end in the middle of messages ends the connection: %s", e.lb);
	ends_close(&e);
}

/* In a process of its own, as the library reads its settings once.  A signal ends a wait for what never ends. */
static void
test_end_in_memory(void)
{
	pid_t pid = fork();
	struct ends e;
	int how = -1;

	if (pid == 0) {
		setenv("UCX_TLS", "posix,cma", 1);
		alarm(PATIENCE_S);
		if (!ends_has_ucx())
			_exit(0);
		open_ends(&e, true, true);
		send_number(e.a, 1, 3000000);
		send_number(e.b, 1, 3000000);
		conn_run(e.a);
		conn_close(e.a);
		e.a = NULL;
		how = ends_run(&e, b_ended) ? 0 : 1;
		conn_close(e.b);
		_exit(how);
	}
	waitpid(pid, &how, 0);
	is(how, 0, "an end in the middle of messages through shared memory waits for nobody");
}

/* What a peer that says that it would use UCX sends instead of an address. */
static void
test_offers(void)
{
	static uint8_t noise[UCX_ADDRESS];
	const struct {
		const char	*what;
		struct msg	 m;
		int		 eb;
	} bad_offers[] = {
		{ "an address of zeros is declined", { .type = MSG_UCX, .len = 200, .payload = noise }, 0 },
		{ "an answer to no offer ends the connection", { .type = MSG_UCX }, ERR_FORMAT },
		{ "a refusal of no offer ends the connection", { .type = MSG_UCX, .flags = MSG_EMPTY }, ERR_FORMAT },
	};
	struct ends e;

	for (size_t i = 0; i < sizeof(bad_offers) / sizeof(*bad_offers); i++) {
		meet_over_ucx(&e, false, true);
		next_a = next_b = bad = 0;
		if (conn_send(e.a, &bad_offers[i].m) < 0)
			printf("# %s\n", err_line());
		for (double start = clk_s(); e.eb == 0 && e.b->path_state != CONN_PATH_NONE && clk_s() - start < PATIENCE_S;) {
			ends_step(e.a, &e.ea, e.la);
			ends_step(e.b, &e.eb, e.lb);
		}
		is(e.eb, bad_offers[i].eb, "%s", bad_offers[i].what);
		ok(e.b->ucx == NULL && e.b->ucx_next == NULL, "the connection makes no use of UCX");
		ends_close(&e);
	}
}

static void
test_asked(void)
{
	static const uint8_t key[CONN_KEY] = "one key for the whole of a job.";
	enum conn_transport t;
	int e;

	setenv("TALLY_TRANSPORT", "ucx", 1);
	is(conn_transport(key, &t), ERR_ARG, "a job with a key does not use UCX: %s", err_line());
	e = conn_transport(NULL, &t);
	ok(e == 0 || (e == ERR_NOTSUP && strstr(err_line(), "UCX") != NULL), "a job without a key uses UCX if it is there: %s",
	    e < 0 ? err_line() : "it is");
	is(t, CONN_UCX, "UCX takes the place of shared memory");
	unsetenv("TALLY_TRANSPORT");
	is(conn_transport(NULL, &t), 0, "nothing need be asked for");
	is(t, CONN_AUTO, "UCX is never chosen by itself");
}

int
main(void)
{
	test_end_in_memory();
	test_asked();
	if (!ends_has_ucx()) {
		skip("messages through UCX", err_line());
		return done();
	}
	test_choice();
	test_endings();
	test_offers();
	return done();
}
