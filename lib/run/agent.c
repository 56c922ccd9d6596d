/* agent - the one process of a job that dlaunch starts on a host, and that starts all others there. */
#include "run/agent.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/chan.h"
#include "run/ctl.h"
#include "run/family.h"
#include "run/here.h"
#include "run/proc.h"
#include "run/warden.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TICK_MS		200
#define LAST_READS	16	/* of what an ended process left in a pipe: more than fits into one */

struct agent {
	const struct agent_opt *opt;
	struct chan	*chan;		/* NULL: the launcher is gone */
	struct job	 job;
	struct proc	*proc;		/* [job.nchildren], numbered as in the job; NULL before it */
	struct pollfd	*fd;		/* the channel's two, the signals, PROC_FDS a process */
	char		 addr[HERE_ADDR];
	char		*go;		/* NULL: not come yet */
	bool		 done;		/* CTL_DONE is said */
	int		 why;		/* the launcher is gone */
	double		 kill_at;	/* when patience with the processes ends then */
};

/* Nothing can be done for a launcher that is gone: the processes are asked to end, and later made to. */
static void
lose(struct agent *a, int why)
{
	a->why = why;
	a->kill_at = clk_s() + AGENT_GRACE_S;
	chan_close(a->chan);
	a->chan = NULL;
	for (uint32_t i = 0; i < a->job.nchildren && a->proc != NULL; i++) {
		warden_signal(a->proc[i].pid, SIGTERM);
		if (a->proc[i].state == PROC_WAITING)
			a->proc[i].state = PROC_ENDED;
	}
}

static void
say(struct agent *a, enum ctl_type type, const uint32_t *word, size_t n, const char *text)
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
		lose(a, e);
	buf_free(&b);
}

static void
say_lines(struct agent *a, uint32_t i, int which, const char *text, size_t n)
{
	struct buf b = { 0 };
	int e;

	if (a->chan == NULL)
		return;
	if ((e = ctl_put(&b, i)) < 0 || (e = ctl_put(&b, which == 0 ? STDOUT_FILENO : STDERR_FILENO)) < 0 ||
	    (e = buf_put(&b, text, n)) < 0 || (e = chan_log(a->chan, CTL_LINES, b.p, b.n)) < 0)
		lose(a, e);
	buf_free(&b);
}

/* Hands on lines that came.  False when none did. */
static bool
pass_lines(struct agent *a, uint32_t i, int which)
{
	const char *text;
	size_t n;

	if (proc_lines(&a->proc[i], which, &text, &n) != 1)
		return false;
	say_lines(a, i, which, text, n);
	return true;
}

static void
start(struct agent *a, uint32_t i)
{
	struct proc *p = &a->proc[i];
	const struct role_place at = { .addr = a->addr, .bin = a->opt->bin, .go = a->go != NULL ? a->go : "",
	    .processors = here_processors() };
	uint32_t status;
	char text[1100];

	if (proc_start(p, &a->job, &at) == 0) {
		say(a, CTL_STARTED, (uint32_t[]){ i, (uint32_t)p->command }, 2, NULL);
		if (p->what.role == JOB_SCHEDULER)
			say(a, CTL_READY, &i, 1, p->where);
		return;
	}
	/* As a shell has it: a line, and the status of a command that is not there, or cannot be run. */
	status = errno == ENOENT ? 127u << 8 : 126u << 8;
	p->state = PROC_ENDED;
	say_lines(a, i, 1, text, (size_t)snprintf(text, sizeof(text), "%s\n", err_line()));
	say(a, CTL_EXITED, (uint32_t[]){ i, status, 0, 0 }, 4, NULL);
}

static int
take_job(struct agent *a, const struct frame *f)
{
	int e;

	if (a->proc != NULL)
		return err_fail(ERR_FORMAT, "a second job");
	if ((e = job_get(&a->job, f->p, f->len)) < 0)
		return e;
	a->proc = calloc((size_t)a->job.nchildren + 1, sizeof(*a->proc));
	free(a->fd);
	a->fd = calloc(3 + PROC_FDS * (size_t)a->job.nchildren, sizeof(*a->fd));
	if (a->proc == NULL || a->fd == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < a->job.nchildren; i++)
		proc_init(&a->proc[i], &a->job.child[i]);
	if (chdir(a->job.dir) < 0)
		e = err_sys("%s", a->job.dir);
	else
		e = here_addr(a->job.addr, a->job.iface, a->job.host, a->addr);
	for (uint32_t i = 0; i < a->job.nchildren && e == 0; i++)
		if (proc_first(&a->job, &a->proc[i]))
			start(a, i);
	return e;
}

static int
take_go(struct agent *a, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };
	const char *go = ctl_get_text(&in);

	if (a->proc == NULL || a->go != NULL || in.bad)
		return err_fail(ERR_FORMAT, "a start out of turn");
	if ((a->go = strdup(go)) == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < a->job.nchildren; i++)
		if (a->proc[i].state == PROC_WAITING)
			start(a, i);
	return 0;
}

static int
take_signal(struct agent *a, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };
	uint32_t whom = ctl_get(&in), signo = ctl_get(&in);

	if (a->proc == NULL || in.bad || signo == 0 || signo >= NSIG)
		return err_fail(ERR_FORMAT, "a signal that is none");
	for (uint32_t i = 0; i < a->job.nchildren; i++) {
		struct proc *p = &a->proc[i];

		if (whom == CTL_WORKERS && p->what.role != JOB_WORKER)
			continue;
		if (p->state == PROC_WAITING)
			p->state = PROC_ENDED;	/* it is needed no more */
		warden_signal(p->pid, (int)signo);
	}
	return 0;
}

static int
take_input(struct agent *a, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };
	uint32_t i = ctl_get(&in);

	if (in.bad || a->proc == NULL || i >= a->job.nchildren)
		return err_fail(ERR_FORMAT, "input of nobody");
	return proc_input(&a->proc[i], in.p, in.n);
}

static int
take(struct agent *a, const struct frame *f)
{
	switch (f->type) {
	case CTL_JOB:
		return take_job(a, f);
	case CTL_GO:
		return take_go(a, f);
	case CTL_SIGNAL:
		return take_signal(a, f);
	case CTL_INPUT:
		return take_input(a, f);
	case CTL_CREDIT:
		if (f->len != 4)
			break;
		chan_credit(a->chan, le_get32(f->p));
		return 0;
	}
	return err_fail(ERR_FORMAT, "message %u of %u bytes is not a launcher's", f->type, f->len);
}

static bool
all_ended(const struct agent *a)
{
	for (uint32_t i = 0; i < a->job.nchildren; i++)
		if (a->proc != NULL && a->proc[i].state != PROC_ENDED)
			return false;
	return a->proc != NULL || a->chan == NULL;
}

static void
run_chan(struct agent *a)
{
	double silence = a->proc != NULL ? a->job.silence_ms * 1e-3 : AGENT_SILENCE_S;
	struct frame f;
	int e = chan_run(a->chan), got = 0;

	while (a->chan != NULL && got >= 0 && (got = chan_next(a->chan, &f)) > 0)
		got = take(a, &f);
	if (got < 0) {
		e = got;
		say(a, CTL_FAILED, NULL, 0, err_line());
		if (a->chan != NULL)
			chan_run(a->chan);
	} else if (e == 0 && a->chan != NULL && chan_silent_s(a->chan) > silence) {
		e = ERR_PEER;
	}
	/* After CTL_DONE the end of the pipe is how the launcher says good-bye. */
	if (e < 0 && a->chan != NULL)
		lose(a, a->done && e == ERR_PEER ? 0 : e);
	if (a->chan == NULL)
		return;
	chan_beat(a->chan);
	if (a->done || !all_ended(a))
		return;
	a->done = true;
	if ((e = chan_log(a->chan, CTL_DONE, NULL, 0)) < 0)
		lose(a, e);
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
		const struct pollfd *fd = a->fd + 3 + PROC_FDS * (size_t)i;

		for (int which = 0; which < 2; which++)
			if (fd[which].revents != 0)
				pass_lines(a, i, which);
		if (proc_ready(p))
			say(a, CTL_READY, &i, 1, p->where);
		if ((gone = proc_feed(p, fd[3].revents != 0)) > 0)
			say(a, CTL_TAKEN, (uint32_t[]){ i, gone }, 2, NULL);
		if (!proc_ended(p, &status, &peak))
			continue;
		kill_strays(a);
		/* What it wrote is in the pipes, even where what could not be killed holds them open. */
		for (int which = 0; which < 2; which++)
			for (int k = 0; k < LAST_READS; k++)	/* also behind a line that is not whole yet */
				pass_lines(a, i, which);
		proc_free(p);
		say(a, CTL_EXITED, (uint32_t[]){ i, (uint32_t)status, (uint32_t)((clk_s() - p->since) * 1e3),
		    peak }, 4, NULL);
	}
}

static int
wait_for_all(struct agent *a)
{
	uint32_t n = a->proc != NULL ? a->job.nchildren : 0;

	a->fd[0] = a->fd[1] = (struct pollfd){ .fd = -1 };
	if (a->chan != NULL)
		chan_poll(a->chan, a->fd);
	a->fd[2] = (struct pollfd){ .fd = a->opt->signals, .events = POLLIN };
	/* When the log is full, lines stay in their pipe and the process waits. */
	for (uint32_t i = 0; i < n; i++)
		proc_poll(&a->proc[i], a->chan == NULL || chan_log_room(a->chan), a->fd + 3 + PROC_FDS * (size_t)i);
	if (poll(a->fd, 3 + PROC_FDS * (nfds_t)n, TICK_MS) < 0 && errno != EINTR)
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
			lose(a, ERR_STOP);
	run_procs(a);
	if (a->chan != NULL)
		run_chan(a);
	if (a->chan == NULL && clk_s() > a->kill_at)
		for (uint32_t i = 0; i < a->job.nchildren && a->proc != NULL; i++)
			warden_signal(a->proc[i].pid, SIGKILL);
	return e;
}

static int
begin(struct agent *a)
{
	struct buf hello = { 0 };
	int e = 0;

	family_begin();
	a->fd = calloc(3, sizeof(*a->fd));
	if ((a->chan = chan_open(a->opt->in, a->opt->out)) == NULL || a->fd == NULL ||
	    ctl_put(&hello, CTL_PROTOCOL) < 0 || ctl_put_text(&hello, a->opt->version) < 0 ||
	    chan_send(a->chan, CTL_HELLO, hello.p, hello.n) < 0)
		e = err_nomem();
	buf_free(&hello);
	return e;
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
	job_free(&a.job);
	free(a.proc);
	free(a.fd);
	free(a.go);
	return e < 0 ? e : a.why;
}
