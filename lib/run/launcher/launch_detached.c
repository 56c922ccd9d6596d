/* launch_detached - a detached job: hosts that are called again, and what another launcher would need. */
#include "run/launcher/launch_job.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/child.h"
#include "run/outfile.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SAVE_S		0.2	/* between two records, unless an agent waits for one */
#define CALL_S		30.0	/* that a host may take to answer */
#define SHELL_S		1.0	/* that a remote shell may take to end, before it is made to */
#define LONGEST_S	10.0	/* between two calls */
#define GIVEN_UP_S	5.0	/* that a host which is away gets to be killed at the end of a job */

bool
launch_keeps(const struct launch *l)
{
	return l->opt->keep.id != NULL;
}

static void
wait_for(struct remote *r, double now)
{
	r->state = REMOTE_AWAY;
	r->away = r->again = now;
	r->told = now + LAUNCH_PATIENCE_S;
	r->tries = 0;
}

static void
restore_host(struct remote *r, const struct job_record_host *h, const char *name)
{
	r->name = name;
	r->kept = true;
	r->got = h->log;
	wait_for(r, clk_s());
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
	memcpy(m->where, from->where, sizeof(m->where));
}

int
launch_restore(struct launch *l)
{
	const struct job_record *from = l->opt->keep.from;
	struct roster *c = l->roster;
	double now = clk_s();

	if (from->hosts != c->hosts || from->n != c->n)
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
	l->gone = from->gone;
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
launch_away(struct launch *l, struct remote *r, const char *why)
{
	double now = clk_s(), pause;

	if (r->state != REMOTE_AWAY) {
		wait_for(r, now);
		launch_note(l, "waiting for host %s: %s", r->name, why);
	}
	snprintf(r->reason, sizeof(r->reason), "%s", why);
	remote_hang_up(r, SIGTERM);
	pause = r->tries == 0 ? 0 : r->tries < 5 ? 0.5 * (1 << r->tries) : LONGEST_S;
	r->again = now + (pause < LONGEST_S ? pause : LONGEST_S);
	r->tries++;
}

static void
call_again(struct launch *l, struct remote *r)
{
	uint32_t h = (uint32_t)(r - l->remote);
	struct words argv = { 0 };
	int e = launch_words(l, h, "--agent-resume", &argv);

	r->called = clk_s();
	if (e < 0 || remote_call(r, r->name, argv.v) < 0)
		launch_away(l, r, err_line());
	words_free(&argv);
}

/* Does another host answer?  Then it is not our network that is away. */
static bool
others_answer(const struct launch *l)
{
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		if (l->remote[h].state == REMOTE_UP || l->remote[h].state == REMOTE_DONE)
			return true;
	return false;
}

/* Is a host that is away waited for no longer? */
static bool
given_up(const struct launch *l, const struct remote *r, double now)
{
	double away = now - r->away;

	return away > l->opt->job.silence_ms * 1e-3 || (away > l->opt->start_s && others_answer(l)) ||
	    (l->roster->killed && now > l->kill_at + GIVEN_UP_S);
}

static void
mind(struct launch *l, struct remote *r)
{
	char why[2 * REMOTE_LAST];
	double now = clk_s();

	if (given_up(l, r, now)) {
		snprintf(why, sizeof(why), "given up, as it %s; what runs there ends when it has heard nothing for %.0f s", r->reason,
		    l->opt->job.silence_ms * 1e-3);
		launch_lose(l, r, why, ROSTER_AGAIN);
	} else if (r->chan != NULL && now - r->called > CALL_S) {
		launch_away(l, r, "does not answer");
	} else if (r->chan == NULL && r->pid != 0 && now - r->again > SHELL_S) {
		child_signal(r->pid, SIGKILL);
	} else if (r->chan == NULL && r->pid == 0 && now >= r->again) {
		call_again(l, r);
	}
	if (r->state == REMOTE_AWAY && now > r->told) {
		launch_note(l, "waiting for host %s for %.0f s: %s", r->name, now - r->away, r->reason);
		r->told = now + (now - r->away > LAUNCH_PATIENCE_S ? now - r->away : LAUNCH_PATIENCE_S);
	}
}

void
launch_mind_away(struct launch *l)
{
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		if (l->remote[h].state == REMOTE_AWAY)
			mind(l, &l->remote[h]);
}

int
launch_take_hello(struct remote *r)
{
	const struct ctl_resume resume = { .got = r->got, .done = r->got - r->owed };
	struct buf b = { 0 };
	int e;

	if ((e = ctl_put_resume(&b, &resume)) == 0)
		e = chan_send(r->chan, CTL_RESUME, b.p, b.n);
	buf_free(&b);
	return e;
}

static void
send_signals(struct launch *l, struct remote *r, uint32_t from)
{
	for (uint32_t i = from; i < l->nsent; i++) {
		struct buf b = { 0 };
		int e = ctl_put(&b, l->sent[i].whom);

		launch_send(r, CTL_SIGNAL, &b, e < 0 ? e : ctl_put(&b, l->sent[i].signo));
		buf_free(&b);
	}
}

int
launch_take_back(struct launch *l, struct remote *r, const struct frame *f)
{
	bool was = r->state == REMOTE_AWAY;
	struct ctl_back back;
	int e = ctl_get_back(&back, f->p, f->len);

	if (e < 0)
		return e;
	if (!r->kept || !r->met || (!was && r->state != REMOTE_CALLED))
		return err_fail(ERR_FORMAT, "an answer out of turn");
	r->state = REMOTE_UP;
	/* It was said by a launcher that was lost before it saved that. */
	l->gone |= back.go != 0;
	if (back.job == 0)
		launch_send_job(l, r);
	if (l->gone && back.go == 0)
		launch_send_go(l, r);
	send_signals(l, r, back.signals);
	if (was)
		launch_note(l, "host %s: is back", r->name);
	if (back.waited_ms > 0)
		launch_note(l, "host %s: its processes waited %.1f s, as %u KiB that they had printed were not taken (--spool)", r->name,
		    back.waited_ms * 1e-3, l->opt->job.spool_kib);
	return 0;
}

static void
drain(struct launch *l)
{
	bool sound = !l->out.broken;

	while (outq_size(&l->out) > 0 && outq_run(&l->out) == 0)
		continue;
	if (sound && l->out.broken) {
		launch_note(l, "standard output: %s", err_line());
		launch_fail(l, 1);
	}
	while (outq_size(&l->err) > 0 && outq_run(&l->err) == 0)
		continue;
}

static uint64_t
size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static struct job_record_member
member_now(const struct launch *l, const struct member *m)
{
	struct job_record_member to = { .state = m->state, .pid = m->pid, .status = (uint32_t)m->status,
	    .ms = (uint32_t)(m->seconds * 1e3), .peak_kib = m->peak_kib };

	memcpy(to.where, m->where, sizeof(to.where));
	if (l->opt->dir != NULL) {
		to.out = outfile_size(l->opt->dir, &m->what, true);
		to.err = outfile_size(l->opt->dir, &m->what, false);
	}
	return to;
}

static int
save(struct launch *l)
{
	const struct roster *c = l->roster;
	struct job_record r = { .attempt = l->opt->keep.attempt, .gone = l->gone, .stopped = c->stopped, .asked = c->asked,
	    .termed = c->termed, .killed = c->killed, .code = (uint32_t)c->code, .signo = (uint32_t)l->signo,
	    .out = size_of(l->opt->out), .err = size_of(l->opt->err), .hosts = c->hosts, .n = c->n, .signals = l->nsent };
	struct buf b = { 0 };
	int e;

	snprintf(r.id, sizeof(r.id), "%s", l->opt->keep.id);
	memcpy(r.signal, l->sent, sizeof(r.signal));
	r.host = calloc((size_t)c->hosts + 1, sizeof(*r.host));
	r.m = calloc((size_t)c->n + 1, sizeof(*r.m));
	for (uint32_t h = 0; h < c->hosts && r.host != NULL; h++)
		r.host[h] = (struct job_record_host){ .ended = l->remote[h].state == REMOTE_DONE,
		    .lost = l->remote[h].state == REMOTE_GONE, .log = l->remote[h].got };
	for (uint32_t i = 0; i < c->n && r.m != NULL; i++)
		r.m[i] = member_now(l, &c->m[i]);
	e = r.host != NULL && r.m != NULL ? job_record_put(&r, &b) : err_nomem();
	if (e == 0)
		e = l->opt->keep.save(l->opt->keep.arg, b.p, b.n);
	job_record_free(&r);
	buf_free(&b);
	return e;
}

void
launch_save(struct launch *l, bool now)
{
	bool due = l->changed;

	if (!launch_keeps(l))
		return;
	for (uint32_t h = 0; h < l->roster->hosts; h++) {
		const struct remote *r = &l->remote[h];

		due |= r->owed > 0;
		now |= r->owed >= CHAN_WINDOW / 4 || (r->owed > 0 && r->state == REMOTE_DONE);
	}
	if (!due || (!now && clk_s() - l->saved < SAVE_S))
		return;
	drain(l);
	if (save(l) < 0) {
		/* The agents keep what was not saved; where there is no room for a record, no output is taken either. */
		if (!l->roster->termed)
			launch_note(l, "%s", err_line());
		launch_fail(l, 1);
		return;
	}
	l->changed = false;
	l->saved = clk_s();
	for (uint32_t h = 0; h < l->roster->hosts; h++) {
		struct remote *r = &l->remote[h];
		struct buf b = { 0 };

		if (r->owed > 0 && (r->state == REMOTE_UP || r->state == REMOTE_DONE)) {
			launch_send(r, CTL_CREDIT, &b, ctl_put(&b, r->owed));
			r->owed = 0;
		}
		buf_free(&b);
	}
}
