/* launch_set - passes a change of settings on to worker 0 of a job that runs: serves launch. */
#include "run/launcher/launch_job.h"

#include "base/clk.h"

#include <stdio.h>

#define AGAIN_S	1.0	/* a request is repeated after this time: an agent, or its link, may be new */

/* The caller has a request. */
static void
ask_worker(struct launch *l)
{
	struct remote *r = &l->remote[launch_worker(l, 0)->host];
	struct buf b = { 0 };
	int e;

	l->set_again_at = clk_s() + AGAIN_S;
	if (r->state != REMOTE_UP)
		return;
	if ((e = ctl_put_u64(&b, l->set_id)) == 0)
		e = ctl_put_text(&b, l->set_text);
	launch_send(r, CTL_SET, &b, e);
	buf_free(&b);
}

static void
answer_request(struct launch *l, uint64_t from, const char *why)
{
	const uint64_t id = l->set_id;

	l->set_id = 0;
	l->opt->set.answer(l->opt->set.arg, id, l->set_text, from, why);
	l->sets = true;	/* another request may have come meanwhile */
}

void
launch_check_set(struct launch *l)
{
	if (l->sets && l->started && l->set_id == 0 && l->opt->set.wanted != NULL) {
		l->sets = false;
		if (!l->opt->set.wanted(l->opt->set.arg, &l->set_id, l->set_text))
			l->set_id = 0;
		else if (launch_worker(l, 0)->state >= ROSTER_ENDED || l->roster->asked || l->roster->termed)
			answer_request(l, 0, "the job is ending");
		else
			ask_worker(l);
	}
	if (l->set_id != 0 && clk_s() >= l->set_again_at)
		ask_worker(l);
}

void
launch_note_settled(struct launch *l, uint64_t id, uint64_t from, const char *why)
{
	if (id != 0 && id == l->set_id)
		answer_request(l, from, *why != 0 ? why : NULL);
}
