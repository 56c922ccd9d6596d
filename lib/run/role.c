/* role - the command line and the environment of one process of a job. */
#include "run/role.h"

#include <stdlib.h>
#include <string.h>

static int
build_server_argv(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *w)
{
	int e;

	if ((e = words_add_all(w, j->server_argv)) < 0 ||
	    (e = words_add(w, "--listen")) < 0 ||
	    (e = at->listen != NULL ? words_add(w, "%s", at->listen) : words_add(w, "%s:0", at->addr)) < 0 ||
	    (e = words_add(w, "--workers")) < 0 || (e = words_add(w, "%u", j->workers)) < 0 ||
	    (e = words_add(w, "--server")) < 0 || (e = words_add(w, "%u/%u", c->rank, j->servers)) < 0 ||
	    (e = words_add(w, "--key-file")) < 0 || (e = words_add(w, "/dev/fd/%d", at->key_fd)) < 0 ||
	    (e = words_add(w, "--ready-fd")) < 0 || (e = words_add(w, "%d", at->ready_fd)) < 0)
		return e;
	if (at->listen != NULL &&
	    ((e = words_add(w, "--listen-fd")) < 0 || (e = words_add(w, "%d", at->listen_fd)) < 0 ||
	    (e = words_add(w, "--state")) < 0 || (e = words_add(w, "/dev/fd/%d", at->memory_fd)) < 0))
		return e;
	return 0;
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
	int e;

	if ((e = words_add_all(w, j->argv)) < 0 || (c->role == JOB_WORKER && (e = add_each(j, c->rank, w)) < 0) ||
	    j->dmlc || j->servers == 0)
		return e;
	if ((e = words_add(w, "--servers")) < 0 || (e = words_add(w, "%s", at->go)) < 0 ||
	    (e = words_add(w, "--worker")) < 0 || (e = words_add(w, "%u/%u", c->rank, j->workers)) < 0 ||
	    (e = words_add(w, "--key-file")) < 0 || (e = words_add(w, "/dev/fd/%d", at->key_fd)) < 0)
		return e;
	if (at->memory_fd >= 0 && c->role == JOB_WORKER &&
	    ((e = words_add(w, "--state")) < 0 || (e = words_add(w, "/dev/fd/%d", at->memory_fd)) < 0))
		return e;
	return 0;
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
	int e;

	if ((e = words_add(w, "DMLC_ROLE=%s", job_role(c->role))) < 0 ||
	    (e = words_add(w, "DMLC_RANK=%u", c->rank)) < 0 ||
	    (e = words_add(w, "DMLC_TASK_ID=%u", c->rank)) < 0 ||
	    (e = words_add(w, "DMLC_NUM_WORKER=%u", j->workers)) < 0 ||
	    (e = words_add(w, "DMLC_NUM_SERVER=%u", j->servers)) < 0 ||
	    (e = words_add(w, "DMLC_NODE_HOST=%s", at->addr)) < 0)
		return e;
	if (c->role != JOB_SCHEDULER &&
	    (e = words_add(w, "DMLC_%s_ID=%u", c->role == JOB_WORKER ? "WORKER" : "SERVER", c->rank)) < 0)
		return e;
	if (colon == NULL)
		return 0;
	if ((e = words_add(w, "DMLC_PS_ROOT_URI=%.*s", (int)(colon - at->go), at->go)) < 0)
		return e;
	return words_add(w, "DMLC_PS_ROOT_PORT=%s", colon + 1);
}

int
role_env(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *env)
{
	const char *path = find_env(j, "PATH");
	int e;

	if ((e = words_add_all(env, j->env)) < 0)
		return e;
	if (at->bin[0] != 0 && (e = words_add(env, "PATH=%s:%s", at->bin, path != NULL ? path : "/usr/bin:/bin")) < 0)
		return e;
	/* Threads that spin while they wait would take processors from the host's other workers. */
	if (find_env(j, "OMP_WAIT_POLICY") == NULL && (e = words_add(env, "OMP_WAIT_POLICY=passive")) < 0)
		return e;
	if (c->role == JOB_WORKER && find_env(j, "OMP_NUM_THREADS") == NULL &&
	    (e = words_add(env, "OMP_NUM_THREADS=%u", count_worker_threads(j, at))) < 0)
		return e;
	return j->dmlc ? add_dmlc_env(j, c, at, env) : 0;
}
