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
#include <sys/stat.h>
#include <unistd.h>

#define DESCRIPTORS	256	/* below this a reader's descriptor is looked for */
#define GRACE_S		5	/* time in which a run ends by itself after a signal */

static volatile sig_atomic_t stopped;	/* the signal, or 0 */
static volatile sig_atomic_t grace_s;	/* what is left of GRACE_S */
static int ended = -1;			/* /dev/null */

/* Whether a read of the descriptor may wait for somebody else. */
static bool
may_wait(int fd)
{
	int how = fcntl(fd, F_GETFL);
	struct stat st;

	return fd != STDOUT_FILENO && fd != STDERR_FILENO && how >= 0 && (how & O_ACCMODE) != O_WRONLY &&
	    fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode));
}

/* Ends all pipes that are read, because the thread that gets a signal may wait for one. */
static void
end_pipes(void)
{
	int keep = errno;

	for (int fd = 0; ended >= 0 && fd < DESCRIPTORS; fd++)
		if (fd != ended && may_wait(fd))
			dup2(ended, fd);
	errno = keep;
}

static void
on_stop_signal(int sig)
{
	stopped = sig;
	grace_s = GRACE_S;
	end_pipes();
	alarm(1);
}

/*
 * A pipe may have been opened after the signal, so that it is ended here.  If something else takes longer than GRACE_S,
 * such as a write to a pipe that nobody reads, the signal ends the process, as a second one of its kind does.
 */
static void
on_second_of_grace(int sig)
{
	(void)sig;
	if (--grace_s == 0)
		raise(stopped);
	end_pipes();
	alarm(1);
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
	struct sigaction grace = { .sa_handler = on_second_of_grace };

	ended = open("/dev/null", O_RDONLY | O_CLOEXEC);

	*w = (struct im2rec_watch){ .shows_progress = !quiet, .began_s = clk_s() };
	if (!quiet)
		progress_start(PROGRESS_PLAIN);
	sigaction(SIGALRM, &grace, NULL);
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
	if (w->shows_progress && progress_due())
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
