/* agent - the one process of a job that dlaunch starts on a host, and that starts all others there. */
#include "run/agent/agent_job.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/family.h"
#include "run/agent/shim.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS		200
#define LAST_READS	16	/* of what an ended process left in a pipe: more than fits into one */

void
agent_lose(struct agent *a, int why)
{
	a->why = why;
	a->kill_at = clk_s() + AGENT_GRACE_S;
	chan_close(a->chan);
	chan_close(a->caller);
	a->chan = a->caller = NULL;
	for (uint32_t i = 0; i < a->job.nchildren && a->proc != NULL; i++) {
		shim_signal(a->proc[i].pid, SIGTERM);
		if (a->proc[i].state == PROC_WAITING)
			a->proc[i].state = PROC_ENDED;
	}
}

void
agent_say(struct agent *a, enum ctl_type type, const uint32_t *word, size_t n, const char *text)
{
	struct buf b = { 0 };
	int e = 0;

	if (a->chan == NULL)
		return;
	for (size_t i = 0; i < n && e == 0; i++)
		e = ctl_put(&b, word[i]);
	if (e == 0 && text != NULL)
		e = ctl_put_text(&b, text);
	if (e < 0 || (e = chan_send(a->chan, type, b.p, b.n)) < 0)
		agent_lose(a, e);
	buf_free(&b);
}

void
agent_say_lines(struct agent *a, uint32_t i, int which, const char *text, size_t n)
{
	struct buf b = { 0 };
	int e;

	if (a->chan == NULL)
		return;
	if ((e = ctl_put(&b, i)) < 0 || (e = ctl_put(&b, which == 0 ? STDOUT_FILENO : STDERR_FILENO)) < 0 ||
	    (e = buf_put(&b, text, n)) < 0 || (e = chan_log(a->chan, CTL_LINES, b.p, b.n)) < 0)
		agent_lose(a, e);
	buf_free(&b);
}

void
agent_say_exit(struct agent *a, uint32_t i)
{
	struct proc *p = &a->proc[i];

	p->told = true;
	agent_say(a, CTL_EXITED, (uint32_t[]){ i, (uint32_t)p->status, p->ms, p->peak_kib }, 4, NULL);
}

/* Hands on lines that came.  False when none did. */
static bool
pass_lines(struct agent *a, uint32_t i, int which)
{
	const char *text;
	size_t n;

	if (proc_lines(&a->proc[i], which, &text, &n) != 1)
		return false;
	agent_say_lines(a, i, which, text, n);
	return true;
}

static bool
all_ended(const struct agent *a)
{
	for (uint32_t i = 0; i < a->job.nchildren; i++)
		if (a->proc != NULL && a->proc[i].state != PROC_ENDED)
			return false;
	return a->proc != NULL || a->chan == NULL;
}

/* May a launcher whose connection is lost come back? */
static bool
comes_back(const struct agent *a)
{
	return a->opt->door >= 0 && a->proc != NULL;
}

/* What is to be said leaves, and when all have ended that too: after CTL_DONE a launcher that cannot come back closes the pipe. */
static void
mind_end(struct agent *a)
{
	int e = 0;

	if (!a->done && all_ended(a)) {
		a->done = true;
		e = chan_log(a->chan, CTL_DONE, NULL, 0);
	}
	if (e == 0)
		e = chan_push(a->chan);
	if (e < 0 || (a->done && comes_back(a) && chan_log_done(a->chan)))
		agent_lose(a, e);
}

static void
run_chan(struct agent *a)
{
	double silence = a->proc != NULL ? a->job.silence_ms * 1e-3 : AGENT_SILENCE_S;
	struct frame f;
	int e = chan_run(a->chan), got = 0;

	while (a->chan != NULL && got >= 0 && (got = chan_next(a->chan, &f)) > 0)
		got = agent_take(a, &f);
	if (e < 0 && got >= 0 && a->chan != NULL && comes_back(a)) {
		chan_shut(a->chan);
		e = 0;
	}
	if (got < 0) {
		e = got;
		agent_say(a, CTL_FAILED, NULL, 0, err_line());
		if (a->chan != NULL)
			chan_run(a->chan);
	} else if (e == 0 && a->chan != NULL && chan_silent_s(a->chan) > silence) {
		e = ERR_PEER;
	}
	if (e < 0 && a->chan != NULL)
		agent_lose(a, a->done && e == ERR_PEER ? 0 : e);
	if (a->chan != NULL)
		chan_beat(a->chan);
}

/* What a warden that was killed has left: all children but the wardens, and what is below them. */
static void
kill_strays(const struct agent *a)
{
	pid_t *warden = calloc((size_t)a->job.nchildren + 1, sizeof(*warden));

	for (uint32_t i = 0; i < a->job.nchildren && warden != NULL; i++)
		warden[i] = a->proc[i].pid;
	if (warden != NULL)
		family_kill(warden, a->job.nchildren);
	free(warden);
}

static void
run_procs(struct agent *a)
{
	uint32_t peak, gone;
	int status;

	for (uint32_t i = 0; i < a->job.nchildren && a->proc != NULL; i++) {
		struct proc *p = &a->proc[i];
		const struct pollfd *fd = a->fd + AGENT_FDS + PROC_FDS * (size_t)i;

		for (int which = 0; which < 2; which++)
			if (fd[which].revents != 0)
				pass_lines(a, i, which);
		if (proc_ready(p))
			agent_say(a, CTL_READY, &i, 1, p->where);
		if ((gone = proc_feed(p, fd[3].revents != 0)) > 0)
			agent_say(a, CTL_TAKEN, (uint32_t[]){ i, gone }, 2, NULL);
		if (!proc_ended(p, &status, &peak))
			continue;
		if (WIFSIGNALED(status))	/* else the warden has seen to that */
			kill_strays(a);
		/* What it wrote is in the pipes, even where what could not be killed holds them open. */
		for (int which = 0; which < 2; which++)
			for (int k = 0; k < LAST_READS; k++)	/* also behind a line that is not whole yet */
				pass_lines(a, i, which);
		proc_free(p);
		p->status = status;
		p->ms = (uint32_t)((clk_s() - p->since) * 1e3);
		p->peak_kib = peak;
		agent_say_exit(a, i);
	}
}

/* Has the log room?  Counts for how long it has not. */
static bool
log_room(struct agent *a)
{
	bool room = a->chan == NULL || chan_log_room(a->chan);

	if (room && a->full_at > 0) {
		a->full_s += clk_s() - a->full_at;
		a->full_at = 0;
	} else if (!room && a->full_at == 0) {
		a->full_at = clk_s();
	}
	return room;
}

static int
wait_for_all(struct agent *a)
{
	uint32_t n = a->proc != NULL ? a->job.nchildren : 0;
	bool room = log_room(a);

	for (int i = 0; i < AGENT_FDS; i++)
		a->fd[i] = (struct pollfd){ .fd = -1 };
	if (a->chan != NULL)
		chan_poll(a->chan, a->fd);
	a->fd[2] = (struct pollfd){ .fd = a->opt->signals, .events = POLLIN };
	if (a->chan != NULL && clk_s() >= a->door_at)
		a->fd[3] = (struct pollfd){ .fd = a->opt->door, .events = POLLIN };
	if (a->caller != NULL)
		chan_poll(a->caller, a->fd + 4);
	/* When the log is full, lines stay in their pipe and the process waits. */
	for (uint32_t i = 0; i < n; i++)
		proc_poll(&a->proc[i], room, a->fd + AGENT_FDS + PROC_FDS * (size_t)i);
	if (poll(a->fd, AGENT_FDS + PROC_FDS * (nfds_t)n, TICK_MS) < 0 && errno != EINTR)
		return err_sys("poll");
	return 0;
}

static int
turn(struct agent *a)
{
	struct signalfd_siginfo si;
	int e = wait_for_all(a);

	while (read(a->opt->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		if (si.ssi_signo == SIGTERM && a->chan != NULL)
			agent_lose(a, ERR_STOP);
	if (a->chan != NULL)
		run_chan(a);
	run_procs(a);
	if (e == 0 && a->chan != NULL && a->fd[3].revents != 0)
		agent_door(a);
	if (a->caller != NULL)
		agent_hear(a);
	if (a->chan != NULL)
		mind_end(a);
	if (a->chan == NULL && clk_s() > a->kill_at)
		for (uint32_t i = 0; i < a->job.nchildren && a->proc != NULL; i++)
			shim_signal(a->proc[i].pid, SIGKILL);
	return e;
}

static int
begin(struct agent *a)
{
	family_begin();
	a->fd = calloc(AGENT_FDS, sizeof(*a->fd));
	if ((a->chan = chan_open(a->opt->in, a->opt->out)) == NULL || a->fd == NULL)
		return err_nomem();
	if (a->opt->door < 0)
		return agent_greet(a->chan, a->opt->version);
	chan_keep(a->chan);
	return 0;
}

int
agent_run(const struct agent_opt *opt)
{
	struct agent a = { .opt = opt };
	int e = begin(&a);

	while (e == 0 && (a.chan != NULL || !all_ended(&a)))
		e = turn(&a);
	for (uint32_t i = 0; i < a.job.nchildren && a.proc != NULL; i++)
		proc_free(&a.proc[i]);
	chan_close(a.chan);
	chan_close(a.caller);
	job_free(&a.job);
	free(a.proc);
	free(a.fd);
	free(a.go);
	return e < 0 ? e : a.why;
}
