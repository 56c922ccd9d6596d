/* agent - the process that dlaunch starts on each host, and that starts the job's processes there. */
#include "run/agent/agent_job.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/family.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS		200
#define LAST_READS	16	/* reads of a pipe after its process has ended: more than a pipe holds */

void
agent_lose_launcher(struct agent *a, int why)
{
	a->end_error = why;
	snprintf(a->end_line, sizeof(a->end_line), "%s", why < 0 ? err_line() : "");
	a->kill_at = clk_s() + AGENT_GRACE_S;
	chan_close(a->chan);
	chan_close(a->incoming);
	a->chan = a->incoming = NULL;
	for (uint32_t i = 0; i < a->job.nchildren && a->proc != NULL; i++) {
		proc_signal(&a->proc[i], SIGTERM);
		if (a->proc[i].state == PROC_WAITING || a->proc[i].state == PROC_LEFT)
			a->proc[i].state = PROC_ENDED;
	}
}

void
agent_send(struct agent *a, enum ctl_type type, const uint32_t *word, size_t n, const char *text)
{
	struct buf b = { 0 };
	int e;

	if (a->chan == NULL)
		return;
	e = ctl_put_u32s(&b, word, n);
	if (e == 0 && text != NULL)
		e = ctl_put_text(&b, text);
	if (e < 0 || (e = chan_send(a->chan, type, b.p, b.n)) < 0)
		agent_lose_launcher(a, e);
	buf_free(&b);
}

void
agent_send_lines(struct agent *a, uint32_t i, int which, const char *text, size_t n)
{
	struct buf b = { 0 };
	int e;

	if (a->chan == NULL)
		return;
	if ((e = ctl_put_u32(&b, i)) < 0 || (e = ctl_put_u32(&b, which == 0 ? STDOUT_FILENO : STDERR_FILENO)) < 0 ||
	    (e = buf_put(&b, text, n)) < 0 || (e = chan_log(a->chan, CTL_LINES, b.p, b.n)) < 0)
		agent_lose_launcher(a, e);
	buf_free(&b);
}

void
agent_send_start(struct agent *a, uint32_t i)
{
	const struct proc *p = &a->proc[i];

	if (!(p->adopted && p->leaving && p->child.stage == JOB_NEW))
		agent_send(a, CTL_STARTED, (uint32_t[]){ i, (uint32_t)p->command }, 2, NULL);
}

void
agent_send_end(struct agent *a, uint32_t i)
{
	const struct proc *p = &a->proc[i];

	agent_send(a, p->end_sent, (uint32_t[]){ i, (uint32_t)p->status, p->ms, p->peak_kib }, 4, NULL);
}

void
agent_end_process(struct agent *a, uint32_t i, enum ctl_type how)
{
	int e = a->chan != NULL ? chan_push(a->chan) : 0;

	if (e < 0)
		agent_lose_launcher(a, e);
	a->proc[i].end_sent = how;
	agent_send_end(a, i);
}

/* Sends lines of a process.  Returns false if there were none. */
static bool
forward_lines(struct agent *a, uint32_t i, int which)
{
	const char *text;
	size_t n;

	if (proc_next_lines(&a->proc[i], which, &text, &n) != 1)
		return false;
	agent_send_lines(a, i, which, text, n);
	return true;
}

static bool
have_all_procs_ended(const struct agent *a)
{
	for (uint32_t i = 0; i < a->job.nchildren; i++)
		if (a->proc != NULL && a->proc[i].state != PROC_ENDED)
			return false;
	return a->proc != NULL || a->chan == NULL;
}

/* True if a launcher whose connection is lost can come back. */
static bool
can_reconnect(const struct agent *a)
{
	return a->opt->attach_fd >= 0 && a->proc != NULL;
}

/*
 * Writes what is queued, with CTL_DONE last once all processes have ended.  Then a launcher closes the
 * pipe; the agent of a detached job ends by itself when CTL_DONE is credited.
 */
static void
finish_job(struct agent *a)
{
	int e = 0;

	if (!a->done && have_all_procs_ended(a)) {
		a->done = true;
		e = chan_log(a->chan, CTL_DONE, NULL, 0);
	}
	if (e == 0)
		e = chan_push(a->chan);
	if (e < 0 || (a->done && can_reconnect(a) && chan_log_done(a->chan)))
		agent_lose_launcher(a, e);
}

static void
service_chan(struct agent *a)
{
	double silence = a->proc != NULL ? a->job.silence_ms * 1e-3 : AGENT_SILENCE_S;
	struct frame f;
	int e = chan_run(a->chan), got = 0;

	while (a->chan != NULL && got >= 0 && (got = chan_next(a->chan, &f)) > 0)
		got = agent_handle(a, &f);
	if (e < 0 && got >= 0 && a->chan != NULL && can_reconnect(a)) {
		chan_shut(a->chan);
		e = 0;
	}
	if (got < 0) {
		e = got;
		agent_send(a, CTL_FAILED, NULL, 0, err_line());
		if (a->chan != NULL)
			chan_run(a->chan);
	} else if (e == 0 && a->chan != NULL && chan_silent_s(a->chan) > silence) {
		e = err_fail(ERR_PEER, "its agent has heard nothing from dlaunch for %.0f s", silence);
	}
	if (e < 0 && a->chan != NULL)
		agent_lose_launcher(a, a->done && e == ERR_PEER ? 0 : e);
	if (a->chan != NULL)
		chan_beat(a->chan);
}

/* Kills the processes that a killed shim has left: all children but the other shims, with their descendants. */
static void
kill_strays(const struct agent *a)
{
	pid_t *shims = calloc((size_t)a->job.nchildren + 1, sizeof(*shims));

	for (uint32_t i = 0; i < a->job.nchildren && shims != NULL; i++)
		shims[i] = a->proc[i].pid;
	if (shims != NULL)
		family_kill(shims, a->job.nchildren);
	free(shims);
}

/* A request to end is no accident. */
static bool
has_died(int status)
{
	int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	return signo != 0 && signo != SIGTERM && signo != SIGINT && signo != SIGUSR1;
}

/* Whether a worker could not join an elastic job that goes on. */
static bool
is_unjoined(const struct agent *a, uint32_t i, int status)
{
	return !a->closed && !agent_reserve(a, i) && job_unjoined(a->job.elastic, &a->proc[i].child, status);
}

/*
 * Starts a server or a worker again that died, with its memory and a server's socket, or a worker that could not join,
 * unless the job is being ended.  Returns whether it runs.
 */
static bool
restart_process(struct agent *a, uint32_t i, int status)
{
	const struct role_place at = agent_place(a);
	struct proc *p = &a->proc[i];
	const bool unjoined = is_unjoined(a, i, status);
	char text[ERR_LINE + 128], how[64];
	int e;

	if (a->chan == NULL || a->signals > 0 || !(unjoined || (has_died(status) && proc_has_successor(p, &a->job))))
		return false;
	if ((e = proc_start_again(p, &a->job, &at)) == 0)
		agent_send_start(a, i);
	if (unjoined)
		snprintf(how, sizeof(how), "this worker could not join the job");
	else
		snprintf(how, sizeof(how), "signal %d ended this %s", WTERMSIG(status), job_role(p->child.role));
	agent_send_lines(a, i, 1, text, (size_t)snprintf(text, sizeof(text),
	    "dlaunch: %s; it was %sstarted again%s%s\n", how, e < 0 ? "not " : "", e < 0 ? ": " : "",
	    e < 0 ? err_line() : ""));
	return e == 0;
}

/* Whether a worker has left an elastic job, as it was asked to: the launcher believes it. */
static bool
has_left(const struct agent *a, uint32_t i, int status)
{
	return a->chan != NULL && a->signals == 0 && (a->proc[i].leaving || agent_reserve(a, i)) &&
	    (status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1) ||
	    job_unjoined(a->job.elastic, &a->proc[i].child, status));
}

static void
service_procs(struct agent *a)
{
	uint32_t gone;
	int status;
	bool stray, left;

	for (uint32_t i = 0; i < a->job.nchildren && a->proc != NULL; i++) {
		struct proc *p = &a->proc[i];
		const struct pollfd *fd = a->fd + AGENT_FDS + PROC_FDS * (size_t)i;

		for (int which = 0; which < 2; which++)
			if (fd[which].revents != 0)
				forward_lines(a, i, which);
		if (proc_ready(p))
			agent_send(a, CTL_READY, &i, 1, p->addr);
		if ((gone = proc_feed(p, fd[3].revents != 0)) > 0)
			agent_send(a, CTL_TAKEN, (uint32_t[]){ i, gone }, 2, NULL);
		/* A worker that has ended may have a successor, which needs the servers' addresses. */
		if (a->go == NULL && a->chan != NULL && !proc_starts_first(&a->job, p))
			continue;
		if (!proc_ended(p, &status, &stray))
			continue;
		if (stray)	/* otherwise the shim has killed them */
			kill_strays(a);
		/* Its last output is in the pipes, which an unkillable process may still hold open. */
		for (int which = 0; which < 2; which++)
			for (int k = 0; k < LAST_READS; k++)	/* also after an incomplete line */
				forward_lines(a, i, which);
		if (restart_process(a, i, status))
			continue;
		/* The shim stays, as an agent that follows this one must learn of the end. */
		proc_close_pipes(p);
		proc_stop_listening(p);
		p->status = status;
		p->ms = (uint32_t)((clk_s() - p->started_at) * 1e3);
		left = has_left(a, i, status);
		agent_end_process(a, i, left ? CTL_LEFT : CTL_EXITED);
		if (left)
			agent_rejoin(a, i);
		else if (a->chan != NULL && a->signals == 0 && is_unjoined(a, i, status))
			p->state = PROC_LEFT;	/* until the launcher wants more workers again */
	}
}

/* Returns whether the log has room, and adds up for how long it has not. */
static bool
update_log_room(struct agent *a)
{
	bool room = a->chan == NULL || chan_log_room(a->chan);

	if (room && a->log_full_since > 0) {
		a->log_full_s += clk_s() - a->log_full_since;
		a->log_full_since = 0;
	} else if (!room && a->log_full_since == 0) {
		a->log_full_since = clk_s();
	}
	return room;
}

static int
poll_agent(struct agent *a)
{
	uint32_t n = a->proc != NULL ? a->job.nchildren : 0;
	bool room = update_log_room(a);

	for (int i = 0; i < AGENT_FDS; i++)
		a->fd[i] = (struct pollfd){ .fd = -1 };
	if (a->chan != NULL)
		chan_poll(a->chan, a->fd);
	a->fd[2] = (struct pollfd){ .fd = a->opt->signals, .events = POLLIN };
	if (a->chan != NULL && clk_s() >= a->accept_at)
		a->fd[3] = (struct pollfd){ .fd = a->opt->attach_fd, .events = POLLIN };
	if (a->incoming != NULL)
		chan_poll(a->incoming, a->fd + 4);
	/* If the log is full, lines stay in the pipe and the process blocks. */
	for (uint32_t i = 0; i < n; i++)
		proc_poll(&a->proc[i], room, a->fd + AGENT_FDS + PROC_FDS * (size_t)i);
	if (poll(a->fd, AGENT_FDS + PROC_FDS * (nfds_t)n, TICK_MS) < 0 && errno != EINTR)
		return err_sys("poll");
	return 0;
}

static int
run_agent_round(struct agent *a)
{
	struct signalfd_siginfo si;
	int e = poll_agent(a);

	while (read(a->opt->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		if (si.ssi_signo == SIGTERM && a->chan != NULL)
			agent_lose_launcher(a, ERR_STOP);
	if (a->chan != NULL)
		service_chan(a);
	service_procs(a);
	agent_check_set(a);
	if (e == 0 && a->chan != NULL && a->fd[3].revents != 0)
		agent_accept(a);
	if (a->incoming != NULL)
		agent_handle_incoming(a);
	if (a->chan != NULL)
		finish_job(a);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	if (a->chan == NULL && clk_s() > a->kill_at)
		for (uint32_t i = 0; i < a->job.nchildren && a->proc != NULL; i++)
			proc_signal(&a->proc[i], SIGKILL);
	return e;
}

static int
open_agent(struct agent *a)
{
	family_adopt();
	a->fd = calloc(AGENT_FDS, sizeof(*a->fd));
	if ((a->chan = chan_open(a->opt->in, a->opt->out)) == NULL || a->fd == NULL)
		return err_nomem();
	if (a->opt->attach_fd < 0)
		return agent_send_hello(a->chan, a->opt->version);
	chan_keep(a->chan);
	return 0;
}

int
agent_run(const struct agent_opt *opt)
{
	struct agent a = { .opt = opt };
	int e = open_agent(&a);

	while (e == 0 && (a.chan != NULL || !have_all_procs_ended(&a)))
		e = run_agent_round(&a);
	for (uint32_t i = 0; i < a.job.nchildren && a.proc != NULL; i++)
		proc_free(&a.proc[i]);
	chan_close(a.chan);
	chan_close(a.incoming);
	mailbox_close(&a.box);
	job_free(&a.job);
	free(a.proc);
	free(a.fd);
	free(a.go);
	if (e < 0 || a.end_error == 0)
		return e;
	err_note(0, "%s", a.end_line);
	return a.end_error;
}
