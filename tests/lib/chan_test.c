/* chan_test - tests chan against its header. */
#include "tap.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/chan.h"
#include "run/ctl.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct ends {
	struct chan	*a, *b;
};

static struct ends
a_pair(const char *noise)
{
	int ab[2], ba[2];

	if (pipe(ab) < 0 || pipe(ba) < 0)
		return (struct ends){ 0 };
	if (*noise != 0 && write(ab[1], noise, strlen(noise)) < 0)
		return (struct ends){ 0 };
	return (struct ends){ chan_open(ba[0], ab[1]), chan_open(ab[0], ba[1]) };
}

static void
test_talk(void)
{
	struct ends p = a_pair("Welcome!\n\001tally\n");
	struct frame f;
	double began;

	chan_run(p.b);
	is(chan_next(p.b, &f), 0, "text before the mark is no frame");
	chan_send(p.a, CTL_STARTED, "12345678", 8);
	chan_run(p.a);
	chan_run(p.b);
	ok(chan_next(p.b, &f) == 1 && f.type == CTL_STARTED && f.len == 8 && memcmp(f.p, "12345678", 8) == 0,
	    "the frame after the mark is received");
	poll(NULL, 0, 50);
	chan_send(p.a, CTL_BEAT, NULL, 0);
	chan_run(p.a);
	began = clk_s();
	chan_run(p.b);
	is(chan_next(p.b, &f), 0, "a beat is not returned as a frame");
	ok(chan_silent_s(p.b) <= clk_s() - began, "a beat is a sign of life");
	chan_send(p.a, CTL_DONE, NULL, 0);
	chan_run(p.a);
	chan_close(p.a);
	is(chan_run(p.b), 0, "chan_run reads what was sent before the end");
	ok(chan_next(p.b, &f) == 1 && f.type == CTL_DONE, "chan_next returns the last frame");
	is(chan_run(p.b), ERR_PEER, "chan_run then reports the end");
	chan_close(p.b);
}

static void
test_silence(void)
{
	double began = clk_s(), silent, pause;
	struct ends p = a_pair("");

	for (int i = 0; i < 3; i++) {
		poll(NULL, 0, 100);
		chan_run(p.b);
	}
	silent = chan_silent_s(p.b);
	/* If this took longer, this process itself did not run. */
	ok(silent >= 0.3 || clk_s() - began > 1, "silence counts while nothing is received: %.3f s", silent);
	pause = clk_s();
	poll(NULL, 0, 1100);
	pause = clk_s() - pause;
	chan_run(p.b);
	silent = chan_silent_s(p.b);
	ok(silent <= clk_s() - began - pause,
	    "silence does not count while this process did not run: %.3f s", silent);
	chan_close(p.a);
	chan_close(p.b);
}

/* Log frames of many windows, with control frames between that overtake them. */
static void
test_queues(void)
{
	static uint8_t line[50000];
	struct ends p = a_pair("");
	uint32_t logs = 0, signs = 0, before = 0, owed = 0, good = 1;
	struct frame f;

	for (uint32_t i = 0; i < 100; i++) {
		le_put32(line, i);
		chan_log(p.a, CTL_LINES, line, sizeof(line));
	}
	for (int turn = 0; turn < 100; turn++) {
		chan_run(p.a);
		chan_run(p.b);
		while (chan_next(p.b, &f) == 1) {
			logs++;
			owed += FRAME_HEAD + f.len;
		}
	}
	ok(logs > 2 && owed <= CHAN_WINDOW, "without credit no more than a window of log lines is sent (%u)", logs);
	chan_send(p.a, CTL_EXITED, "123456789012", 12);
	for (int turn = 0; turn < 3; turn++) {
		chan_run(p.a);
		chan_run(p.b);
	}
	ok(chan_next(p.b, &f) == 1 && f.type == CTL_EXITED, "control frames are sent without credit");
	for (int turn = 0; turn < 10000 && logs < 100; turn++) {
		if (turn == 20) {
			before = logs;
			chan_send(p.a, CTL_STARTED, "12345678", 8);
		}
		chan_credit(p.a, owed);
		owed = 0;
		chan_run(p.a);
		chan_run(p.b);
		while (chan_next(p.b, &f) == 1)
			if (f.type == CTL_LINES) {
				good &= le_get32(f.p) == logs && f.len == sizeof(line);
				logs++;
				owed += FRAME_HEAD + f.len;
			} else {
				signs = logs;
			}
	}
	ok(good && logs == 100, "an agent with credit sends all lines in order");
	ok(before < 90 && signs - before < 8,
	    "a control frame overtakes the waiting log frames (%u, %u)", before, signs);
	chan_close(p.a);
	chan_close(p.b);
}

static void
test_foreign(void)
{
	static const uint8_t huge[8] = { 1, 0, 16, 0, CTL_LINES };	/* 1 MiB and a byte */
	char *noise = malloc(CHAN_NOISE + 100000);
	struct chan *c;
	struct frame f;
	int in[2], out[2], e = 0;

	memset(noise, 'x', CHAN_NOISE + 100000);
	(void)!pipe(in);
	(void)!pipe(out);
	c = chan_open(in[0], out[1]);
	for (size_t at = 0; at < CHAN_NOISE + 65536 && e == 0; at += 32768) {
		(void)!write(in[1], noise, 32768);
		e = chan_run(c);
	}
	is(e, ERR_FORMAT, "endless text without a mark is refused");
	chan_close(c);
	close(in[1]);
	close(out[0]);
	free(noise);

	(void)!pipe(in);
	(void)!pipe(out);
	c = chan_open(in[0], out[1]);
	(void)!write(in[1], CTL_MARK, strlen(CTL_MARK));
	(void)!write(in[1], huge, sizeof(huge));
	chan_run(c);
	is(chan_next(c, &f), ERR_LIMIT, "a frame that is too long is refused");
	close(out[0]);
	chan_send(c, CTL_DONE, NULL, 0);
	is(chan_run(c), 0, "a closed reader is no error, as frames may still arrive");
	close(in[1]);
	is(chan_run(c), ERR_PEER, "a closed writer is an error");
	chan_close(c);
	chan_close(NULL);
}

/* Adds what a connection delivers up to its end to the log positions.  Returns false if a line is out of order. */
static int
take_lines(struct chan *c, uint32_t *next, uint64_t *got)
{
	struct frame f;
	int good = 1;

	while (chan_next(c, &f) == 1) {
		good &= f.type == CTL_LINES && f.len == 20000 && le_get32(f.p) == *next;
		*next += 1;
		*got += FRAME_HEAD + f.len;
	}
	return good;
}

/* Sends a log over many connections, each cut after some rounds, and loses every second credit. */
static void
test_keep(void)
{
	static uint8_t line[20000];
	struct chan *kept = chan_open(-1, -1);
	uint64_t got = 0, done = 0;
	uint32_t next = 0, cuts = 0;
	int good = 1;

	chan_keep(kept);
	ok(chan_is_shut(kept) && chan_log_done(kept), "a channel that is shut from the start has an empty log");
	for (uint32_t i = 0; i < 200; i++) {
		le_put32(line, i);
		chan_log(kept, CTL_LINES, line, sizeof(line));
	}
	chan_send(kept, CTL_STARTED, "12345678", 8);
	for (; next < 200 && cuts < 200; cuts++) {
		struct ends p = a_pair("");

		good &= chan_inherit(p.a, kept, got, done) == 0;
		kept = p.a;
		for (uint32_t turn = 0; turn < 3 + cuts % 7; turn++) {
			chan_run(p.a);
			chan_run(p.b);
			good &= take_lines(p.b, &next, &got);
			if (turn == 2 && cuts % 2 == 0) {
				chan_credit(p.a, (uint32_t)(got - done));
				done = got;
			}
		}
		if (cuts % 2 == 1)
			done = got;	/* the connection loses the credit */
		chan_shut(p.a);
		chan_close(p.b);
	}
	ok(good && next == 200 && cuts > 3, "all lines arrive once and in order over broken connections (%u)", cuts);
	ok(!chan_log_done(kept) || done == got, "frames that are not credited are kept");
	for (int i = 0; i < 4; i++) {
		struct chan *c = chan_open(-1, -1);
		static const int64_t off[] = { 1, -1, FRAME_HEAD + 20000, 0 };

		is(chan_inherit(c, kept, got + (uint64_t)off[i], i == 3 ? got + 8 : done), ERR_FORMAT,
		    "a RESUME for no frame's end is refused, %d", i);
		chan_close(c);
	}
	chan_close(kept);
}

/* The log of an agent that was killed goes on under another one, which has none of it. */
static void
test_continue(void)
{
	static const struct { uint64_t received, credited; } wrong[] = { { 5, 6 }, { 7, 0 }, { CHAN_WINDOW + 1, 0 } };
	const uint64_t received = 5000, credited = 3000;
	struct chan *c = chan_open(-1, -1), *other;
	struct ends p = a_pair("");
	uint64_t got = received;
	uint32_t next = 0;
	static const uint8_t line[20000];
	bool good = true;

	chan_keep(c);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		is(chan_continue(c, wrong[i].received, wrong[i].credited), ERR_FORMAT, "no log has %llu bytes of which %llu "
		    "are credited", (unsigned long long)wrong[i].received, (unsigned long long)wrong[i].credited);
	is(chan_continue(c, received, credited), 0, "a log continues after the bytes that the other side has");
	is(chan_inherit(p.a, c, received, credited), 0, "a connection takes it over from there");
	chan_log(p.a, CTL_LINES, line, sizeof(line));
	for (int turn = 0; turn < 3; turn++) {
		chan_run(p.a);
		chan_run(p.b);
		good &= take_lines(p.b, &next, &got);
	}
	ok(good && next == 1 && got == received + FRAME_HEAD + sizeof(line), "only what is new is sent");
	chan_shut(p.a);
	chan_close(p.b);
	other = chan_open(-1, -1);
	chan_keep(other);
	is(chan_inherit(other, p.a, got, credited), 0, "the next connection, too, may have none of it credited");
	chan_credit(other, (uint32_t)(got - credited));
	ok(chan_log_done(other), "credit for all bytes covers those of both agents");
	chan_close(other);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_continue();
	test_talk();
	test_silence();
	test_queues();
	test_keep();
	test_foreign();
	return done();
}
