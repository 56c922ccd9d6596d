/* launch_handle - what a launcher makes of what its agents say. */
#include "run/launcher/launch_job.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/outfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The member that an agent means by its k-th child. */
static struct member *
member_of(struct launch *l, const struct remote *r, uint32_t k)
{
	for (uint32_t i = 0; i < l->roster->n; i++)
		if (&l->remote[l->roster->m[i].host] == r && k-- == 0)
			return &l->roster->m[i];
	return NULL;
}

void
launch_send_job(struct launch *l, struct remote *r)
{
	const struct host *h = &l->opt->hosts->host[r - l->remote];
	struct job_child *child = calloc(l->roster->n, sizeof(*child));
	struct job j = l->opt->job;
	struct buf b = { 0 };
	int e;

	j.addr = h->addr != NULL ? h->addr : "";
	j.host = h->name;
	j.child = child;
	j.nchildren = 0;
	for (uint32_t i = 0; i < l->roster->n && child != NULL; i++)
		if (&l->remote[l->roster->m[i].host] == r)
			child[j.nchildren++] = l->roster->m[i].what;
	e = child != NULL ? job_put(&j, &b) : ERR_NOMEM;
	if (e == 0 && b.n > CTL_MOST)
		launch_lose(l, r, "command and environment are too long", 1);
	else
		launch_send(r, CTL_JOB, &b, e);
	free(child);
	if (b.p != NULL)
		explicit_bzero(b.p, b.n);	/* the key is in it */
	buf_free(&b);
}

int
launch_send_go(struct launch *l, struct remote *r)
{
	char *text = roster_go(l->roster);
	struct buf b = { 0 };
	int e = text != NULL ? ctl_put_text(&b, text) : ERR_NOMEM;

	launch_send(r, CTL_GO, &b, e);
	free(text);
	buf_free(&b);
	return e;
}

/* The versions come first: nothing else is understood, or the same, where they differ. */
static int
take_hello(struct launch *l, struct remote *r, struct ctl_in *in)
{
	uint32_t protocol = ctl_get(in);
	const char *version = ctl_get_text(in);
	char why[256];

	if (in->bad || r->met || (r->state != REMOTE_CALLED && r->state != REMOTE_AWAY))
		return err_fail(ERR_FORMAT, "a greeting that is none");
	r->met = true;
	if (protocol == CTL_PROTOCOL && strcmp(version, l->opt->version) == 0) {
		if (r->kept)
			return launch_take_hello(r);
		r->state = REMOTE_UP;
		launch_send_job(l, r);
		return 0;
	}
	snprintf(why, sizeof(why), "has tally %.32s (protocol %u), this host %.32s (protocol %u)", version,
	    protocol, l->opt->version, CTL_PROTOCOL);
	launch_lose(l, r, why, 1);
	return 0;
}

/* Is a failure not the others' end? */
static bool
going_on(const struct launch *l)
{
	return l->opt->wait && l->gone;
}

static void
take_exit(struct launch *l, struct remote *r, struct member *m, int status, double seconds, uint32_t peak_kib)
{
	char name[32], how[64];
	bool was = l->roster->termed;

	roster_name(m, name);
	roster_how(status, how);
	m->peak_kib = peak_kib;
	if (roster_end(l->roster, m, status, seconds)) {
		if (!was && l->signo == 0 && l->cause_at == 0)
			launch_note(l, "%s on %s: %s%s", name, r->name, how, going_on(l) ? "" :
			    roster_code(status) == ROSTER_AGAIN ? ": the others are waited for" : ": the others are ended");
		/*
		 * Who lost a peer may be faster to say so than that peer to end, whose status is the job's; and who is asked
		 * to end has none of its own any more.  Those that lose it, too, end by themselves.
		 */
		if (going_on(l))
			return;
		if (roster_code(status) != ROSTER_AGAIN)
			launch_end(l);
		else if (l->cause_at == 0)
			l->cause_at = clk_s() + l->opt->grace_s;
	} else if (!l->gone && !was && m->where[0] == 0) {
		launch_note(l, "%s on %s: ended before it said where it listens", name, r->name);
		launch_fail(l, 1);
	}
}

static int
take_lines(struct launch *l, struct remote *r, const struct member *m, const struct frame *f)
{
	const char *text = (const char *)f->p + 8;
	bool out = le_get32(f->p + 4) == STDOUT_FILENO;
	size_t n = f->len - 8;
	char name[32];

	r->owed += FRAME_HEAD + f->len;
	r->got += FRAME_HEAD + f->len;
	if (n == 0 || text[n - 1] != '\n' || r->owed > CHAN_WINDOW)
		return err_fail(ERR_FORMAT, "lines that are none, or more than asked for");
	roster_name(m, name);
	if (l->opt->watch.took != NULL)
		l->opt->watch.took(l->opt->watch.arg, m, text, n);
	if (l->opt->dir == NULL)
		return out ? outq_put(&l->out, text, n) : outq_put_lines(&l->err, name, text, n);
	if (outfile_put(l->opt->dir, &m->what, out, text, n) < 0 && !l->roster->termed) {
		launch_note(l, "%s", err_line());
		launch_fail(l, 1);
	}
	return 0;
}

static int
take_of_member(struct launch *l, struct remote *r, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };
	struct member *m = member_of(l, r, ctl_get(&in));
	const char *where;
	uint32_t status, ms, peak, n;

	if (m == NULL || r->state != REMOTE_UP)
		return err_fail(ERR_FORMAT, "a process that is none");
	switch (f->type) {
	case CTL_READY:
		where = ctl_get_text(&in);
		if (strlen(where) >= ROSTER_WHERE || strpbrk(where, ", ") != NULL)
			return err_fail(ERR_FORMAT, "an address that is none");
		strcpy(m->where, where);
		break;
	case CTL_STARTED:
		m->pid = ctl_get(&in);
		if (m->state == ROSTER_WAITING)
			m->state = ROSTER_RUNNING;
		break;
	case CTL_EXITED:
		status = ctl_get(&in);
		ms = ctl_get(&in);
		peak = ctl_get(&in);
		if (m->state == ROSTER_ENDED && r->kept)
			break;	/* told again, as the connection is another */
		if (m->state >= ROSTER_ENDED)
			return err_fail(ERR_FORMAT, "a process that ends twice");
		if (!in.bad)
			take_exit(l, r, m, (int)status, ms * 1e-3, peak);
		break;
	case CTL_TAKEN:
		n = ctl_get(&in);
		if (n > l->fed)
			return err_fail(ERR_FORMAT, "more input taken than was sent");
		l->fed -= n;
		break;
	case CTL_LINES:
		ctl_get(&in);
		if (!in.bad)
			return take_lines(l, r, m, f);
		break;
	default:
		return err_fail(ERR_FORMAT, "message %u is not an agent's", f->type);
	}
	return in.bad ? err_fail(ERR_FORMAT, "message %u is cut short", f->type) : 0;
}

int
launch_take(struct launch *l, struct remote *r, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };

	l->changed |= f->type != CTL_LINES;
	switch (f->type) {
	case CTL_HELLO:
		return take_hello(l, r, &in);
	case CTL_BACK:
		return launch_take_back(l, r, f);
	case CTL_FAILED:
		/* One that was there, and is not: its host was started again, or it was killed. */
		launch_lose(l, r, ctl_get_text(&in), r->state == REMOTE_AWAY ? ROSTER_AGAIN : 1);
		return 0;
	case CTL_DONE:
		/* A process that was never started has no end of its own. */
		r->state = REMOTE_DONE;
		r->owed += FRAME_HEAD;
		r->got += FRAME_HEAD;
		/* An agent that is kept ends when it knows that this is saved. */
		if (!r->kept)
			remote_hang_up(r, 0);
		return 0;
	}
	return take_of_member(l, r, f);
}
