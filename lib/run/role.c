/* role - the command line and the environment of one process of a job. */
#include "run/role.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "4", or "2..4" if the number changes. */
static void
format_workers(const struct job *j, char text[32])
{
	if (j->elastic > 0)
		snprintf(text, 32, "%u..%u", j->elastic, j->workers);
	else
		snprintf(text, 32, "%u", j->workers);
}

static int
build_server_argv(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *w)
{
	char workers[32];

	ERR_TRY(words_add_all(w, j->server_argv));
	ERR_TRY(words_add(w, "--listen"));
	ERR_TRY(at->listen != NULL ? words_add(w, "%s", at->listen) : words_add(w, "%s:0", at->addr));
	format_workers(j, workers);
	ERR_TRY(words_add(w, "--workers"));
	ERR_TRY(words_add(w, "%s", workers));
	ERR_TRY(words_add(w, "--server"));
	ERR_TRY(words_add(w, "%u/%u", c->rank, j->servers));
	ERR_TRY(words_add(w, "--key-file"));
	ERR_TRY(words_add(w, "/dev/fd/%d", at->key_fd));
	ERR_TRY(words_add(w, "--ready-fd"));
	ERR_TRY(words_add(w, "%d", at->ready_fd));
	if (at->listen == NULL)
		return 0;
	ERR_TRY(words_add(w, "--listen-fd"));
	ERR_TRY(words_add(w, "%d", at->listen_fd));
	ERR_TRY(words_add(w, "--state"));
	return words_add(w, "/dev/fd/%d", at->memory_fd);
}

/* "--threads=4:2:8" adds "--threads" "2" for worker 1.  If the list is too short, the value is empty. */
static int
add_each(const struct job *j, uint32_t rank, struct words *w)
{
	int e = 0;

	for (char **each = j->each; *each != NULL && e == 0; each++) {
		const char *value = strchr(*each, '=') + 1;

		for (uint32_t i = 0; i < rank && *value != 0; i++)
			value += strcspn(value, ":") + (value[strcspn(value, ":")] == ':');
		e = words_add(w, "%.*s", (int)strcspn(*each, "="), *each);
		if (e == 0)
			e = words_add(w, "%.*s", (int)strcspn(value, ":"), value);
	}
	return e;
}

static int
build_worker_argv(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *w)
{
	const bool shards = job_has_shards(j->dmlc, j->servers, j->workers);
	char workers[32];

	ERR_TRY(words_add_all(w, j->argv));
	if (c->role == JOB_WORKER)
		ERR_TRY(add_each(j, c->rank, w));
	if (j->dmlc || (j->servers == 0 && !shards))
		return 0;
	ERR_TRY(words_add(w, "--servers"));
	ERR_TRY(words_add(w, "%s", at->go));
	ERR_TRY(words_add(w, "--worker"));
	format_workers(j, workers);
	ERR_TRY(words_add(w, "%u/%s", c->rank, workers));
	ERR_TRY(words_add(w, "--key-file"));
	ERR_TRY(words_add(w, "/dev/fd/%d", at->key_fd));
	if (shards) {
		ERR_TRY(words_add(w, "--shard"));
		ERR_TRY(words_add(w, "--shard-fd"));
		ERR_TRY(words_add(w, "%d", at->listen_fd));
	}
	if (at->memory_fd < 0)
		return 0;
	ERR_TRY(words_add(w, "--state"));
	ERR_TRY(words_add(w, "/dev/fd/%d", at->memory_fd));
	if (at->shard_fd < 0)
		return 0;
	ERR_TRY(words_add(w, "--shard-state"));
	return words_add(w, "/dev/fd/%d", at->shard_fd);
}

int
role_argv(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *argv)
{
	if (!j->dmlc && c->role == JOB_SERVER)
		return build_server_argv(j, c, at, argv);
	return build_worker_argv(j, c, at, argv);
}

/* A variable's value in the job's env, else in this process's; NULL if it is unset or empty. */
static const char *
find_env(const struct job *j, const char *name)
{
	const char *value = getenv(name);
	size_t n = strlen(name);

	for (char **e = j->env; *e != NULL; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			value = *e + n + 1;
	return value != NULL && *value != 0 ? value : NULL;
}

static unsigned
count_worker_threads(const struct job *j, const struct role_place *at)
{
	unsigned workers = 0;

	for (uint32_t i = 0; i < j->nchildren; i++)
		workers += j->child[i].role == JOB_WORKER;
	return workers > 0 && at->processors > workers ? at->processors / workers : 1;
}

static int
add_dmlc_env(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *w)
{
	const char *colon = strrchr(at->go, ':');

	ERR_TRY(words_add(w, "DMLC_ROLE=%s", job_role(c->role)));
	ERR_TRY(words_add(w, "DMLC_RANK=%u", c->rank));
	ERR_TRY(words_add(w, "DMLC_TASK_ID=%u", c->rank));
	ERR_TRY(words_add(w, "DMLC_NUM_WORKER=%u", j->workers));
	ERR_TRY(words_add(w, "DMLC_NUM_SERVER=%u", j->servers));
	ERR_TRY(words_add(w, "DMLC_NODE_HOST=%s", at->addr));
	if (c->role != JOB_SCHEDULER)
		ERR_TRY(words_add(w, "DMLC_%s_ID=%u", c->role == JOB_WORKER ? "WORKER" : "SERVER", c->rank));
	if (colon == NULL)
		return 0;
	ERR_TRY(words_add(w, "DMLC_PS_ROOT_URI=%.*s", (int)(colon - at->go), at->go));
	return words_add(w, "DMLC_PS_ROOT_PORT=%s", colon + 1);
}

int
role_env(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *env)
{
	const char *path = find_env(j, "PATH");

	ERR_TRY(words_add_all(env, j->env));
	if (at->bin[0] != 0)
		ERR_TRY(words_add(env, "PATH=%s:%s", at->bin, path != NULL ? path : "/usr/bin:/bin"));
	/* Threads that spin while they wait would take processors from the host's other workers. */
	if (find_env(j, "OMP_WAIT_POLICY") == NULL)
		ERR_TRY(words_add(env, "OMP_WAIT_POLICY=passive"));
	if (c->role == JOB_WORKER && find_env(j, "OMP_NUM_THREADS") == NULL)
		ERR_TRY(words_add(env, "OMP_NUM_THREADS=%u", count_worker_threads(j, at)));
	if (at->mailbox_fd > 0)
		ERR_TRY(words_add(env, "TALLY_MAILBOX=%d", at->mailbox_fd));
	return j->dmlc ? add_dmlc_env(j, c, at, env) : 0;
}
