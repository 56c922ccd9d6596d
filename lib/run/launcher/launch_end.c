/* launch_end - ends a launched job early: after failures, lost hosts and signals. */
#include "run/launcher/launch_job.h"

#include "base/clk.h"
#include "base/err.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

void
launch_report(struct launch *l, const char *fmt, ...)
{
	char text[1200];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	n = n < (int)sizeof(text) - 2 ? n : (int)sizeof(text) - 2;
	text[n] = '\n';
	outq_put_lines(&l->err, l->opt->tool, text, (size_t)n + 1);
	l->changed = true;
}

void
launch_send(struct remote *r, enum ctl_type type, const struct buf *b, int e)
{
	/* A host that was called again first has to say what it has missed. */
	if (r->detached && r->state != REMOTE_UP && r->state != REMOTE_DONE)
		return;
	if (r->chan != NULL && (e < 0 || chan_send(r->chan, type, b->p, b->n) < 0))
		remote_hang_up(r, SIGTERM);
}

void
launch_send_u32s(struct remote *r, enum ctl_type type, const uint32_t *v, size_t n)
{
	struct buf b = { 0 };

	launch_send(r, type, &b, ctl_put_u32s(&b, v, n));
	buf_free(&b);
}

/* Records a signal for hosts that are away.  Returns false if it has been sent already. */
static bool
note_signal(struct launch *l, enum ctl_target whom, uint32_t signo)
{
	for (uint32_t i = 0; i < l->nsent; i++)
		if (l->sent[i].whom == whom && l->sent[i].signo == signo)
			return false;
	if (l->nsent == JOB_RECORD_SIGNALS)
		return false;
	l->sent[l->nsent++] = (struct job_record_signal){ whom, signo };
	/* Saved before it is sent: a later launcher and the agents must count the same signals. */
	l->changed = true;
	launch_save(l, true);
	return true;
}

void
launch_signal(struct launch *l, enum ctl_target whom, int signo)
{
	if (!note_signal(l, whom, (uint32_t)signo))
		return;
	for (uint32_t h = 0; h < l->roster->hosts; h++) {
		struct remote *r = &l->remote[h];

		if (r->state == REMOTE_CALLED) {
			/* No process runs there yet. */
			r->state = REMOTE_DONE;
			remote_hang_up(r, SIGTERM);
		} else if (r->state == REMOTE_UP) {
			launch_send_u32s(r, CTL_SIGNAL, (uint32_t[]){ whom, (uint32_t)signo }, 2);
		}
	}
}

void
launch_end(struct launch *l)
{
	double now = clk_s();

	if (l->roster->termed)
		return;
	l->roster->termed = true;
	launch_release(l);
	launch_signal(l, CTL_ALL, SIGTERM);
	l->term_at = now;
	if (l->kill_at == 0)
		l->kill_at = now + l->opt->grace_s;
	l->report_at = now + LAUNCH_REPORT_S;
}

void
launch_kill(struct launch *l)
{
	l->roster->termed = l->roster->killed = true;
	l->kill_at = clk_s();
	launch_release(l);
	launch_signal(l, CTL_ALL, SIGKILL);
}

void
launch_stop(struct launch *l)
{
	double now = clk_s();

	if (l->roster->asked || l->roster->termed)
		return;
	l->roster->asked = true;
	launch_release(l);
	launch_signal(l, CTL_WORKERS, SIGTERM);
	l->kill_at = now + l->opt->grace_s;
	l->report_at = now + LAUNCH_REPORT_S;
}

void
launch_lose_output(struct launch *l, const char *what)
{
	char why[ERR_LINE + 32];

	snprintf(why, sizeof(why), "%s%s%s", what, *what != 0 ? ": " : "", err_line());
	if (!l->roster->asked && !l->roster->termed)
		launch_report(l, "%s%s", why, l->started ? "; stopping the workers" : "");
	if (launch_is_detached(l))
		l->opt->detached.lost(l->opt->detached.arg, why);
	if (l->started) {
		roster_fail(l->roster, 1);
		launch_stop(l);
	} else {
		launch_fail(l, 1);
	}
}

void
launch_fail(struct launch *l, int code)
{
	roster_fail(l->roster, code);
	launch_end(l);
}

void
launch_mark_lost(struct launch *l, uint32_t h)
{
	for (uint32_t i = 0; i < l->roster->n; i++)
		if (l->roster->m[i].host == h && l->roster->m[i].state < ROSTER_ENDED)
			l->roster->m[i].state = ROSTER_LOST;
}

void
launch_lose(struct launch *l, struct remote *r, const char *why, int code)
{
	uint32_t h = (uint32_t)(r - l->remote);

	launch_report(l, "host %s: %s", r->name, why);
	launch_release(l);
	if (r->detached && r->state == REMOTE_UP && r->chan != NULL) {
		/* Otherwise the agent would wait for a launcher.  The remote shell then ends with the agent. */
		chan_send(r->chan, CTL_ABANDON, NULL, 0);
		chan_run(r->chan);
		remote_hang_up(r, 0);
	} else {
		remote_hang_up(r, SIGTERM);
	}
	r->state = REMOTE_GONE;
	l->changed = true;
	launch_mark_lost(l, h);
	roster_fail(l->roster, code);
	if (!l->opt->wait || !l->started)
		launch_end(l);
}
