/* spool_test - tests spool, lines and outq against their headers. */
#include "tap.h"

#include "base/err.h"
#include "base/rng.h"
#include "run/lines.h"
#include "run/outq.h"
#include "run/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Byte i of the test stream. */
static uint8_t
byte(uint64_t i)
{
	return (uint8_t)(i * 31 + (i >> 8) * 17 + (i >> 16));
}

/* Puts and takes random amounts, with up to `deep` bytes queued. */
static int
through(uint64_t seed, uint64_t deep)
{
	static uint8_t p[100000];
	struct rng r = rng_start(seed, 0, 0);
	struct spool *s = spool_new();
	uint64_t in = 0, out = 0, total = 4 * deep + 1000000;
	int good = 1;

	while (out < total && good) {
		size_t n = (size_t)rng_below(&r, sizeof(p));

		if (in < total && (in - out < deep / 2 || (in - out < deep && rng_below(&r, 2)))) {
			for (size_t i = 0; i < n; i++)
				p[i] = byte(in + i);
			good &= spool_put(s, p, n) == 0;
			in += n;
		} else {
			n = n < in - out ? n : (size_t)(in - out);
			good &= spool_take(s, p, n) == 0;
			for (size_t i = 0; i < n; i++)
				good &= p[i] == byte(out + i);
			out += n;
		}
		good &= spool_size(s) == in - out;
	}
	spool_free(s);
	return good;
}

static void
test_spool(void)
{
	static uint8_t p[1 << 16];
	struct spool *s = spool_new();
	uint64_t n = 0;
	int good = 1;

	ok(through(1, 100000), "a spool in memory returns its bytes in order");
	ok(through(2, 20 << 20), "a spool in a file returns its bytes in order");
	ok(spool_room(s), "an empty spool has room");
	setenv("TMPDIR", "/nonexistent", 1);
	while (spool_room(s) && n < 4 * SPOOL_MEMORY) {
		spool_put(s, p, sizeof(p));
		n += sizeof(p);
	}
	is(n, SPOOL_MEMORY + sizeof(p), "without a disk a spool is full when its memory is");
	is(spool_size(s), n, "a full spool has lost no byte");
	unsetenv("TMPDIR");
	spool_put(s, "last", 4);
	for (; n > 0; n -= sizeof(p)) {
		spool_take(s, p, sizeof(p));
		good &= p[0] == 0 && p[sizeof(p) - 1] == 0;
	}
	spool_take(s, p, 4);
	ok(good && memcmp(p, "last", 4) == 0, "bytes put once there is a disk again stay in order");
	ok(spool_size(s) == 0 && spool_room(s), "an emptied spool has room");
	spool_free(s);
	spool_free(NULL);
}

/* Reads all lines as one text, and counts the reads. */
static char *
all_lines(int fd, int *pieces)
{
	struct lines *l = lines_open(fd);
	char *all = calloc(1, 4 * LINES_MOST);
	const char *text;
	size_t n, at = 0;
	int e;

	*pieces = 0;
	while ((e = lines_next(l, &text, &n)) != 0) {
		if (e < 0)
			continue;
		if (text[n - 1] != '\n')
			at = 0;
		memcpy(all + at, text, n);
		at += n;
		++*pieces;
	}
	lines_close(l);
	return all;
}

static void
test_lines(void)
{
	int fd[2], pieces;
	char *all, *longer = malloc(2 * LINES_MOST);

	(void)!pipe(fd);
	(void)!write(fd[1], "one\ntwo\nthr", 11);
	close(fd[1]);
	all = all_lines(fd[0], &pieces);
	is_str(all, "one\ntwo\nthr\n", "lines are whole, and the last gets a newline");
	is(pieces, 2, "lines that are ready are returned together");
	free(all);

	memset(longer, 'x', 2 * LINES_MOST);
	longer[LINES_MOST + 10] = '\n';
	(void)!pipe(fd);
	fcntl(fd[1], F_SETPIPE_SZ, 4 * LINES_MOST);
	(void)!write(fd[1], longer, LINES_MOST + 11);
	close(fd[1]);
	all = all_lines(fd[0], &pieces);
	ok(all[LINES_MOST] == '\n' && strcmp(all + LINES_MOST + 1, "xxxxxxxxxx\n") == 0,
	    "a line that is too long is split");
	free(all);
	free(longer);

	(void)!pipe(fd);
	close(fd[1]);
	all = all_lines(fd[0], &pieces);
	is(pieces, 0, "an empty input has no lines");
	free(all);
}

static void
test_outq(void)
{
	struct outq q = { 0 }, full = { 0 };
	char got[20000], *p = got;
	int fd[2], steps = 0;
	ssize_t r;

	(void)!pipe(fd);
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	q.fd = fd[1];
	outq_put_lines(&q, "worker 1", "a\nb\n", 4);
	for (int i = 0; i < 1000; i++)
		outq_put(&q, "0123456789", 10);
	is(outq_size(&q), 24 + 10000, "bytes in an outq wait");
	while (outq_size(&q) > 0 && steps++ < 100) {
		outq_run(&q);
		while ((r = read(fd[0], p, sizeof(got) - (size_t)(p - got))) > 0)
			p += r;
	}
	ok(steps <= 4 && p - got == 10024, "outq_run writes parts that a pipe takes");
	ok(memcmp(got, "worker 1: a\nworker 1: b\n0123", 28) == 0, "outq keeps the order, and names before lines");
	ok(outq_poll(&q).fd == -1, "an empty outq waits for nothing");
	close(fd[0]);
	close(fd[1]);
	outq_free(&q);

	full.fd = open("/dev/full", O_WRONLY);
	outq_put(&full, "x", 1);
	is(outq_run(&full), ERR_SYS, "outq_run reports a failed write");
	outq_put(&full, "x", 1);
	ok(outq_size(&full) == 0 && outq_run(&full) == 0, "outq_run reports a failed write only once");
	close(full.fd);
	outq_free(&full);
}

int
main(void)
{
	test_spool();
	test_lines();
	test_outq();
	return done();
}
