/* im2rec_watch - progress on a terminal, and signals that are taken between two records. */
#include "im2rec.h"

#include "base/clk.h"
#include "base/err.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define CLEAR	"\r\033[K"

static volatile sig_atomic_t stopped;	/* by this signal */

static void
on_signal(int sig)
{
	stopped = sig;
}

void
im2rec_watch_start(struct im2rec_watch *w, bool quiet)
{
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	*w = (struct im2rec_watch){ .talks = !quiet && isatty(STDERR_FILENO), .began_s = clk_s() };
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

static void
show_left(double s)
{
	if (s >= 3600)
		fprintf(stderr, ", %.0f h %02.0f min left", s / 3600 - 0.5 > 0 ? (double)(long)(s / 3600) : 0,
		    (double)((long)(s / 60) % 60));
	else if (s >= 60)
		fprintf(stderr, ", %ld min left", (long)(s / 60 + 0.5));
	else
		fprintf(stderr, ", %ld s left", (long)(s + 0.5));
}

static void
show(struct im2rec_watch *w, uint64_t done, uint64_t bytes, double share)
{
	double now = clk_s(), ran = now - w->began_s;

	if (w->said_s == 0)
		w->before = done;
	if (now - w->said_s < 0.5)
		return;
	w->said_s = now;
	fprintf(stderr, CLEAR "%llu pictures, %.1f MB", (unsigned long long)done, (double)bytes * 1e-6);
	if (ran > 0.5)
		fprintf(stderr, ", %.0f/s", (double)(done - w->before) / ran);
	if (share >= 0 && share <= 1)
		fprintf(stderr, ", %.0f %%", 100 * share);
	if (ran > 2 && share > 0.001 && share <= 1)
		show_left(ran * (1 - share) / share);
}

int
im2rec_watch_step(struct im2rec_watch *w, uint64_t done, uint64_t bytes, double share)
{
	if (stopped != 0)
		return err_fail(ERR_STOP, "stopped");
	if (w->talks)
		show(w, done, bytes, share);
	return 0;
}

void
im2rec_watch_clear(struct im2rec_watch *w)
{
	if (w->talks && w->said_s > 0)
		fputs(CLEAR, stderr);
}

void
im2rec_watch_end(struct im2rec_watch *w)
{
	im2rec_watch_clear(w);
	if (stopped != 0)
		raise(stopped);
}
