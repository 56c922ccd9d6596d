/* watch - shows progress, and handles signals between two records. */
#include "im2rec/im2rec.h"
#include "front_progress.h"
#include "front_wait.h"

#include "base/clk.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;	/* the signal, or 0 */
static int ended = -1;			/* /dev/null */

/* Ends standard input, because the thread that gets the signal may wait for it.  A second signal ends the process. */
static void
on_stop_signal(int sig)
{
	int keep = errno;

	stopped = sig;
	if (ended >= 0)
		dup2(ended, STDIN_FILENO);
	errno = keep;
}

void
im2rec_watch_input(const struct im2rec *o)
{
	if (strcmp(o->path[0], "-") == 0)
		front_wait_read("-");
}

void
im2rec_watch_start(struct im2rec_watch *w, bool quiet)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction a = { .sa_handler = on_stop_signal, .sa_flags = (int)SA_RESETHAND }, old;

	ended = open("/dev/null", O_RDONLY | O_CLOEXEC);

	*w = (struct im2rec_watch){ .talks = !quiet, .began_s = clk_s() };
	if (!quiet)
		progress_start(PROGRESS_PLAIN);
	/* A signal that the caller ignores, as nohup(1) does, stays ignored. */
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &a, NULL);
}

static void
show_packing_progress(struct im2rec_watch *w, uint64_t done, uint64_t bytes, double share)
{
	struct progress_line line = { 0 };
	double ran = clk_s() - w->began_s;

	progress_add(&line, "%llu images", (unsigned long long)done);
	line.head = (unsigned)strlen(line.text);
	progress_add(&line, ", %.1f MB", (double)bytes * 1e-6);
	if (ran > 0.5)
		progress_add(&line, ", %.0f/s", (double)(done - w->before) / ran);
	if (share >= 0 && share <= 1)
		progress_add(&line, ", %.0f %%", 100 * share);
	if (ran > 2 && share > 0.001 && share <= 1)
		progress_left(&line, ran * (1 - share) / share);
	progress_draw(&line, 1);
}

int
im2rec_watch_check(void)
{
	return stopped != 0 ? err_fail(ERR_STOP, "stopped") : 0;
}

int
im2rec_watch_step(struct im2rec_watch *w, uint64_t done, uint64_t bytes, double share)
{
	ERR_TRY(im2rec_watch_check());
	if (!w->begun) {
		w->begun = true;
		w->before = done;
	}
	if (w->talks && progress_due())
		show_packing_progress(w, done, bytes, share);
	return 0;
}

void
im2rec_watch_end(void)
{
	progress_clear();
	if (stopped != 0)
		raise(stopped);
}
