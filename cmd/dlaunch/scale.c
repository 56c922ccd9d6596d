/* scale - changes the number of workers of a job: the verb, and its launcher's side. */
#include "dlaunch/dlaunch.h"
#include "front.h"

#include "base/err.h"

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
	const struct dlaunch_asked *s = arg;

	return s->job->dir >= 0 ? jobdir_number(s->job, "scale") : 0;
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
	char text[512];
	int n;

	if (why != NULL && s->c->elastic == 0)
		why = say_why_fixed(s->c);
	n = snprintf(text, sizeof(text), "%s", why != NULL ? why : "");
	if (jobdir_put(s->job, "scaled", text, (size_t)n) < 0)
		front_warn("--job", ERR_SYS);
	unlinkat(s->job->dir, "scale", 0);
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
	const struct dlaunch_question q = { .file = "scale", .answer_file = "scaled", .elsewhere = "scale it there" };
	uint32_t n = (uint32_t)front_num("scale", workers, 1, JOB_MOST);
	struct buf answer = { 0 };
	struct jobdir d;
	char text[16];
	int e;

	if ((e = jobdir_open(name, &d)) < 0)
		front_die(NULL, e);
	snprintf(text, sizeof(text), "%u", n);
	dlaunch_ask(&d, &q, text, &answer);
	if (answer.n > 0)
		front_wrong("job %s: %s", name, (char *)answer.p);
	buf_free(&answer);
	jobdir_close(&d);
	return 0;
}
