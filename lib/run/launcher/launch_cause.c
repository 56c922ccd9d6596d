/* launch_cause - reports the cause of a failure before what follows from it. */
#include "run/launcher/launch_job.h"

#include "base/clk.h"

#define CAUSE_S	2.0	/* time for the cause of a lost peer to be reported before it */
#define LATE_S	1.5	/* a host that is silent for longer than between two beats may have news of a cause */

bool
launch_holds(const struct launch *l)
{
	return !l->roster->termed && !l->roster->asked && l->signo == 0;
}

int
launch_hold_lines(struct launch *l, const char *name, const char *text, size_t n)
{
	if (l->held_since == 0)
		l->held_since = clk_s();
	return outq_put_lines(&l->held, name, text, n);
}

void
launch_release(struct launch *l)
{
	if (outq_size(&l->held) > 0)
		outq_put(&l->err, l->held.b.p, outq_size(&l->held));
	outq_free(&l->held);
	l->held_since = 0;
	l->lost_peer = NULL;
}

void
launch_note_lost_peer(struct launch *l, const struct member *m)
{
	if (!launch_holds(l))
		return;
	if (l->lost_peer == NULL)
		l->lost_peer = m;
	if (l->held_since == 0)
		l->held_since = clk_s();
}

static bool
may_have_news(const struct launch *l)
{
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		if (l->remote[h].state == REMOTE_UP && l->remote[h].chan != NULL &&
		    chan_silent_s(l->remote[h].chan) > LATE_S)
			return true;
	return false;
}

void
launch_check_cause(struct launch *l)
{
	bool others = roster_unfinished(l->roster) != NULL && !l->roster->termed;
	const struct member *m = l->lost_peer;
	char name[32], how[64];

	if (l->held_since == 0 || (others && (clk_s() < l->held_since + CAUSE_S || may_have_news(l))))
		return;
	launch_release(l);
	if (m == NULL)
		return;
	roster_name(m, name);
	roster_end_text(m->status, how);
	launch_report(l, "%s on %s: %s%s", name, l->remote[m->host].name, how,
	    others ? ": waiting for the others" : "");
}
