/* launch_detached - calls away hosts again, and saves the state of a detached job for another launcher. */
#include "run/launcher/launch_job.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/child.h"
#include "run/agent/proc.h"
#include "run/outfile.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SAVE_S		0.2	/* time between two records, unless an agent has little credit left */
#define CALL_S		30.0	/* limit for a host to answer */
/*
 * A call that begins while the network is down comes through late, as TCP repeats it at intervals that double.  So most
 * calls are short, and some long, for a host that is slow.
 */
#define SHORT_CALL_S	4.0
#define LONG_CALLS	4	/* every so many calls one is long, */
#define LONG_PART	4	/* but at most this part of the silence, which must hold short ones, too */
#define SHELL_S		1.0	/* time until a remote shell that should end is killed */
#define PAUSE_S		1.0	/* time between two calls, so that the seconds between two outages are used */
#define LONG_AWAY_S	600.0	/* after this time the pauses are longer */
#define LONGEST_S	10.0
#define ADOPT_S		PROC_HOLD_S	/* limit for the successor of a killed agent, if the job is not detached */
#define GIVEN_UP_S	5.0	/* time for an away host to answer after the job was killed */

bool
launch_is_detached(const struct launch *l)
{
	return l->opt->detached.on;
}

static void
mark_away(struct remote *r, double now)
{
	r->state = REMOTE_AWAY;
	r->away_since = r->call_at = now;
	r->report_at = now + LAUNCH_REPORT_S;
	r->tries = 0;
}

static void
restore_host(struct remote *r, const struct job_record_host *h, const char *name)
{
	r->name = name;
	r->detached = true;
	r->received = h->log;
	mark_away(r, clk_s());
	snprintf(r->reason, sizeof(r->reason), "called by another launcher");
	if (h->ended || h->lost)
		r->state = h->ended ? REMOTE_DONE : REMOTE_GONE;
}

static void
restore_member(struct member *m, const struct job_record_member *from)
{
	m->state = from->state;
	m->pid = from->pid;
	m->status = (int)from->status;
	m->seconds = from->ms * 1e-3;
	m->peak_kib = from->peak_kib;
	memcpy(m->addr, from->addr, sizeof(m->addr));
}

int
launch_restore(struct launch *l)
{
	const struct job_record *from = l->opt->detached.from;
	struct roster *c = l->roster;
	double now = clk_s();

	if (from->hosts != c->hosts || from->n != c->n || from->elastic != l->opt->job.elastic ||
	    (from->elastic > 0) != (from->workers > 0) || from->workers > l->opt->job.workers)
		return err_fail(ERR_FORMAT, "the record is of another job");
	for (uint32_t h = 0; h < c->hosts; h++)
		restore_host(&l->remote[h], &from->host[h], l->opt->hosts->host[h].login);
	for (uint32_t i = 0; i < c->n; i++)
		restore_member(&c->m[i], &from->m[i]);
	c->code = (int)from->code;
	c->stopped = from->stopped;
	c->asked = from->asked;
	c->termed = from->termed;
	c->killed = from->killed;
	c->workers = from->workers;
	l->started = from->started;
	l->signo = (int)from->signo;
	memcpy(l->sent, from->signal, sizeof(l->sent));
	l->nsent = from->signals;
	if (c->asked || c->termed)
		l->kill_at = now + (c->killed ? 0 : l->opt->grace_s);
	if (c->termed)
		l->term_at = now;
	return 0;
}

void
launch_lose_link(struct launch *l, struct remote *r, const char *why)
{
	double now = clk_s();

	if (r->state != REMOTE_AWAY) {
		mark_away(r, now);
		launch_report(l, "waiting for host %s: %s", r->name, why);
		launch_release(l);
		snprintf(r->reason, sizeof(r->reason), "%s", why);
	}
	if (r->detached)
		snprintf(r->reason, sizeof(r->reason), "%s", why);
	remote_hang_up(r, SIGTERM);
	r->call_at = now + (r->tries == 0 ? 0 : now - r->away_since < LONG_AWAY_S ? PAUSE_S : LONGEST_S);
	r->tries++;
}

static void
reconnect_host(struct launch *l, struct remote *r)
{
	uint32_t h = (uint32_t)(r - l->remote);
	struct words argv = { 0 };
	int e = launch_build_argv(l, h, r->detached ? "--agent-resume" : "--agent-adopt", &argv);

	r->called_at = clk_s();
	if (e < 0 || remote_call(r, r->name, argv.v) < 0)
		launch_lose_link(l, r, err_line());
	words_free(&argv);
}

/* True if another host answers, so that the fault is not in this machine's network. */
static bool
does_other_host_answer(const struct launch *l)
{
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		if (l->remote[h].state == REMOTE_UP || l->remote[h].state == REMOTE_DONE)
			return true;
	return false;
}

/* True if an away host has passed its limit. */
static bool
is_given_up(const struct launch *l, const struct remote *r, double now)
{
	const struct launch_opt *o = l->opt;
	double away = now - r->away_since, others_wait = o->outage_s > o->start_s ? o->outage_s : o->start_s;

	if (!r->detached)
		return away > ADOPT_S || l->roster->killed;
	return away > o->job.silence_ms * 1e-3 || (away > others_wait && does_other_host_answer(l)) ||
	    (l->roster->killed && now > l->kill_at + GIVEN_UP_S);
}

static double
get_call_s(const struct launch *l, const struct remote *r)
{
	const double most = l->opt->job.silence_ms * 1e-3 / LONG_PART;

	if (r->tries % LONG_CALLS != 0 || most < SHORT_CALL_S)
		return SHORT_CALL_S;
	return most < CALL_S ? most : CALL_S;
}

static void
check_away_host(struct launch *l, struct remote *r)
{
	char why[2 * REMOTE_LAST];
	double now = clk_s();

	if (is_given_up(l, r, now) && !r->detached) {
		launch_lose(l, r, r->reason, ROSTER_AGAIN);
	} else if (is_given_up(l, r, now)) {
		snprintf(why, sizeof(why), "given up (%s); its processes end after %.0f s without a launcher",
		    r->reason, l->opt->job.silence_ms * 1e-3);
		launch_lose(l, r, why, ROSTER_AGAIN);
	} else if (r->chan != NULL && now - r->called_at > get_call_s(l, r)) {
		launch_lose_link(l, r, "does not answer");
	} else if (r->chan == NULL && r->pid != 0 && now - r->call_at > SHELL_S) {
		child_signal(r->pid, SIGKILL);
	} else if (r->chan == NULL && r->pid == 0 && now >= r->call_at) {
		reconnect_host(l, r);
	}
	if (r->state == REMOTE_AWAY && now > r->report_at) {
		launch_report(l, "waiting for host %s for %.0f s: %s", r->name, now - r->away_since, r->reason);
		r->report_at = now + (now - r->away_since > LAUNCH_REPORT_S ? now - r->away_since : LAUNCH_REPORT_S);
	}
}

void
launch_check_away(struct launch *l)
{
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		if (l->remote[h].state == REMOTE_AWAY)
			check_away_host(l, &l->remote[h]);
}

int
launch_send_resume(struct remote *r)
{
	const struct ctl_resume resume = { .received = r->received, .credited = r->received - r->uncredited };
	struct buf b = { 0 };
	int e;

	if ((e = ctl_put_resume(&b, &resume)) == 0)
		e = chan_send(r->chan, CTL_RESUME, b.p, b.n);
	buf_free(&b);
	return e;
}

static void
resend_signals(struct launch *l, struct remote *r, uint32_t from)
{
	for (uint32_t i = from; i < l->nsent; i++)
		launch_send_u32s(r, CTL_SIGNAL, (uint32_t[]){ l->sent[i].whom, l->sent[i].signo }, 2);
}

/* True if a process of the host was started. */
static bool
has_started(const struct launch *l, const struct remote *r)
{
	for (uint32_t i = 0; i < l->roster->n; i++)
		if (&l->remote[l->roster->m[i].host] == r && l->roster->m[i].state != ROSTER_WAITING)
			return true;
	return false;
}

void
launch_hand_over(struct launch *l, struct remote *r)
{
	r->state = REMOTE_UP;
	r->adopting = true;
	r->uncredited = 0;
	launch_send_job(l, r);
	if (l->started)
		launch_send_go(l, r);
	resend_signals(l, r, 0);
}

void
launch_note_adopted(struct launch *l, struct remote *r)
{
	if (r->adopting)
		launch_report(l, "host %s: %s", r->name, has_started(l, r) ?
		    "another agent has taken its processes over" : "is back");
	r->adopting = false;
}

int
launch_handle_state(struct launch *l, struct remote *r, const struct frame *f)
{
	bool was = r->state == REMOTE_AWAY;
	struct ctl_state back;

	ERR_TRY(ctl_get_state(f->p, f->len, &back));
	if (!r->detached || !r->greeted || (!was && r->state != REMOTE_CALLED))
		return err_fail(ERR_FORMAT, "an unexpected STATE message");
	r->state = REMOTE_UP;
	/* An earlier launcher may have sent GO, and ended before it saved that. */
	l->started |= back.go != 0;
	if (back.job == 0)
		launch_send_job(l, r);
	if (l->started && back.go == 0)
		launch_send_go(l, r);
	else if (l->started)
		launch_send_scale(l, r);
	resend_signals(l, r, back.signals);
	r->adopting = was && back.job == 0;
	if (was && !r->adopting)
		launch_report(l, "host %s: is back", r->name);
	if (back.waited_ms > 0)
		launch_report(l, "host %s: its processes waited %.1f s, as %u KiB of output had not been fetched "
		    "(see --spool)", r->name, back.waited_ms * 1e-3, l->opt->job.spool_kib);
	return 0;
}

static void
write_output(struct launch *l)
{
	bool sound = !l->out.broken;

	while (outq_size(&l->out) > 0 && outq_run(&l->out) == 0)
		continue;
	if (sound && l->out.broken)
		launch_lose_output(l, "standard output");
	while (outq_size(&l->err) > 0 && outq_run(&l->err) == 0)
		continue;
}

static uint64_t
get_file_size(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static struct job_record_member
snapshot_member(const struct launch *l, const struct member *m)
{
	struct job_record_member to = { .state = m->state, .pid = m->pid, .status = (uint32_t)m->status,
	    .ms = (uint32_t)(m->seconds * 1e3), .peak_kib = m->peak_kib };

	memcpy(to.addr, m->addr, sizeof(to.addr));
	if (l->opt->dir != NULL) {
		to.out = outfile_size(l->opt->dir, &m->child, true);
		to.err = outfile_size(l->opt->dir, &m->child, false);
	}
	return to;
}

static int
save_record(struct launch *l)
{
	const struct roster *c = l->roster;
	struct job_record r = { .attempt = l->opt->detached.attempt, .started = l->started, .stopped = c->stopped,
	    .asked = c->asked, .termed = c->termed, .killed = c->killed, .code = (uint32_t)c->code,
	    .signo = (uint32_t)l->signo, .elastic = l->opt->job.elastic, .workers = c->workers,
	    .out = get_file_size(l->opt->out), .err = get_file_size(l->opt->err), .hosts = c->hosts,
	    .n = c->n, .signals = l->nsent };
	struct buf b = { 0 };
	int e;

	snprintf(r.id, sizeof(r.id), "%s", l->opt->id);
	memcpy(r.signal, l->sent, sizeof(r.signal));
	r.host = calloc((size_t)c->hosts + 1, sizeof(*r.host));
	r.m = calloc((size_t)c->n + 1, sizeof(*r.m));
	for (uint32_t h = 0; h < c->hosts && r.host != NULL; h++)
		r.host[h] = (struct job_record_host){ .ended = l->remote[h].state == REMOTE_DONE,
		    .lost = l->remote[h].state == REMOTE_GONE, .log = l->remote[h].received };
	for (uint32_t i = 0; i < c->n && r.m != NULL; i++)
		r.m[i] = snapshot_member(l, &c->m[i]);
	e = r.host != NULL && r.m != NULL ? job_record_put(&r, &b) : err_nomem();
	if (e == 0)
		e = l->opt->detached.save(l->opt->detached.arg, b.p, b.n);
	job_record_free(&r);
	buf_free(&b);
	return e;
}

void
launch_save(struct launch *l, bool now)
{
	bool due = l->changed;

	if (!launch_is_detached(l))
		return;
	for (uint32_t h = 0; h < l->roster->hosts; h++) {
		const struct remote *r = &l->remote[h];

		due |= r->uncredited > 0;
		now |= r->uncredited >= CHAN_WINDOW / 4 || (r->uncredited > 0 && r->state == REMOTE_DONE);
	}
	/* Held lines are not written yet, but count as received: a launcher that follows this one would miss them. */
	if (!due || (!now && (clk_s() - l->saved_at < SAVE_S || outq_size(&l->held) > 0)))
		return;
	launch_release(l);
	write_output(l);
	l->saved_at = clk_s();
	if (save_record(l) == 0)
		l->changed = false;
	else
		/* Output cannot be written either.  Agents that kept it until it is saved would not end. */
		launch_lose_output(l, "");
	for (uint32_t h = 0; h < l->roster->hosts; h++) {
		struct remote *r = &l->remote[h];

		if (r->uncredited > 0 && (r->state == REMOTE_UP || r->state == REMOTE_DONE)) {
			launch_send_u32s(r, CTL_CREDIT, &r->uncredited, 1);
			r->uncredited = 0;
		}
	}
}
