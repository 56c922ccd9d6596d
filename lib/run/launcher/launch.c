/* launch - one command on many hosts as one: one start, one output, one exit status, one end. */
#include "run/launcher/launch_job.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TICK_MS		200
#define LINK_S		10.0	/* of silence that a connection is lost after, where the host is not */
#define BYE_S		2.0	/* that remote shells get to end after their agents */
#define KILLED_S	5.0	/* that SIGKILL may take */
#define LOW		(64u << 10)	/* bytes of output that wait, below which agents may send more */

#define LINES_A_ROUND 256

/* The silence after which a connection is lost; a detached job's host is not lost with it. */
static double
link_s(const struct launch *l)
{
	double silence = l->opt->job.silence_ms * 1e-3;

	return launch_keeps(l) && silence > LINK_S ? LINK_S : silence;
}

static void
lost(struct launch *l, struct remote *r, const char *why, int code)
{
	if (r->kept && r->state != REMOTE_CALLED)
		launch_away(l, r, why);
	else
		launch_lose(l, r, why, code);
}

static void
run_remote(struct launch *l, struct remote *r, bool died)
{
	char why[2 * REMOTE_LAST];
	const char *text;
	struct frame f;
	int e = 0, code;
	size_t n;

	remote_run(r, died);
	/*
	 * So many a round: a host that floods keeps no other waiting.  Before the frames: what a shell printed in front
	 * of the agent is not taken for the agent's.
	 */
	for (int k = 0; k < LINES_A_ROUND && remote_line(r, &text, &n); k++)
		if ((r->state != REMOTE_CALLED && r->state != REMOTE_AWAY) || l->opt->verbose)
			outq_put_lines(&l->err, r->name, text, n);
	while (e >= 0 && r->chan != NULL && (e = chan_next(r->chan, &f)) > 0)
		e = launch_take(l, r, &f);
	if (e < 0 && r->chan != NULL)
		launch_lose(l, r, err_line(), 1);
	if (r->state == REMOTE_UP && r->chan != NULL && r->why[0] == 0) {
		chan_beat(r->chan);
		if (chan_silent_s(r->chan) > link_s(l)) {
			snprintf(why, sizeof(why), "silent for %.0f s", chan_silent_s(r->chan));
			lost(l, r, why, ROSTER_AGAIN);
		}
	}
	if (remote_lost(r)) {
		remote_why(r, why, &code);
		lost(l, r, why, code);
	}
	/* Its agent has been told that it may end. */
	if (r->state == REMOTE_DONE && r->chan != NULL && (r->why[0] != 0 || chan_silent_s(r->chan) > link_s(l)))
		remote_hang_up(r, 0);
}

/* A server on an address of its own host only, in a job of several hosts, would be waited for by the others for ever. */
static const struct member *
out_of_reach(const struct roster *c)
{
	const struct member *near = NULL;
	bool far = false;

	for (uint32_t i = 0; i < c->first; i++) {
		if (strncmp(c->m[i].where, "127.", 4) == 0 || strncmp(c->m[i].where, "[::1]", 5) == 0 ||
		    strncmp(c->m[i].where, "localhost:", 10) == 0)
			near = &c->m[i];
		else
			far = true;
	}
	return far ? near : NULL;
}

static void
go(struct launch *l)
{
	const struct member *near = out_of_reach(l->roster);

	if (near != NULL) {
		launch_note(l, "host %s: the other hosts cannot reach %s: say addr= in the hosts file, or --interface",
		    l->remote[near->host].name, near->where);
		launch_fail(l, 1);
		return;
	}
	/* First saved, as signals are. */
	l->gone = l->changed = true;
	launch_save(l, true);
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		launch_send_go(l, &l->remote[h]);
}

/* Who is waited for; false: nobody. */
static bool
awaited(const struct launch *l, char text[REMOTE_LAST])
{
	const struct member *m = l->gone || l->roster->termed ? NULL : roster_unknown(l->roster);
	char name[32];

	for (uint32_t h = 0; h < l->roster->hosts && !l->roster->termed; h++)
		if (l->remote[h].state == REMOTE_CALLED || (l->remote[h].state == REMOTE_AWAY && !l->gone)) {
			snprintf(text, REMOTE_LAST, "host %s to answer", l->remote[h].name);
			return true;
		}
	if (m != NULL) {
		roster_name(m, name);
		snprintf(text, REMOTE_LAST, "%s on %s to listen", name, l->remote[m->host].name);
	} else if ((l->roster->termed || l->signo != 0) && (m = roster_left(l->roster)) != NULL && m->pid != 0) {
		roster_name(m, name);
		snprintf(text, REMOTE_LAST, "%s on %s to end", name, l->remote[m->host].name);
	}
	return m != NULL;
}

static void
mind_start(struct launch *l)
{
	char whom[REMOTE_LAST];
	bool waiting = awaited(l, whom);
	double now = clk_s();

	if (!l->gone && !l->roster->termed && !waiting)
		go(l);
	if (!l->gone && !l->roster->termed && waiting && now - l->since > l->opt->start_s) {
		launch_note(l, "waited %.0f s for %s", now - l->since, whom);
		launch_fail(l, ROSTER_AGAIN);
	}
	if (waiting && now > l->patience) {
		launch_note(l, "waiting for %s", whom);
		l->patience = now + (now - l->since > LAUNCH_PATIENCE_S ? now - l->since : LAUNCH_PATIENCE_S);
	}
}

static void
mind_end(struct launch *l)
{
	const struct member *m = l->gone ? roster_left(l->roster) : NULL;
	double now = clk_s();
	char name[32];

	/* Servers end by themselves when their workers have said good-bye; of a job that is to end in half of what is left. */
	if (m != NULL && m->what.role != JOB_WORKER && l->term_at == 0)
		l->term_at = now + (l->signo == 0 ? l->opt->grace_s : l->kill_at > now ? (l->kill_at - now) / 2 : 0);
	if (l->cause_at != 0 && now > l->cause_at)
		launch_end(l);
	if (l->term_at != 0 && now > l->term_at && !l->roster->termed) {
		if (l->signo == 0 && m != NULL) {
			roster_name(m, name);
			launch_note(l, "%s on %s does not end after its workers", name, l->remote[m->host].name);
			roster_fail(l->roster, 1);
		}
		launch_end(l);
	}
	if (l->kill_at != 0 && now > l->kill_at && !l->roster->killed)
		launch_kill(l);
	/* What even SIGKILL does not end is its agent's, which is told by the end of the pipe. */
	for (uint32_t h = 0; h < l->roster->hosts && l->roster->killed && now > l->kill_at + KILLED_S; h++)
		if (l->remote[h].state == REMOTE_UP)
			launch_lose(l, &l->remote[h], "its processes do not end", ROSTER_AGAIN);
}

/* Has a process ended? */
static bool
take_signals(struct launch *l)
{
	struct signalfd_siginfo si;
	bool died = false;

	while (read(l->opt->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGCHLD) {
			died = true;
			continue;
		}
		l->roster->stopped = l->changed = true;
		if (l->signo != 0 || !l->gone) {
			/* The second time, or before there is anything worth keeping. */
			l->signo = l->signo != 0 ? l->signo : (int)si.ssi_signo;
			launch_kill(l);
			continue;
		}
		l->signo = (int)si.ssi_signo;
		launch_note(l, "%s: the workers are asked to end; once more ends them at once", strsignal(l->signo));
		l->roster->asked = true;
		launch_signal(l, CTL_WORKERS, SIGTERM);
		l->kill_at = clk_s() + l->opt->grace_s;
		l->patience = clk_s() + LAUNCH_PATIENCE_S;
	}
	return died;
}

/* Lines that were written make room for more. */
static void
give_credit(struct launch *l)
{
	if (launch_keeps(l)) {
		launch_save(l, false);
		return;
	}
	for (uint32_t h = 0; h < l->roster->hosts && outq_size(&l->out) + outq_size(&l->err) < LOW; h++) {
		struct remote *r = &l->remote[h];
		struct buf b = { 0 };

		if (r->owed < CHAN_WINDOW / 4)
			continue;
		launch_send(r, CTL_CREDIT, &b, ctl_put(&b, r->owed));
		r->owed = 0;
		buf_free(&b);
	}
}

/* What is about to be written takes the picture's place. */
static void
hide(struct launch *l)
{
	for (int err = 0; err < 2; err++)
		if (l->opt->watch.hide != NULL && l->fd[1 + err].revents != 0)
			l->opt->watch.hide(l->opt->watch.arg, err != 0);
}

static int
turn(struct launch *l)
{
	size_t n = 4;
	bool died;

	l->fd[0] = (struct pollfd){ .fd = l->opt->signals, .events = POLLIN };
	l->fd[1] = outq_poll(&l->out);
	l->fd[2] = outq_poll(&l->err);
	l->fd[3] = (struct pollfd){ .fd = launch_hungry(l) ? l->opt->in : -1, .events = POLLIN };
	for (uint32_t h = 0; h < l->roster->hosts; h++, n += REMOTE_FDS)
		remote_poll(&l->remote[h], l->fd + n);
	if (poll(l->fd, n, TICK_MS) < 0 && errno != EINTR)
		return err_sys("poll");
	hide(l);
	if (l->fd[1].revents != 0 && outq_run(&l->out) < 0) {
		launch_note(l, "standard output: %s", err_line());
		launch_fail(l, 1);
	}
	if (l->fd[2].revents != 0)
		outq_run(&l->err);	/* there is nowhere to say that it cannot be written */
	if (l->fd[3].revents != 0)
		launch_input(l);
	died = take_signals(l);
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		run_remote(l, &l->remote[h], died);
	launch_mind_away(l);
	give_credit(l);
	mind_start(l);
	mind_end(l);
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		remote_push(&l->remote[h]);
	if (l->opt->watch.show != NULL && outq_size(&l->out) + outq_size(&l->err) == 0)
		l->opt->watch.show(l->opt->watch.arg);
	return 0;
}

static bool
busy(const struct launch *l)
{
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		if (l->remote[h].state < REMOTE_DONE || (l->remote[h].state == REMOTE_DONE && l->remote[h].chan != NULL))
			return true;
	/* Whoever does not read what is left may be left himself by a second signal. */
	return outq_size(&l->out) + outq_size(&l->err) > 0 && !(l->signo != 0 && l->roster->killed);
}

int
launch_words(const struct launch *l, uint32_t h, const char *option, struct words *argv)
{
	const struct host *host = &l->opt->hosts->host[h];
	int e = 0;

	if (l->opt->rsh != NULL)
		e = words_fill(argv, l->opt->rsh, host->login, host->port);
	if (e == 0 && (e = words_add(argv, "%s", l->opt->agent)) == 0)
		e = words_add(argv, "%s", option);
	if (e == 0 && launch_keeps(l))
		e = words_add(argv, "%s-%u", l->opt->keep.id, h);
	return e;
}

static int
call(struct launch *l, uint32_t h)
{
	struct words argv = { 0 };
	int e = launch_words(l, h, launch_keeps(l) ? "--agent-keep" : "--agent", &argv);

	l->remote[h].kept = launch_keeps(l);
	if (e == 0)
		e = remote_call(&l->remote[h], l->opt->hosts->host[h].login, argv.v);
	words_free(&argv);
	return e;
}

/* Calls all hosts, or is where another launcher was. */
static int
begin(struct launch *l)
{
	if (l->opt->keep.from != NULL)
		return launch_restore(l);
	l->changed = launch_keeps(l);
	launch_save(l, true);
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		if (call(l, h) < 0) {
			launch_lose(l, &l->remote[h], err_line(), 1);
			break;
		}
	return 0;
}

/* The remote shells end after their agents; those that do not are made to. */
static void
part(struct launch *l)
{
	const struct timespec tick = { .tv_nsec = TICK_MS * 1000000l };
	double until = clk_s() + BYE_S;
	bool left = true;
	sigset_t died;

	sigemptyset(&died);
	sigaddset(&died, SIGCHLD);
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		remote_hang_up(&l->remote[h], 0);
	while (left) {
		left = false;
		for (uint32_t h = 0; h < l->roster->hosts; h++) {
			struct remote *r = &l->remote[h];

			if (clk_s() > until)
				remote_hang_up(r, SIGKILL);
			if (child_ended(r->pid, &r->status, NULL))
				r->pid = 0;
			left |= r->pid != 0;
		}
		if (left)
			sigtimedwait(&died, NULL, &tick);
	}
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		remote_free(&l->remote[h]);
}

int
launch_run(const struct launch_opt *opt, struct roster *roster)
{
	struct launch l = { .opt = opt, .roster = roster, .out = { .fd = opt->out }, .err = { .fd = opt->err },
	    .since = clk_s(), .patience = clk_s() + LAUNCH_PATIENCE_S };
	int e = 0;

	l.remote = calloc(roster->hosts, sizeof(*l.remote));
	l.fd = calloc(4 + REMOTE_FDS * (size_t)roster->hosts, sizeof(*l.fd));
	if (l.remote == NULL || l.fd == NULL)
		e = err_nomem();
	else
		e = begin(&l);
	while (e == 0 && busy(&l))
		e = turn(&l);
	if (e < 0) {
		launch_note(&l, "%s", err_line());
		while (outq_size(&l.err) > 0 && outq_run(&l.err) == 0)
			continue;
		for (uint32_t h = 0; h < roster->hosts && l.remote != NULL && launch_keeps(&l); h++)
			if (l.remote[h].state == REMOTE_UP)
				launch_lose(&l, &l.remote[h], "left", 1);
	}
	if (l.remote != NULL)
		launch_save(&l, true);
	part(&l);
	outq_free(&l.out);
	outq_free(&l.err);
	free(l.remote);
	free(l.fd);
	return l.signo != 0 ? 128 + l.signo : e < 0 ? 1 : roster->code;
}
