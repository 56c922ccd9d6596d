/* job - the processes that an agent starts, in memory and as the payload of CTL_JOB. */
#include "run/job.h"

#include "base/err.h"
#include "base/secret.h"
#include "run/ctl.h"

#include <stdlib.h>
#include <sys/wait.h>

static int
put_job_list(struct buf *b, char *const *list)
{
	uint32_t n = 0;

	while (list[n] != NULL)
		n++;
	ERR_TRY(ctl_put_u32(b, n));
	for (uint32_t i = 0; i < n; i++)
		ERR_TRY(ctl_put_text(b, list[i]));
	return 0;
}

int
job_put(const struct job *j, struct buf *b)
{
	const uint32_t head[] = { j->dmlc, j->input, j->workers, j->servers, j->silence_ms, j->spool_kib,
		j->respawn, j->elastic };
	const char *const text[] = { j->key, j->dir, j->addr, j->iface, j->host };
	int e = ctl_put_u32s(b, head, sizeof(head) / sizeof(head[0]));

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]) && e == 0; i++)
		e = ctl_put_text(b, text[i]);
	if (e < 0 || (e = put_job_list(b, j->env)) < 0 || (e = put_job_list(b, j->argv)) < 0 ||
	    (e = put_job_list(b, j->server_argv)) < 0 || (e = put_job_list(b, j->each)) < 0 ||
	    (e = ctl_put_u32(b, j->nchildren)) < 0)
		return e;
	for (uint32_t i = 0; i < j->nchildren && e == 0; i++)
		e = ctl_put_u32s(b, (uint32_t[]){ j->child[i].role, j->child[i].rank,
		    j->child[i].stage }, 3);
	return e;
}

/* Reads the length of a list whose elements take at least `least` bytes each, which must be there. */
static uint32_t
get_job_count(struct ctl_in *in, size_t least)
{
	uint32_t n = ctl_get_u32(in);

	if (n > JOB_MOST || n > in->n / least)
		in->bad = true;
	return in->bad ? 0 : n;
}

static char **
get_job_list(struct ctl_in *in)
{
	uint32_t n = get_job_count(in, 5);
	char **list = calloc((size_t)n + 1, sizeof(*list));

	for (uint32_t i = 0; i < n && list != NULL; i++)
		list[i] = (char *)ctl_get_text(in);
	return list;
}

bool
job_unjoined(uint32_t elastic, const struct job_child *c, int status)
{
	const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	return elastic > 0 && c->role == JOB_WORKER && c->rank >= elastic &&
	    (code == JOB_UNJOINED || code == 126 || code == 127);
}

bool
job_has_shards(bool dmlc, uint32_t servers, uint32_t workers)
{
	return !dmlc && servers == 0 && workers > 1;
}

static bool
is_valid_job(const struct job *j)
{
	const bool shards = job_has_shards(j->dmlc, j->servers, j->workers);

	if (j->argv[0] == NULL || j->workers > JOB_MOST || j->servers > JOB_MOST ||
	    j->elastic > j->workers || (j->elastic > 0 && (j->dmlc || j->servers == 0)) ||
	    (!j->dmlc && j->servers > 0 && j->server_argv[0] == NULL) ||
	    (!j->dmlc && (j->servers > 0 || shards) && strlen(j->key) != JOB_KEY))
		return false;
	for (uint32_t i = 0; i < j->nchildren; i++)
		if (j->child[i].role > JOB_WORKER || (j->child[i].role == JOB_SCHEDULER && !j->dmlc) ||
		    j->child[i].rank >= JOB_MOST || j->child[i].stage > JOB_ENDED)
			return false;
	for (uint32_t i = 0; j->env[i] != NULL; i++)
		if (strchr(j->env[i], '=') == NULL)
			return false;
	for (uint32_t i = 0; j->each[i] != NULL; i++)
		if (strchr(j->each[i], '=') == NULL)
			return false;
	return true;
}

int
job_get(const void *p, size_t n, struct job *j)
{
	struct ctl_in in = { 0 };
	uint32_t kind, input;
	void *own = NULL;
	char *key;

	*j = (struct job){ .bytes = malloc(n + 1) };
	if (j->bytes == NULL || secret_new(JOB_KEY + 1, &own) < 0) {
		job_free(j);
		return err_nomem();
	}
	j->key = j->own_key = own;
	if (n > 0)
		memcpy(j->bytes, p, n);
	in = (struct ctl_in){ .p = j->bytes, .n = n };
	kind = ctl_get_u32(&in);
	j->dmlc = kind != 0;
	input = ctl_get_u32(&in);
	j->input = input != 0;
	j->workers = ctl_get_u32(&in);
	j->servers = ctl_get_u32(&in);
	j->silence_ms = ctl_get_u32(&in);
	j->spool_kib = ctl_get_u32(&in);
	j->respawn = ctl_get_u32(&in);
	j->elastic = ctl_get_u32(&in);
	key = (char *)(uintptr_t)ctl_get_text(&in);
	j->dir = ctl_get_text(&in);
	j->addr = ctl_get_text(&in);
	j->iface = ctl_get_text(&in);
	j->host = ctl_get_text(&in);
	in.bad = in.bad || strlen(key) > JOB_KEY;
	if (!in.bad) {
		memcpy(j->own_key, key, strlen(key));
		explicit_bzero(key, strlen(key));
	}
	j->env = get_job_list(&in);
	j->argv = get_job_list(&in);
	j->server_argv = get_job_list(&in);
	j->each = get_job_list(&in);
	j->nchildren = get_job_count(&in, 12);
	j->child = calloc((size_t)j->nchildren + 1, sizeof(*j->child));
	if (j->env == NULL || j->argv == NULL || j->server_argv == NULL || j->each == NULL || j->child == NULL) {
		job_free(j);
		return err_nomem();
	}
	for (uint32_t i = 0; i < j->nchildren; i++) {
		j->child[i].role = ctl_get_u32(&in);
		j->child[i].rank = ctl_get_u32(&in);
		j->child[i].stage = ctl_get_u32(&in);
	}
	if (in.bad || in.n != 0 || kind > 1 || input > 1 || !is_valid_job(j)) {
		job_free(j);
		return err_fail(ERR_FORMAT, "the launcher's JOB message is malformed");
	}
	return 0;
}

void
job_free(struct job *j)
{
	free(j->env);
	free(j->argv);
	free(j->server_argv);
	free(j->each);
	free(j->child);
	free(j->bytes);
	secret_free(j->own_key, JOB_KEY + 1);
	*j = (struct job){ 0 };
}

const char *
job_role(uint32_t role)
{
	static const char *const name[] = { "scheduler", "server", "worker" };

	return role <= JOB_WORKER ? name[role] : "process";
}
