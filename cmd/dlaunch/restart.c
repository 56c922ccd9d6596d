/* restart - whether and how a job that has failed is started again. */
#include "dlaunch/dlaunch.h"
#include "front.h"

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
	int seconds = attempts < 2 ? 0 : attempts < 8 ? 1 << (attempts - 2) : LONGEST_S;
	sigset_t child;

	front_say("restart %u of %u", attempts, most);
	/* The processes of the last attempt have been waited for: a signal of their ends must not end the pause. */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (sigtimedwait(&child, NULL, &(struct timespec){ 0 }) > 0)
		continue;
	poll(&(struct pollfd){ .fd = signals, .events = POLLIN }, 1, seconds * 1000);
}
