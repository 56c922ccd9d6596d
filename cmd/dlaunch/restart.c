/* restart - whether and how a job that has failed is started again. */
#include "dlaunch/dlaunch.h"
#include "front.h"

#include "base/clk.h"

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define DMLC_AGAIN	254	/* status that asks dmlc-core's trackers for a restart (tracker/local.py) */
#define LAST_SIGNAL	64
#define LONGEST_S	60

bool
dlaunch_may_restart(const struct roster *r)
{
	if (r->stopped)
		return false;
	return r->code == FRONT_AGAIN || r->code == DMLC_AGAIN || (r->code > 128 && r->code <= 128 + LAST_SIGNAL);
}

bool
dlaunch_on_console(const struct dlaunch *c)
{
	return !c->dmlc && !c->detach && c->output == NULL && isatty(STDOUT_FILENO);
}

void
dlaunch_build_attempt(const struct dlaunch *c, uint32_t attempts, bool resume, struct words *argv, struct words *env)
{
	int e;

	if ((e = words_add_all(argv, c->argv)) == 0 && !c->dmlc && (attempts > 0 || resume))
		e = words_add(argv, "--resume-last");
	if (e == 0 && dlaunch_on_console(c))
		e = words_add(env, "TALLY_LOG_STYLE=console");
	if (e == 0 && c->env.v != NULL)
		e = words_add_all(env, c->env.v);
	if (e == 0 && (e = words_add(env, "DMLC_NUM_ATTEMPT=%u", attempts)) == 0)
		return;
	front_die(NULL, e);
}

void
dlaunch_pause(uint32_t attempts, uint32_t most, int signals)
{
	const double until = clk_s() + (attempts < 2 ? 0 : attempts < 8 ? 1 << (attempts - 2) : LONGEST_S);
	const struct timespec at_once = { 0 };
	struct pollfd p = { .fd = signals, .events = POLLIN };
	double left;
	sigset_t others;

	front_say("restart %u of %u", attempts, most);
	/*
	 * The processes of the last attempt have been waited for: signals of their ends must not end the pause.  Nor
	 * must SIGUSR1, as the next attempt begins with reading requests.
	 */
	sigemptyset(&others);
	sigaddset(&others, SIGCHLD);
	sigaddset(&others, SIGUSR1);
	do {
		while (sigtimedwait(&others, NULL, &at_once) > 0)
			continue;
		left = until - clk_s();
	} while (left > 0 && poll(&p, 1, (int)(left * 1e3) + 1) > 0 && sigtimedwait(&others, NULL, &at_once) > 0);
}
