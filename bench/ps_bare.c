/*
 * ps_bare - the least that a step of bench/ps.c costs over TCP: two processes, one connection over loopback, and nothing else.
 *
 * The worker writes a gradient, the server takes it from its weights, and the worker reads these.  Both go by slices, so
 * that the directions overlap.  There are no messages, no key, and neither checks nor steps that must survive anything.
 * With --untouched nobody writes or reads the values: the rest is what the system takes to move them.  ps.sh drives it as
 * it drives ps: it prints "ready" and the bytes, and for each line "K" the milliseconds of K steps on one line.
 */
#include "floats.h"
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "wire/addr.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] = "ps_bare [--bytes N] [--slice N] [--untouched]";
static const char help[] =
    "  --bytes N    of the array (4194304)\n"
    "  --slice N    bytes of a slice (524288)\n"
    "  --untouched  move the bytes only\n";

/* One side of the exchange; of a step, the bytes that it has sent and received. */
struct side {
	int	fd;
	size_t	bytes, slice, sent, got;
	bool	untouched;
	float  *gradient, *weights;
};

static float *
alloc_floats(size_t bytes)
{
	float *p = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (p == NULL)
		front_die(NULL, err_nomem());
	memset(p, 0, bytes);
	return p;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Sends up to the byte `end`, and receives up to the end of a slice, as much of each as goes now; waits if nothing does. */
static void
move_bytes(struct side *s, const float *from, size_t end, float *to)
{
	size_t upto = least(s->bytes, (s->got / s->slice + 1) * s->slice);
	ssize_t out = -1, in = -1;

	if (s->sent < end && (out = send(s->fd, (const char *)from + s->sent, end - s->sent, MSG_NOSIGNAL)) > 0)
		s->sent += (size_t)out;
	if (s->got < s->bytes && (in = recv(s->fd, (char *)to + s->got, upto - s->got, 0)) > 0)
		s->got += (size_t)in;
	if (in == 0 || (in < 0 && s->got < s->bytes && errno != EAGAIN))
		exit(0);		/* the other side has ended */
	if (out < 0 && in < 0) {
		struct pollfd p = { .fd = s->fd,
		    .events = (short)((s->sent < end ? POLLOUT : 0) | (s->got < s->bytes ? POLLIN : 0)) };

		poll(&p, 1, -1);
	}
}

static void
serve_step(struct side *s)
{
	size_t summed = 0;

	s->sent = s->got = 0;
	while (s->sent < s->bytes) {
		move_bytes(s, s->weights, summed, s->gradient);
		if (s->got != s->bytes && s->got % s->slice != 0)
			continue;
		for (size_t i = summed / sizeof(float); i < s->got / sizeof(float) && !s->untouched; i++)
			s->weights[i] -= 1e-6f * s->gradient[i];
		summed = s->got;
	}
}

static float
run_step(struct side *s, float value)
{
	size_t filled = 0, read = 0;
	float sum = 0;

	s->sent = s->got = 0;
	while (s->got < s->bytes) {
		if (s->sent == filled && filled < s->bytes) {
			size_t end = least(s->bytes, filled + s->slice);

			if (!s->untouched)
				floats_fill(s->gradient + filled / sizeof(float), (end - filled) / sizeof(float), value);
			filled = end;
		}
		move_bytes(s, s->gradient, filled, s->weights);
		if (s->got != s->bytes && s->got % s->slice != 0)
			continue;
		if (!s->untouched)
			sum += floats_sum(s->weights + read / sizeof(float), (s->got - read) / sizeof(float));
		read = s->got;
	}
	return sum;
}

/* Connects this process with a child over loopback; returns whether this is the child. */
static bool
fork_connected(struct side *s)
{
	char where[ADDR_TEXT];
	struct pollfd p = { .events = POLLIN };
	int listener;
	pid_t pid;

	front_must(NULL, addr_listen("127.0.0.1:0", &listener, where));
	if ((pid = fork()) < 0)
		front_die(NULL, err_sys("fork"));
	if (pid > 0) {
		close(listener);
		front_must(NULL, addr_dial(where, &s->fd));
		return false;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	p.fd = listener;
	if (poll(&p, 1, -1) < 0 || (s->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) < 0)
		front_die(NULL, err_sys("accept"));
	close(listener);
	return true;
}

int
main(int argc, char *argv[])
{
	static const struct option longs[] = { { "bytes", required_argument, NULL, 'b' }, { "slice", required_argument, NULL, 's' },
	    { "untouched", no_argument, NULL, 'u' }, { "help", no_argument, NULL, 'h' }, { 0 } };
	struct side s = { .bytes = 4 << 20, .slice = 512 << 10 };
	static volatile float seen;
	char line[32];
	int c;

	front_init(argv[0], usage, help);
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		switch (c) {
		case 'b': s.bytes = front_num("--bytes", optarg, sizeof(float), 1 << 30) & ~(sizeof(float) - 1); break;
		case 's': s.slice = front_num("--slice", optarg, sizeof(float), 1 << 30) & ~(sizeof(float) - 1); break;
		case 'u': s.untouched = true; break;
		case 'h': front_help();
		default:  front_usage();
		}
	s.gradient = alloc_floats(s.bytes);
	s.weights = alloc_floats(s.bytes);
	if (fork_connected(&s))
		for (;;)
			serve_step(&s);
	printf("ready %zu\n", s.bytes);
	front_flush();
	while (fgets(line, sizeof(line), stdin) != NULL)
		for (unsigned long k = strtoul(line, NULL, 10), n = 0; n < k; n++) {
			double t = clk_s();

			seen = seen + run_step(&s, (float)(n % 3) - 1);
			printf("%.4f%s", (clk_s() - t) * 1e3, n + 1 < k ? " " : "\n");
			if (n + 1 == k)
				front_flush();
		}
	close(s.fd);
	wait(NULL);
	return front_status();
}
