/* scale - changes the number of workers of a job: the verb, and its launcher's side. */
#include "dlaunch/dlaunch.h"
#include "front.h"

#include "base/err.h"
#include "base/num.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

void
dlaunch_open_scale(const struct dlaunch *c, const struct jobdir *d, struct dlaunch_asked *s)
{
	sigset_t set;
	uint32_t before = c->resume != NULL && c->elastic > 0 ? jobdir_number(d, "workers") : 0;

	/* The signal of the verb waits until the launcher reads it. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*s = (struct dlaunch_asked){ .c = c, .job = d, .workers = c->elastic };
	if (c->record != NULL)
		s->workers = c->record->workers;
	else if (before >= c->elastic && before <= c->workers)
		s->workers = before;
}

void
dlaunch_put_workers(const struct dlaunch_asked *s)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%u", s->workers > 0 ? s->workers : s->c->workers);

	if (s->job->dir >= 0 && jobdir_put(s->job, "workers", text, (size_t)n) < 0)
		front_warn("--job", ERR_SYS);
}

static uint32_t
read_wanted_workers(void *arg)
{
	struct dlaunch_asked *s = arg;
	char text[SETTINGS_TEXT];
	uint64_t n;

	if (!dlaunch_find_question(s->job, "scale", &s->scale_id, text) || num_u64(text, 1, JOB_MOST, &n) < 0)
		return 0;
	return (uint32_t)n;
}

static const char *
say_why_fixed(const struct dlaunch *c)
{
	return dlaunch_is_async(c) ? "the number of its workers is fixed, as it was not started with -n N..M" :
	    "the number of its workers is fixed, as they wait for each other (no --async)";
}

static void
note_workers(void *arg, uint32_t workers)
{
	struct dlaunch_asked *s = arg;

	s->workers = workers;
	dlaunch_put_workers(s);
}

static void
answer_scale(void *arg, const char *why)
{
	const struct dlaunch_asked *s = arg;

	dlaunch_answer(s->job, s->scale_id, 0, why != NULL && s->c->elastic == 0 ? say_why_fixed(s->c) : why);
}

struct launch_scale
dlaunch_scale_calls(struct dlaunch_asked *s, uint32_t places)
{
	return (struct launch_scale){ .most_places = places, .wanted = read_wanted_workers,
	    .changed = note_workers, .answer = answer_scale, .arg = s };
}

int
dlaunch_scale_job(const char *name, const char *workers)
{
	uint32_t n = (uint32_t)front_num("scale", workers, 1, JOB_MOST);
	struct jobdir d;
	char text[16];
	int e;

	if ((e = jobdir_open(name, &d)) < 0)
		front_die(NULL, e);
	snprintf(text, sizeof(text), "%u", n);
	dlaunch_ask(&d, "scale", text);
	jobdir_close(&d);
	return 0;
}
