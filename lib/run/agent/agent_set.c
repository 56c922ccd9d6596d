/* agent_set - leaves a change of settings in the mailbox of worker 0, and reports its answer: serves agent. */
#include "run/agent/agent_job.h"

#include "base/err.h"

/* The number of worker 0, if this agent has it. */
static bool
find_worker(const struct agent *a, uint32_t *i)
{
	for (*i = 0; *i < a->job.nchildren; (*i)++)
		if (a->job.child[*i].role == JOB_WORKER && a->job.child[*i].rank == 0)
			return true;
	return false;
}

int
agent_handle_set(struct agent *a, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };
	const uint64_t id = ctl_get_u64(&in);
	const char *text = ctl_get_text(&in);
	uint32_t i;

	if (a->proc == NULL || in.bad || id == 0 || !find_worker(a, &i))
		return err_fail(ERR_FORMAT, "an unexpected or malformed SET message");
	if (a->box.page == NULL && a->proc[i].mailbox_fd >= 0)
		ERR_TRY(mailbox_open(a->proc[i].mailbox_fd, &a->box));
	if (a->box.page == NULL)
		return 0;	/* it has not started yet: the launcher asks again */
	a->set_id = id;
	mailbox_ask(&a->box, id, text);
	return 0;
}

void
agent_check_set(struct agent *a)
{
	char why[ERR_LINE];
	struct buf b = { 0 };
	uint64_t from;
	uint32_t i;
	int e;

	if (a->set_id == 0 || a->chan == NULL || !find_worker(a, &i) ||
	    !mailbox_answer(&a->box, a->set_id, &from, why))
		return;
	if ((e = ctl_put_u32(&b, i)) == 0 && (e = ctl_put_u64(&b, a->set_id)) == 0 &&
	    (e = ctl_put_u64(&b, from)) == 0 && (e = ctl_put_text(&b, why)) == 0)
		e = chan_send(a->chan, CTL_SETTLED, b.p, b.n);
	a->set_id = 0;
	if (e < 0)
		agent_lose_launcher(a, e);
	buf_free(&b);
}
