/* launch_handle - how a launcher handles its agents' messages. */
#include "run/launcher/launch_job.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/consequence.h"
#include "run/outfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Returns process k of an agent. */
static struct member *
find_member(struct launch *l, const struct remote *r, uint32_t k)
{
	for (uint32_t i = 0; i < l->roster->n; i++)
		if (&l->remote[l->roster->m[i].host] == r && k-- == 0)
			return &l->roster->m[i];
	return NULL;
}

/* An earlier launcher may not have saved that a process was started. */
static enum job_stage
find_stage(const struct launch *l, uint32_t i)
{
	const struct job *j = &l->opt->job;
	bool sent = l->opt->detached.from != NULL && (i < l->roster->nlisteners || l->started);

	/* The socket of a shard is lost with its agent if the worker was not started.  The others know its address. */
	if (job_has_shards(j->dmlc, j->servers, j->workers))
		sent = l->started;

	if (l->roster->m[i].state >= ROSTER_ENDED)
		return JOB_ENDED;
	/* A worker that has left has to be started again, and one that joins may not have been. */
	if (l->roster->m[i].state == ROSTER_WAITING && j->elastic > 0 && l->roster->m[i].child.role == JOB_WORKER &&
	    l->roster->m[i].child.rank > 0)
		return JOB_NEW;
	return sent || l->roster->m[i].state != ROSTER_WAITING ? JOB_STARTED : JOB_NEW;
}

void
launch_send_job(struct launch *l, struct remote *r)
{
	const struct host *h = &l->opt->hosts->host[r - l->remote];
	struct job_child *child = calloc(l->roster->n, sizeof(*child));
	struct job j = l->opt->job;
	struct buf b = { .wipes = true };	/* the key is in it */
	int e;

	j.addr = h->addr != NULL ? h->addr : "";
	j.host = h->name;
	j.child = child;
	j.nchildren = 0;
	for (uint32_t i = 0; i < l->roster->n && child != NULL; i++)
		if (&l->remote[l->roster->m[i].host] == r) {
			child[j.nchildren] = l->roster->m[i].child;
			child[j.nchildren++].stage = find_stage(l, i);
		}
	e = child != NULL ? job_put(&j, &b) : ERR_NOMEM;
	if (e == 0 && b.n > CTL_MOST)
		launch_lose(l, r, "command and environment are too long", 1);
	else
		launch_send(r, CTL_JOB, &b, e);
	free(child);
	buf_free(&b);
}

int
launch_send_go(struct launch *l, struct remote *r)
{
	char *text = roster_addrs(l->roster);
	struct buf b = { 0 };
	int e;

	launch_send_scale(l, r);
	e = text != NULL ? ctl_put_text(&b, text) : ERR_NOMEM;

	launch_send(r, CTL_GO, &b, e);
	free(text);
	buf_free(&b);
	return e;
}

/* If the versions differ, no later message can be trusted. */
static int
handle_hello(struct launch *l, struct remote *r, struct ctl_in *in)
{
	uint32_t protocol = ctl_get_u32(in);
	const char *version = ctl_get_text(in);
	char why[256];

	if (in->bad || r->greeted || (r->state != REMOTE_CALLED && r->state != REMOTE_AWAY))
		return err_fail(ERR_FORMAT, "an unexpected or malformed HELLO message");
	r->greeted = true;
	if (protocol == CTL_PROTOCOL && strcmp(version, l->opt->version) == 0) {
		if (r->detached)
			return launch_send_resume(r);
		if (r->state == REMOTE_AWAY) {
			launch_hand_over(l, r);
			return 0;
		}
		r->state = REMOTE_UP;
		launch_send_job(l, r);
		return 0;
	}
	snprintf(why, sizeof(why), "has tally %.32s (protocol %u), this host %.32s (protocol %u)", version,
	    protocol, l->opt->version, CTL_PROTOCOL);
	launch_lose(l, r, why, 1);
	return 0;
}

/* True if a failure does not end the other processes. */
static bool
ignores_failure(const struct launch *l)
{
	return l->opt->wait && l->started;
}

static void
handle_exit(struct launch *l, struct remote *r, struct member *m, int status, double seconds)
{
	char name[32], how[64], line[2 * REMOTE_LAST];
	bool was = l->roster->termed;

	roster_name(m, name);
	roster_end_text(status, how);
	if (launch_note_unjoined(l, r, m, status))
		return;
	if (roster_end(l->roster, m, status, seconds)) {
		/*
		 * A process that lost its peer may end before the peer's own end is known, whose status is
		 * the job's, and which is reported first.  So the others are not signalled yet, as their own
		 * statuses would be lost.  Those that lose the peer too end by themselves.
		 */
		if (!ignores_failure(l) && roster_code(status) == ROSTER_AGAIN) {
			launch_note_lost_peer(l, m);
			if (l->peer_lost_until == 0)
				l->peer_lost_until = clk_s() + l->opt->grace_s;
			return;
		}
		if (ignores_failure(l) && roster_code(status) == ROSTER_AGAIN && launch_holds(l)) {
			snprintf(line, sizeof(line), "%s on %s: %s\n", name, r->name, how);
			launch_hold_lines(l, l->opt->tool, line, strlen(line));
			return;
		}
		if (!was && l->signo == 0)
			launch_report(l, "%s on %s: %s%s", name, r->name, how,
			    ignores_failure(l) ? "" : ": ending the others");
		launch_release(l);
		if (!ignores_failure(l))
			launch_end(l);
	} else if (!l->started && !was && m->addr[0] == 0) {
		launch_report(l, "%s on %s: ended before it listened", name, r->name);
		launch_fail(l, 1);
	}
}

static int
queue_shown_lines(struct launch *l, const char *text, size_t n)
{
	const struct launch_watch *w = &l->opt->watch;
	const char *end = text + n;

	if (w->shows == NULL)
		return outq_put(&l->out, text, n);
	for (const char *next; text < end; text = next) {
		next = (const char *)memchr(text, '\n', (size_t)(end - text)) + 1;
		if (w->shows(w->arg, text, (size_t)(next - text)))
			ERR_TRY(outq_put(&l->out, text, (size_t)(next - text)));
	}
	return 0;
}

static int
write_error_lines(struct launch *l, const struct member *m, const char *text, size_t n, bool marked)
{
	char name[32];

	if (l->opt->dir != NULL)
		return outfile_put(l->opt->dir, &m->child, false, text, n);
	roster_name(m, name);
	return marked && launch_holds(l) ? launch_hold_lines(l, name, text, n) :
	    outq_put_lines(&l->err, name, text, n);
}

/* Writes the error lines of a process without their marks (run/consequence.h). */
static int
handle_error_lines(struct launch *l, const struct member *m, const char *text, size_t n)
{
	const char *end = text + n, *from = text;

	for (const char *next; text < end; text = next) {
		next = (const char *)memchr(text, '\n', (size_t)(end - text)) + 1;
		if (*text != CONSEQUENCE_MARK)
			continue;
		if (text > from)
			ERR_TRY(write_error_lines(l, m, from, (size_t)(text - from), false));
		ERR_TRY(write_error_lines(l, m, text + 1, (size_t)(next - text - 1), true));
		from = next;
	}
	return end > from ? write_error_lines(l, m, from, (size_t)(end - from), false) : 0;
}

static int
handle_lines(struct launch *l, struct remote *r, const struct member *m, const struct frame *f)
{
	const char *text = (const char *)f->p + 8;
	bool out = le_get32(f->p + 4) == STDOUT_FILENO;
	size_t n = f->len - 8;
	int e;

	r->uncredited += FRAME_HEAD + f->len;
	r->received += FRAME_HEAD + f->len;
	if (n == 0 || text[n - 1] != '\n' || r->uncredited > CHAN_WINDOW)
		return err_fail(ERR_FORMAT, "a malformed LINES message, or more than its credit");
	if (l->opt->watch.lines != NULL)
		l->opt->watch.lines(l->opt->watch.arg, m, out, text, n);
	if (!out)
		e = handle_error_lines(l, m, text, n);
	else if (l->opt->dir == NULL)
		e = queue_shown_lines(l, text, n);
	else
		e = outfile_put(l->opt->dir, &m->child, true, text, n);
	if (e < 0 && l->opt->dir != NULL) {
		launch_lose_output(l, "");
		return 0;
	}
	return e;
}

/* Whether an agent repeats an end on a new connection, or tells of one that an earlier agent told of. */
static bool
is_known_end(const struct launch *l, const struct remote *r, const struct member *m, enum ctl_type how)
{
	return (m->state == ROSTER_ENDED && r->detached) ||
	    (m->state == ROSTER_WAITING && (how == CTL_LEFT || roster_reserve(l->roster, m)));
}

static int
handle_member_message(struct launch *l, struct remote *r, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };
	struct member *m = find_member(l, r, ctl_get_u32(&in));
	const char *where;
	uint32_t status, ms, peak, n;
	uint64_t id, from;

	if (m == NULL || r->state != REMOTE_UP)
		return err_fail(ERR_FORMAT, "message %u for an unknown process", f->type);
	launch_note_adopted(l, r);
	switch (f->type) {
	case CTL_READY:
		where = ctl_get_text(&in);
		if (strlen(where) >= ROSTER_ADDR || strpbrk(where, ", ") != NULL)
			return err_fail(ERR_FORMAT, "a malformed READY message");
		strcpy(m->addr, where);
		break;
	case CTL_STARTED:
		n = ctl_get_u32(&in);
		/* The servers of all hosts expect it. */
		if (l->opt->job.elastic > 0 && m->pid != 0 && m->pid != n && !in.bad)
			launch_scale_all(l);
		m->pid = n;
		if (m->state == ROSTER_WAITING)
			m->state = ROSTER_RUNNING;
		break;
	case CTL_EXITED:
	case CTL_LEFT:
		status = ctl_get_u32(&in);
		ms = ctl_get_u32(&in);
		peak = ctl_get_u32(&in);
		if (f->type == CTL_LEFT && (l->opt->job.elastic == 0 || m->child.role != JOB_WORKER))
			return err_fail(ERR_FORMAT, "a process that cannot leave has left");
		if (in.bad || is_known_end(l, r, m, f->type))
			break;
		if (m->state >= ROSTER_ENDED)
			return err_fail(ERR_FORMAT, "a second end of a process");
		m->peak_kib = peak;
		if (f->type == CTL_LEFT)
			launch_note_leave(l, r, m);
		else
			handle_exit(l, r, m, (int)status, ms * 1e-3);
		break;
	case CTL_TAKEN:
		n = ctl_get_u32(&in);
		if (n > l->in_flight)
			return err_fail(ERR_FORMAT, "a TAKEN message for more input than was sent");
		l->in_flight -= n;
		break;
	case CTL_SETTLED:
		id = ctl_get_u64(&in);
		from = ctl_get_u64(&in);
		where = ctl_get_text(&in);
		if (!in.bad)
			launch_note_settled(l, id, from, where);
		break;
	case CTL_LINES:
		ctl_get_u32(&in);
		if (!in.bad)
			return handle_lines(l, r, m, f);
		break;
	default:
		return err_fail(ERR_FORMAT, "message %u is not an agent's", f->type);
	}
	return in.bad ? err_fail(ERR_FORMAT, "message %u is cut short", f->type) : 0;
}

int
launch_handle(struct launch *l, struct remote *r, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };

	l->changed |= f->type != CTL_LINES;
	switch (f->type) {
	case CTL_HELLO:
		return handle_hello(l, r, &in);
	case CTL_STATE:
		return launch_handle_state(l, r, f);
	case CTL_FAILED:
		/* The successor of a killed agent has not found all processes. */
		if (r->adopting)
			launch_lose(l, r, r->detached ? ctl_get_text(&in) : r->reason, ROSTER_AGAIN);
		else
			launch_lose(l, r, ctl_get_text(&in), 1);
		return 0;
	case CTL_DONE:
		launch_note_adopted(l, r);
		/* Processes that were never started have no EXITED message. */
		r->state = REMOTE_DONE;
		r->uncredited += FRAME_HEAD;
		r->received += FRAME_HEAD;
		/* The agent of a detached job ends when DONE is credited, which says that all is saved. */
		if (!r->detached)
			remote_hang_up(r, 0);
		return 0;
	}
	return handle_member_message(l, r, f);
}
