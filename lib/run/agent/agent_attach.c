/* agent_attach - launchers that come through an agent's door, into the launcher of its job. */
#include "run/agent/agent_job.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PAUSE_S	0.5	/* before the next try, after one that failed for want of a descriptor or memory */

int
agent_greet(struct chan *c, const char *version)
{
	struct buf hello = { 0 };
	int e;

	if ((e = ctl_put(&hello, CTL_PROTOCOL)) == 0 && (e = ctl_put_text(&hello, version)) == 0)
		e = chan_send(c, CTL_HELLO, hello.p, hello.n);
	buf_free(&hello);
	return e;
}

/* Lets somebody in.  Returns 0, or an error when there is nobody or that cannot be done. */
static int
let_in(struct agent *a)
{
	int fd, out, e = attach_accept(a->opt->door, &fd);

	if (e < 0)
		return e;
	if ((out = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
		e = err_sys("dup");
		close(fd);
		return e;
	}
	chan_close(a->caller);
	if ((a->caller = chan_open(fd, out)) == NULL)
		return err_nomem();
	if ((e = agent_greet(a->caller, a->opt->version)) < 0) {
		chan_close(a->caller);
		a->caller = NULL;
	}
	return e;
}

void
agent_door(struct agent *a)
{
	int e = let_in(a);

	/* Who stands before the door makes it ready again and again. */
	if (e == ERR_SYS || e == ERR_NOMEM)
		a->door_at = clk_s() + PAUSE_S;
}

/* What a launcher that comes back may have missed: what it said last, and what of each child. */
static void
tell_all(struct agent *a)
{
	double now = clk_s(), full_s = a->full_s + (a->full_at > 0 ? now - a->full_at : 0);
	const struct ctl_back back = { .job = a->proc != NULL, .go = a->go != NULL, .signals = a->signals,
	    .waited_ms = full_s < 1e6 ? (uint32_t)(full_s * 1e3) : (uint32_t)1e9 };

	a->full_s = 0;
	if (a->full_at > 0)
		a->full_at = now;
	agent_say(a, CTL_BACK, (uint32_t[]){ back.job, back.go, back.signals, back.waited_ms }, 4, NULL);
	for (uint32_t i = 0; i < a->job.nchildren && a->proc != NULL; i++) {
		const struct proc *p = &a->proc[i];

		if (p->command > 0)
			agent_say(a, CTL_STARTED, (uint32_t[]){ i, (uint32_t)p->command }, 2, NULL);
		if (p->where[0] != 0 && p->ready < 0)
			agent_say(a, CTL_READY, &i, 1, p->where);
		if (p->told)
			agent_say_exit(a, i);
	}
}

static int
take_resume(struct agent *a, const struct frame *f)
{
	struct ctl_resume r;
	int e;

	if (f->type != CTL_RESUME)
		return err_fail(ERR_FORMAT, "message %u is not a launcher's first", f->type);
	if ((e = ctl_get_resume(&r, f->p, f->len)) < 0 || (e = chan_inherit(a->caller, a->chan, r.got, r.done)) < 0)
		return e;
	a->chan = a->caller;
	a->caller = NULL;
	tell_all(a);
	return 0;
}

static void
refuse(struct chan *c)
{
	struct buf b = { 0 };

	if (ctl_put_text(&b, err_line()) == 0 && chan_send(c, CTL_FAILED, b.p, b.n) == 0)
		chan_run(c);
	buf_free(&b);
}

void
agent_hear(struct agent *a)
{
	struct frame f;
	int e = chan_run(a->caller), got = chan_next(a->caller, &f);

	if (got > 0)
		got = take_resume(a, &f);
	if (a->caller == NULL)
		return;
	if (got < 0)
		refuse(a->caller);
	if (e == 0 && got >= 0 && chan_silent_s(a->caller) <= AGENT_SILENCE_S)
		return;
	chan_close(a->caller);
	a->caller = NULL;
	/* There is nothing yet that one could come back to. */
	if (a->proc == NULL)
		agent_lose(a, ERR_PEER);
}
