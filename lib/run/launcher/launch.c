/* launch - the launcher: runs a job on many hosts, with one output and one exit status. */
#include "run/launcher/launch_job.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/agent/agent.h"
#include "run/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TICK_MS		200
#define SILENT_S	3.0	/* silence that is reported */
#define LINK_S		5.0	/* silence after which a detached job's connection is lost, but not its host */
#define BYE_S		(AGENT_GRACE_S + 1.0)	/* until agents and remote shells are killed */
#define KILLED_S	5.0	/* time for processes to end after SIGKILL */
#define LOW		(64u << 10)	/* agents get credit while fewer bytes of output wait */
#define LINES_A_ROUND	256	/* reads of a remote shell's errors in a round */

/* The silence after which a connection is lost, in seconds. */
static double
choose_link_timeout_s(const struct launch *l)
{
	double silence = l->opt->job.silence_ms * 1e-3;

	return launch_is_detached(l) && silence > LINK_S ? LINK_S : silence;
}

/* A job that is not detached ends with its connections.  It survives its agents: if one was killed, another follows. */
static void
handle_lost_link(struct launch *l, struct remote *r, const char *why, int code)
{
	if (r->detached ? r->state != REMOTE_CALLED : r->state == REMOTE_UP && !r->adopting && l->opt->id != NULL)
		launch_lose_link(l, r, why);
	else if (r->state == REMOTE_CALLED)
		launch_lose(l, r, why, code);
	else
		launch_lose(l, r, r->reason[0] != 0 ? r->reason : why, ROSTER_AGAIN);
}

/* Reports a host that is silent, and gives up one that has been so for too long. */
static void
check_silence(struct launch *l, struct remote *r)
{
	const double silent = chan_silent_s(r->chan);
	char why[REMOTE_LAST];

	snprintf(why, sizeof(why), "silent for %.0f s", silent);
	if (silent > choose_link_timeout_s(l)) {
		r->silent = false;
		if (r->detached)
			launch_lose_link(l, r, why);
		else
			launch_lose(l, r, why, ROSTER_AGAIN);
	} else if ((silent > SILENT_S) != r->silent) {
		r->silent = !r->silent;
		if (r->silent)
			launch_report(l, "waiting for host %s: %s", r->name, why);
		else
			launch_report(l, "host %s: is back", r->name);
	}
}

/* Whether there is room for what the remote shells print. */
static bool
takes_lines(const struct launch *l)
{
	return outq_size(&l->err) < LOW;
}

static void
service_remote(struct launch *l, struct remote *r, bool died)
{
	char why[2 * REMOTE_LAST];
	const char *text;
	struct frame f;
	int e = 0, code;
	size_t n;

	remote_run(r, died);
	/*
	 * Limited, so that a host that floods cannot starve the others.  Before the frames, so that what a
	 * shell prints before the agent answers is not taken for the agent's.
	 */
	for (int k = 0; k < LINES_A_ROUND && takes_lines(l) && remote_line(r, &text, &n); k++)
		if ((r->state != REMOTE_CALLED && r->state != REMOTE_AWAY) || l->opt->verbose)
			outq_put_lines(&l->err, r->name, text, n);
	while (e >= 0 && r->chan != NULL && (e = chan_next(r->chan, &f)) > 0)
		e = launch_handle(l, r, &f);
	if (e < 0 && r->chan != NULL)
		launch_lose(l, r, err_line(), 1);
	if (r->state == REMOTE_UP && r->chan != NULL && r->why[0] == 0) {
		chan_beat(r->chan);
		check_silence(l, r);
	}
	if (remote_lost(r)) {
		remote_why(r, why, &code);
		handle_lost_link(l, r, why, code);
	}
	/* The agent may end now, and the launcher need not wait for it. */
	if (r->state == REMOTE_DONE && r->chan != NULL &&
	    (r->why[0] != 0 || chan_silent_s(r->chan) > choose_link_timeout_s(l)))
		remote_hang_up(r, 0);
}

/*
 * Returns a server that listens on a loopback address although others listen elsewhere; NULL: none.
 * The other hosts could not reach it and would wait for ever.
 */
static const struct member *
find_unreachable_server(const struct roster *c)
{
	const struct member *near = NULL;
	bool far = false;

	for (uint32_t i = 0; i < c->nlisteners; i++) {
		if (strncmp(c->m[i].addr, "127.", 4) == 0 || strncmp(c->m[i].addr, "[::1]", 5) == 0 ||
		    strncmp(c->m[i].addr, "localhost:", 10) == 0)
			near = &c->m[i];
		else
			far = true;
	}
	return far ? near : NULL;
}

static void
start_workers(struct launch *l)
{
	const struct member *near = find_unreachable_server(l->roster);

	if (near != NULL) {
		launch_report(l, "host %s: the other hosts cannot reach %s; set addr= in the hosts file, or use "
		    "--interface", l->remote[near->host].name, near->addr);
		launch_fail(l, 1);
		return;
	}
	/* Saved before it is sent, as signals are. */
	l->started = l->changed = true;
	launch_save(l, true);
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		launch_send_go(l, &l->remote[h]);
}

/* Describes what the launcher waits for.  Returns false if it waits for nothing. */
static bool
describe_awaited(const struct launch *l, char text[REMOTE_LAST])
{
	const struct member *m = l->started || l->roster->termed ? NULL : roster_unknown(l->roster);
	char name[32];

	for (uint32_t h = 0; h < l->roster->hosts && !l->roster->termed; h++)
		if (l->remote[h].state == REMOTE_CALLED || (l->remote[h].state == REMOTE_AWAY && !l->started)) {
			snprintf(text, REMOTE_LAST, "host %s to answer", l->remote[h].name);
			return true;
		}
	if (m != NULL) {
		roster_name(m, name);
		snprintf(text, REMOTE_LAST, "%s on %s to listen", name, l->remote[m->host].name);
	} else if ((l->roster->termed || l->signo != 0) && (m = roster_running(l->roster)) != NULL) {
		roster_name(m, name);
		snprintf(text, REMOTE_LAST, "%s on %s to end", name, l->remote[m->host].name);
	}
	return m != NULL;
}

static void
check_start(struct launch *l)
{
	char whom[REMOTE_LAST];
	bool waiting = describe_awaited(l, whom);
	double now = clk_s();

	if (!l->started && !l->roster->termed && !waiting)
		start_workers(l);
	if (!l->started && !l->roster->termed && waiting && now - l->started_at > l->opt->start_s) {
		launch_report(l, "waited %.0f s for %s", now - l->started_at, whom);
		for (uint32_t h = 0; h < l->roster->hosts; h++)
			if (l->remote[h].state == REMOTE_CALLED)
				launch_mark_lost(l, h);
		launch_fail(l, ROSTER_AGAIN);
	}
	if (waiting && now > l->report_at) {
		launch_report(l, "waiting for %s", whom);
		l->report_at = now + (now - l->started_at > LAUNCH_REPORT_S ? now - l->started_at : LAUNCH_REPORT_S);
	}
}

/*
 * Servers end by themselves after their workers.  After a signal they get half of the remaining grace for that, but
 * none if the signal killed the workers.
 */
static double
get_servers_time(const struct launch *l, double now)
{
	if (l->signo == 0)
		return l->opt->grace_s;
	return roster_worker_exited(l->roster) && l->kill_at > now ? (l->kill_at - now) / 2 : 0;
}

static void
check_end(struct launch *l)
{
	const struct member *m = l->started ? roster_unfinished(l->roster) : NULL;
	double now = clk_s();
	char name[32];

	launch_check_cause(l);
	if (m != NULL && m->child.role != JOB_WORKER && l->term_at == 0)
		l->term_at = now + get_servers_time(l, now);
	if (l->peer_lost_until != 0 && now > l->peer_lost_until)
		launch_end(l);
	if (l->term_at != 0 && now > l->term_at && !l->roster->termed) {
		if (l->signo == 0 && m != NULL) {
			roster_name(m, name);
			launch_report(l, "%s on %s does not end after its workers", name, l->remote[m->host].name);
			roster_fail(l->roster, 1);
		}
		launch_end(l);
	}
	if (l->kill_at != 0 && now > l->kill_at && !l->roster->killed)
		launch_kill(l);
	/* Processes that survive SIGKILL are left to their agent, which ends as its pipe is closed. */
	for (uint32_t h = 0; h < l->roster->hosts && l->roster->killed && now > l->kill_at + KILLED_S; h++)
		if (l->remote[h].state == REMOTE_UP)
			launch_lose(l, &l->remote[h], "its processes do not end", ROSTER_AGAIN);
}

/* Handles the user's signals.  Returns true if a child process has ended. */
static bool
handle_signals(struct launch *l)
{
	struct signalfd_siginfo si;
	bool died = false;

	while (read(l->opt->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGCHLD || si.ssi_signo == SIGUSR1) {
			died |= si.ssi_signo == SIGCHLD;
			l->scales |= si.ssi_signo == SIGUSR1;
			l->sets |= si.ssi_signo == SIGUSR1;
			continue;
		}
		l->roster->stopped = l->changed = true;
		if (l->signo != 0 || !l->started) {
			/* The second signal, or the first before all processes run. */
			l->signo = l->signo != 0 ? l->signo : (int)si.ssi_signo;
			launch_kill(l);
			continue;
		}
		l->signo = (int)si.ssi_signo;
		launch_report(l, "%s: stopping the workers; signal again to kill all processes", strsignal(l->signo));
		launch_stop(l);
	}
	return died;
}

/* Lets the agents send more lines as far as output was written. */
static void
send_credit(struct launch *l)
{
	if (launch_is_detached(l)) {
		launch_save(l, false);
		return;
	}
	for (uint32_t h = 0; h < l->roster->hosts &&
	    outq_size(&l->out) + outq_size(&l->err) + outq_size(&l->held) < LOW; h++) {
		struct remote *r = &l->remote[h];

		if (r->uncredited < CHAN_WINDOW / 4)
			continue;
		launch_send_u32s(r, CTL_CREDIT, &r->uncredited, 1);
		r->uncredited = 0;
	}
}

/* Hides the progress display if output is about to be written. */
static void
hide_progress(struct launch *l)
{
	for (int err = 0; err < 2; err++)
		if (l->opt->watch.hide != NULL && l->fd[1 + err].revents != 0)
			l->opt->watch.hide(l->opt->watch.arg, err != 0);
}

static int
run_launch_round(struct launch *l)
{
	const double until = clk_s() + TICK_MS * 1e-3;
	size_t n = 4;
	bool died;

	l->fd[0] = (struct pollfd){ .fd = l->opt->signals, .events = POLLIN };
	l->fd[1] = outq_poll(&l->out);
	l->fd[2] = outq_poll(&l->err);
	l->fd[3] = (struct pollfd){ .fd = launch_wants_input(l) ? l->opt->in : -1, .events = POLLIN };
	for (uint32_t h = 0; h < l->roster->hosts; h++, n += REMOTE_FDS)
		remote_poll(&l->remote[h], l->fd + n, takes_lines(l));
	if (poll(l->fd, n, TICK_MS) < 0 && errno != EINTR)
		return err_sys("poll");
	/* What the hosts sent may be there, unread: their time begins again, as in chan_silent_s(). */
	if (clk_stopped(until))
		l->report_at = clk_s() + LAUNCH_REPORT_S;
	hide_progress(l);
	if (l->fd[1].revents != 0 && outq_run(&l->out) < 0)
		launch_lose_output(l, "standard output");
	if (l->fd[2].revents != 0)
		outq_run(&l->err);	/* an error could not be reported anywhere */
	if (l->fd[3].revents != 0)
		launch_send_input(l);
	died = handle_signals(l);
	/* Another host is first each time, so that one that floods leaves room for the lines of others. */
	l->first = (l->first + 1) % l->roster->hosts;
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		service_remote(l, &l->remote[(l->first + h) % l->roster->hosts], died);
	launch_check_away(l);
	send_credit(l);
	if (launch_is_detached(l) && roster_started(l->roster))
		l->opt->detached.started(l->opt->detached.arg);
	check_start(l);
	launch_check_scale(l);
	launch_check_set(l);
	check_end(l);
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		remote_push(&l->remote[h]);
	if (l->opt->watch.draw != NULL && outq_size(&l->out) + outq_size(&l->err) == 0)
		l->opt->watch.draw(l->opt->watch.arg);
	return 0;
}

static bool
has_work(const struct launch *l)
{
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		if (l->remote[h].state < REMOTE_DONE ||
		    (l->remote[h].state == REMOTE_DONE && l->remote[h].chan != NULL))
			return true;
	/* After a second signal, output that nobody reads is dropped. */
	return outq_size(&l->out) + outq_size(&l->err) + outq_size(&l->held) > 0 &&
	    !(l->signo != 0 && l->roster->killed);
}

int
launch_build_argv(const struct launch *l, uint32_t h, const char *option, struct words *argv)
{
	const struct host *host = &l->opt->hosts->host[h];
	int e = 0;

	if (l->opt->rsh != NULL)
		e = words_fill(argv, l->opt->rsh, host->login, host->port);
	if (e == 0 && (e = words_add(argv, "%s", l->opt->agent)) == 0)
		e = words_add(argv, "%s", option);
	if (e == 0 && l->opt->id != NULL)
		e = words_add(argv, "%s-%u", l->opt->id, h);
	return e;
}

static int
call_host(struct launch *l, uint32_t h)
{
	struct words argv = { 0 };
	int e = launch_build_argv(l, h, launch_is_detached(l) ? "--agent-keep" : "--agent", &argv);

	l->remote[h].detached = launch_is_detached(l);
	if (e == 0)
		e = remote_call(&l->remote[h], l->opt->hosts->host[h].login, argv.v);
	words_free(&argv);
	return e;
}

/* Calls all hosts, or restores the state of another launcher. */
static int
start_agents(struct launch *l)
{
	if (l->opt->detached.from != NULL)
		return launch_restore(l);
	l->changed = launch_is_detached(l);
	launch_save(l, true);
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		if (call_host(l, h) < 0) {
			launch_lose(l, &l->remote[h], err_line(), 1);
			break;
		}
	return 0;
}

/* Waits for the remote shells to end after their agents, and kills them after a limit. */
static void
end_remotes(struct launch *l)
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
	    .started_at = clk_s(), .report_at = clk_s() + LAUNCH_REPORT_S, .scales = opt->scale.wanted != NULL,
	    .sets = true };
	int e = 0;

	l.remote = calloc(roster->hosts, sizeof(*l.remote));
	l.fd = calloc(4 + REMOTE_FDS * (size_t)roster->hosts, sizeof(*l.fd));
	if (l.remote == NULL || l.fd == NULL)
		e = err_nomem();
	else
		e = start_agents(&l);
	while (e == 0 && has_work(&l))
		e = run_launch_round(&l);
	if (e < 0) {
		launch_report(&l, "%s", err_line());
		launch_release(&l);
		while (outq_size(&l.err) > 0 && outq_run(&l.err) == 0)
			continue;
		for (uint32_t h = 0; h < roster->hosts && l.remote != NULL && launch_is_detached(&l); h++)
			if (l.remote[h].state == REMOTE_UP)
				launch_lose(&l, &l.remote[h], "given up", 1);
	}
	if (l.remote != NULL) {
		launch_save(&l, true);
		end_remotes(&l);
	}
	outq_free(&l.out);
	outq_free(&l.err);
	outq_free(&l.held);
	free(l.remote);
	free(l.fd);
	return l.signo != 0 ? 128 + l.signo : e < 0 ? 1 : roster->code;
}
