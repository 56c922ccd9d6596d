/* show - prints what a job would run where, and how its processes ended. */
#include "dlaunch/dlaunch.h"
#include "front.h"

#include "base/err.h"
#include "run/role.h"

#include <stdio.h>
#include <string.h>

/* Prints words as a shell command. */
static void
print_words(const struct words *w)
{
	struct buf text = { 0 };

	if (words_text(w->v, &text) < 0)
		front_die(NULL, err_nomem());
	fwrite(text.p, 1, text.n, stdout);
	buf_free(&text);
}

/* Prints a process's command without addresses and keys, which its agent adds later. */
static void
print_command(const struct dlaunch *c, const struct job_child *who)
{
	char *none[] = { NULL };
	struct job job = { .dmlc = true, .argv = c->argv, .each = c->each.v != NULL ? c->each.v : none };
	struct words w = { 0 };
	int e = who->role == JOB_SERVER && !c->dmlc ? words_split(&w, c->server) :
	    role_argv(&job, who, &(struct role_place){ .go = "" }, &w);

	if (e < 0)
		front_die(NULL, e);
	print_words(&w);
	words_free(&w);
}

static void
print_agent(const struct host *host, const struct words *rsh, const char *agent)
{
	struct words w = { 0 };

	if (words_fill(&w, rsh, host->login, host->port) < 0 || words_add(&w, "%s", agent) < 0 ||
	    words_add(&w, "--agent") < 0)
		front_die(NULL, err_nomem());
	printf("# %s: ", host->login);
	print_words(&w);
	printf("\n");
	words_free(&w);
}

void
dlaunch_show_plan(const struct dlaunch *c, const struct roster *r, const struct hosts *h, const struct words *rsh,
    const char *agent)
{
	for (uint32_t i = 0; rsh != NULL && i < r->hosts; i++)
		print_agent(&h->host[i], rsh, agent);
	printf("role\trank\thost\tcommand\n");
	for (uint32_t i = 0; i < r->n; i++) {
		const struct member *m = &r->m[i];

		printf("%s\t%u\t%s\t", job_role(m->child.role), m->child.rank, h->host[m->host].login);
		print_command(c, &m->child);
		printf("\n");
	}
	front_flush();
}

void
dlaunch_show_exits(const struct roster *r, const struct hosts *h)
{
	bool any = false;
	int wide = 4;

	for (uint32_t i = 0; i < r->n; i++) {
		int n = (int)strlen(h->host[r->m[i].host].login);

		any |= r->m[i].pid != 0 || r->m[i].state == ROSTER_ENDED;
		wide = n > wide ? n : wide;
	}
	if (!any)
		return;
	fprintf(stderr, "%-9s %4s  %-*s %8s %8s %8s  %s\n", "role", "rank", wide, "host", "pid", "seconds",
	    "peak MB", "end");
	for (uint32_t i = 0; i < r->n; i++) {
		const struct member *m = &r->m[i];
		char how[64] = "not started", pid[16] = "-";

		if (roster_reserve(r, m) && m->peak_kib > 0)
			snprintf(how, sizeof(how), "has left");

		if (m->state == ROSTER_ENDED)
			roster_end_text(m->status, how);
		else if (m->state == ROSTER_LOST && m->pid != 0)
			snprintf(how, sizeof(how), "lost with its host");
		if (m->pid != 0)
			snprintf(pid, sizeof(pid), "%u", m->pid);
		fprintf(stderr, "%-9s %4u  %-*s %8s %8.1f %8.1f  %s\n", job_role(m->child.role), m->child.rank, wide,
		    h->host[m->host].login, pid, m->seconds, m->peak_kib * 1024e-6, how);
	}
}
