/* roster - all processes of a job as its launcher sees them, and the job's exit status. */
#include "run/launcher/roster.h"

#include "base/err.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

int
roster_make(const struct hosts *h, bool dmlc, uint32_t servers, uint32_t workers, struct roster *c)
{
	uint32_t scheduler = dmlc && servers > 0;

	*c = (struct roster){ .n = scheduler + servers + workers, .nlisteners = dmlc ? scheduler : servers };
	if (job_has_shards(dmlc, servers, workers))
		c->nlisteners = workers;
	if ((c->m = calloc(c->n, sizeof(*c->m))) == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t k = i < scheduler ? 0 : i - scheduler;

		c->m[i].child.role = i < scheduler ? JOB_SCHEDULER : k < servers ? JOB_SERVER : JOB_WORKER;
		c->m[i].child.rank = k < servers ? k : k - servers;
		c->m[i].host = hosts_place(h, k);
		if (c->m[i].host >= c->hosts)
			c->hosts = c->m[i].host + 1;
	}
	return 0;
}

void
roster_free(struct roster *c)
{
	free(c->m);
	*c = (struct roster){ 0 };
}

bool
roster_reserve(const struct roster *c, const struct member *m)
{
	return c->workers > 0 && m->child.role == JOB_WORKER && m->child.rank >= c->workers;
}

void
roster_name(const struct member *m, char name[32])
{
	if (m->child.role == JOB_SCHEDULER)
		snprintf(name, 32, "scheduler");
	else
		snprintf(name, 32, "%s %u", job_role(m->child.role), m->child.rank);
}

int
roster_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void
roster_end_text(int status, char text[64])
{
	if (WIFEXITED(status))
		snprintf(text, 64, "exit status %d", WEXITSTATUS(status));
	else
		snprintf(text, 64, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

bool
roster_end(struct roster *c, struct member *m, int status, double seconds)
{
	int code = roster_code(status);
	bool termed = c->termed || (c->asked && m->child.role == JOB_WORKER);

	m->state = ROSTER_ENDED;
	m->status = status;
	m->seconds = seconds;
	if (code == 0 || (termed && code == 128 + SIGTERM) || (c->killed && code == 128 + SIGKILL))
		return false;
	roster_fail(c, code);
	return true;
}

void
roster_fail(struct roster *c, int code)
{
	/* A lost peer is a consequence of another end, which may be reported later. */
	if (c->code == 0 || c->code == ROSTER_AGAIN)
		c->code = code;
}

bool
roster_started(const struct roster *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->m[i].pid == 0 && !roster_reserve(c, &c->m[i]))
			return false;
	return true;
}

const struct member *
roster_unknown(const struct roster *c)
{
	for (uint32_t i = 0; i < c->nlisteners; i++)
		if (c->m[i].addr[0] == 0)
			return &c->m[i];
	return NULL;
}

char *
roster_addrs(const struct roster *c)
{
	size_t n = 1;
	char *text, *p;

	for (uint32_t i = 0; i < c->nlisteners; i++)
		n += strlen(c->m[i].addr) + 1;
	if ((p = text = malloc(n)) == NULL)
		return NULL;
	*p = 0;
	for (uint32_t i = 0; i < c->nlisteners; i++)
		p += sprintf(p, "%s%s", i > 0 ? "," : "", c->m[i].addr);
	return text;
}

bool
roster_worker_exited(const struct roster *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->m[i].child.role == JOB_WORKER && c->m[i].state == ROSTER_ENDED && WIFEXITED(c->m[i].status))
			return true;
	return false;
}

const struct member *
roster_running(const struct roster *c)
{
	for (uint32_t i = c->n; i-- > 0;)
		if (c->m[i].state < ROSTER_ENDED && c->m[i].pid != 0)
			return &c->m[i];
	return NULL;
}

const struct member *
roster_unfinished(const struct roster *c)
{
	for (uint32_t i = c->n; i-- > 0;)
		if (c->m[i].state < ROSTER_ENDED &&
		    (c->m[i].state != ROSTER_WAITING || !roster_reserve(c, &c->m[i])))
			return &c->m[i];
	return NULL;
}
