/* agent_attach - connections to a detached job's agent, and how one becomes the launcher's. */
#include "run/agent/agent_job.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PAUSE_S	0.5	/* time between attempts to accept while descriptors or memory are exhausted */

int
agent_send_hello(struct chan *c, const char *version)
{
	struct buf hello = { 0 };
	int e;

	if ((e = ctl_put_u32(&hello, CTL_PROTOCOL)) == 0 && (e = ctl_put_text(&hello, version)) == 0)
		e = chan_send(c, CTL_HELLO, hello.p, hello.n);
	buf_free(&hello);
	return e;
}

/* Accepts a connection.  Returns 0, or an error if there is none or it cannot be served. */
static int
accept_launcher(struct agent *a)
{
	int fd, out, e = attach_accept(a->opt->attach_fd, &fd);

	if (e < 0)
		return e;
	if ((out = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
		e = err_sys("dup");
		close(fd);
		return e;
	}
	chan_close(a->incoming);
	if ((a->incoming = chan_open(fd, out)) == NULL)
		return err_nomem();
	if ((e = agent_send_hello(a->incoming, a->opt->version)) < 0) {
		chan_close(a->incoming);
		a->incoming = NULL;
	}
	return e;
}

void
agent_accept(struct agent *a)
{
	int e = accept_launcher(a);

	/* The waiting connection would make poll return at once, again and again. */
	if (e == ERR_SYS || e == ERR_NOMEM)
		a->accept_at = clk_s() + PAUSE_S;
}

/* Sends what a launcher that comes back may have missed: the state of the job and of each process. */
static void
send_agent_state(struct agent *a)
{
	double now = clk_s(), full_s = a->log_full_s + (a->log_full_since > 0 ? now - a->log_full_since : 0);
	const struct ctl_state state = { .job = a->proc != NULL, .go = a->go != NULL, .signals = a->signals,
	    .waited_ms = full_s < 1e6 ? (uint32_t)(full_s * 1e3) : (uint32_t)1e9 };
	struct buf b = { 0 };
	int e;

	a->log_full_s = 0;
	if (a->log_full_since > 0)
		a->log_full_since = now;
	if (a->chan != NULL &&
	    ((e = ctl_put_state(&b, &state)) < 0 || (e = chan_send(a->chan, CTL_STATE, b.p, b.n)) < 0))
		agent_lose_launcher(a, e);
	buf_free(&b);
	for (uint32_t i = 0; i < a->job.nchildren && a->proc != NULL; i++) {
		const struct proc *p = &a->proc[i];

		if (p->command > 0 && p->state != PROC_LEFT && p->end_sent != CTL_LEFT)
			agent_send_start(a, i);
		if (p->addr[0] != 0 && p->ready < 0)
			agent_send(a, CTL_READY, &i, 1, p->addr);
		if (p->end_sent != 0)
			agent_send_end(a, i);
	}
}

static int
handle_resume(struct agent *a, const struct frame *f)
{
	struct ctl_resume r;

	if (f->type != CTL_RESUME)
		return err_fail(ERR_FORMAT, "message %u before RESUME", f->type);
	ERR_TRY(ctl_get_resume(f->p, f->len, &r));
	if (a->opt->adopts && a->proc == NULL)
		ERR_TRY(chan_continue(a->chan, r.received, r.credited));
	ERR_TRY(chan_inherit(a->incoming, a->chan, r.received, r.credited));
	a->chan = a->incoming;
	a->incoming = NULL;
	send_agent_state(a);
	return 0;
}

static void
refuse_launcher(struct chan *c)
{
	struct buf b = { 0 };

	if (ctl_put_text(&b, err_line()) == 0 && chan_send(c, CTL_FAILED, b.p, b.n) == 0)
		chan_run(c);
	buf_free(&b);
}

void
agent_handle_incoming(struct agent *a)
{
	struct frame f;
	int e = chan_run(a->incoming), got = chan_next(a->incoming, &f);

	if (got > 0)
		got = handle_resume(a, &f);
	if (a->incoming == NULL)
		return;
	if (got < 0)
		refuse_launcher(a->incoming);
	if (e == 0 && got >= 0 && chan_silent_s(a->incoming) <= AGENT_SILENCE_S)
		return;
	chan_close(a->incoming);
	a->incoming = NULL;
	/* Without a job there is nothing to come back to. */
	if (a->proc == NULL)
		agent_lose_launcher(a, ERR_PEER);
}
