/* ask - asks the launcher of a job for something, by a file of the job's directory, and waits for its answer. */
#include "dlaunch/dlaunch.h"
#include "front.h"

#include "base/clk.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

/* Waits until the launcher has answered.  Returns false if the job has ended before. */
static bool
wait_for_answer(const struct jobdir *d, const char *file, struct buf *answer)
{
	double since = clk_s(), report_at = since + DLAUNCH_REPORT_S;
	struct jobdir_state s;
	int e;

	do {
		if ((e = jobdir_read_state(d, &s)) < 0)
			front_die(d->name, e);
		if (jobdir_get(d, file, JOBDIR_MOST, answer) == 0)
			return true;
		if (clk_s() >= report_at) {
			front_say("job %s: waiting for its launcher, process %d", d->name, (int)s.pid);
			report_at = clk_s() + (clk_s() - since);
		}
	} while (s.running && poll(NULL, 0, DLAUNCH_TICK_MS) == 0);
	return false;
}

/* Returns false if the launcher has ended before it answered. */
static bool
ask_launcher(const struct jobdir *d, const struct dlaunch_question *q, const char *text, struct buf *answer)
{
	const struct jobdir_state s = dlaunch_find_launcher(d->name, d, q->elsewhere);
	int e;

	unlinkat(d->dir, q->answer_file, 0);
	if ((e = jobdir_put(d, q->file, text, strlen(text))) < 0)
		front_die(d->name, e);
	if (s.pid <= 0 || (kill(s.pid, SIGUSR1) < 0 && errno != ESRCH))
		front_die(d->name, err_sys("launcher process %d", (int)s.pid));
	return wait_for_answer(d, q->answer_file, answer);
}

/*
 * One at a time, where the file system can lock: another question would replace this one.  A launcher that this process
 * starts must not inherit the lock, as it would that of flock(2).
 */
static void
lock_questions(const struct jobdir *d)
{
	const int fd = openat(d->dir, "asks", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fd >= 0)
		(void)fcntl(fd, F_SETLKW, &whole);
}

void
dlaunch_ask(const struct jobdir *d, const struct dlaunch_question *q, const char *text, struct buf *answer)
{
	lock_questions(d);
	/* A launcher that was just killed may have seemed to live: then another one takes the job over. */
	if (ask_launcher(d, q, text, answer) || ask_launcher(d, q, text, answer))
		return;
	unlinkat(d->dir, q->file, 0);
	front_wrong("job %s has ended", d->name);
}
