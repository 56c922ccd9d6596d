/* rsh - the command line of a remote shell, given by a name or a template. */
#include "run/launcher/rsh.h"

#include "base/err.h"
#include "run/launcher/nodelist.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SSH_SIGNS 3	/* unanswered signs after which ssh(1) gives up */

/*
 * BatchMode asks no question, so the key of an unknown host is refused.  The launcher ends a silent ssh before that
 * gives up by itself.
 */
static const char ssh[] = "ssh -T -x -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=%.0f "
    "-o ServerAliveCountMax=%d -oPort={port} {host}";

static const struct {
	const char *name, *words;
} ready[] = {
	{ "ssh", ssh },
	{ "slurm", "srun --nodes=1 --ntasks=1 --nodelist={host} --overlap --cpu-bind=none --unbuffered --quiet" },
	/* --bind-to none: otherwise all processes of the host would share one core. */
	{ "mpi", "mpirun --host {host} -n 1 --bind-to none" },
	{ "kubectl", "kubectl exec -i {host} --" },
};

int
rsh_words(const char *name, double silence_s, struct words *tpl, bool *port)
{
	char text[sizeof(ssh) + 32];
	bool host = false;

	for (size_t i = 0; i < sizeof(ready) / sizeof(ready[0]); i++)
		if (strcmp(name, ready[i].name) == 0)
			name = ready[i].words;
	if (name == ssh) {
		snprintf(text, sizeof(text), ssh, ceil(silence_s / SSH_SIGNS) + 1, SSH_SIGNS);
		name = text;
	}
	ERR_TRY(words_split(tpl, name));
	if (tpl->n == 0)
		return err_fail(ERR_FORMAT, "no command");
	*port = false;
	for (size_t i = 0; i < tpl->n; i++) {
		host |= strstr(tpl->v[i], "{host}") != NULL;
		*port |= strstr(tpl->v[i], "{port}") != NULL;
	}
	return host ? 0 : words_add(tpl, "{host}");
}

int
rsh_hosts(const char *name, struct buf *text)
{
	const char *list = getenv("SLURM_JOB_NODELIST");
	int e;

	if (strcmp(name, "slurm") != 0 || list == NULL)
		return 0;
	if ((e = nodelist_hosts(list, getenv("SLURM_TASKS_PER_NODE"), text)) < 0) {
		err_within("SLURM_JOB_NODELIST");
		return e;
	}
	return 1;
}
