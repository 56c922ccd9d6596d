/* launch_scale - changes the number of workers of a job that runs: serves launch. */
#include "run/launcher/launch_job.h"

#include <stdio.h>

struct member *
launch_worker(const struct launch *l, uint32_t rank)
{
	return &l->roster->m[l->roster->n - l->opt->job.workers + rank];
}

/* Worker 0 is in the job from the start to the end.  A worker that joins after it has ended would find no servers. */
static bool
has_ended(const struct launch *l)
{
	return launch_worker(l, 0)->state >= ROSTER_ENDED;
}

void
launch_send_scale(struct launch *l, struct remote *r)
{
	if (l->opt->job.elastic > 0)
		launch_send_u32s(r, CTL_SCALE, &l->roster->workers, 1);
	if (l->opt->job.elastic > 0 && has_ended(l))
		launch_send_u32s(r, CTL_SCALE, (uint32_t[]){ 0 }, 1);
}

void
launch_scale_all(struct launch *l)
{
	for (uint32_t h = 0; h < l->roster->hosts; h++)
		if (l->remote[h].state == REMOTE_UP)
			launch_send_scale(l, &l->remote[h]);
}

/* Returns true with a reason if the job cannot have n workers. */
static bool
refuse_scale(const struct launch *l, uint32_t n, char why[REMOTE_LAST])
{
	const struct job *j = &l->opt->job;
	const uint32_t places = l->opt->scale.most_places;
	char name[32];

	if (n < l->roster->least || n > j->workers)
		snprintf(why, REMOTE_LAST, "%u workers: the job was started with -n %u..%u", n, l->roster->least,
		    j->workers);
	else if (n > l->roster->workers && places > 0 && j->servers + n > places)
		snprintf(why, REMOTE_LAST, "%u workers and %u servers: the hosts have %u slots", n, j->servers, places);
	else if (has_ended(l) || l->roster->asked || l->roster->termed)
		snprintf(why, REMOTE_LAST, "the job is ending");
	else
		why[0] = 0;
	for (uint32_t i = l->roster->workers; i < n && why[0] == 0; i++)
		if (launch_worker(l, i)->state >= ROSTER_ENDED) {
			roster_name(launch_worker(l, i), name);
			snprintf(why, REMOTE_LAST, "%s has ended already", name);
		}
	return why[0] != 0;
}

static void
change_workers(struct launch *l, uint32_t n)
{
	launch_report(l, "%u workers, %u before", n, l->roster->workers);
	l->roster->workers = n;
	l->opt->scale.changed(l->opt->scale.arg, n);
	/* Saved before it is sent, as signals are. */
	l->changed = true;
	launch_save(l, true);
	launch_scale_all(l);
}

void
launch_check_scale(struct launch *l)
{
	char why[REMOTE_LAST];
	uint32_t n;

	if (l->opt->job.elastic > 0 && !l->closed && has_ended(l)) {
		l->closed = true;
		launch_scale_all(l);
	}
	if (!l->scales || !l->started)
		return;
	l->scales = false;
	if (l->opt->scale.wanted == NULL || (n = l->opt->scale.wanted(l->opt->scale.arg)) == 0)
		return;
	if (l->opt->job.elastic == 0) {
		l->opt->scale.answer(l->opt->scale.arg, "the number of its workers is fixed");
		return;
	}
	if (refuse_scale(l, n, why)) {
		l->opt->scale.answer(l->opt->scale.arg, why);
		return;
	}
	if (n != l->roster->workers)
		change_workers(l, n);
	l->opt->scale.answer(l->opt->scale.arg, NULL);
}

static bool
is_unjoined(const struct launch *l, const struct member *m, int status)
{
	return job_unjoined(l->opt->job.elastic, &m->child, status);
}

/* A worker that joins when the others end finds no servers. */
static bool
is_too_late(const struct launch *l, const struct member *m, int status)
{
	return m->child.role == JOB_WORKER && m->child.rank > 0 &&
	    (roster_code(status) == ROSTER_AGAIN || is_unjoined(l, m, status)) &&
	    launch_worker(l, 0)->state == ROSTER_ENDED && launch_worker(l, 0)->status == 0;
}

void
launch_note_leave(struct launch *l, const struct remote *r, struct member *m)
{
	char name[32];

	roster_name(m, name);
	launch_report(l, "%s on %s has left", name, r->name);
	m->state = ROSTER_WAITING;
	m->pid = 0;
}

bool
launch_note_unjoined(struct launch *l, const struct remote *r, struct member *m, int status)
{
	char name[32], how[64];

	if (l->opt->job.elastic == 0)
		return false;
	roster_name(m, name);
	if (is_too_late(l, m, status)) {
		launch_report(l, "%s on %s: the job ended before it joined", name, r->name);
		roster_end(l->roster, m, 0, 0);
		return true;
	}
	/* Without it and those above it no batch is left out. */
	if (is_unjoined(l, m, status)) {
		roster_end_text(status, how);
		launch_report(l, "%s on %s did not join (%s); the job goes on without it", name, r->name, how);
		m->state = ROSTER_WAITING;
		m->pid = 0;
		if (!roster_reserve(l->roster, m))
			change_workers(l, m->child.rank);
		return true;
	}
	return false;
}
