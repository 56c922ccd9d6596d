/* tracker - pworker where one of dmlc's trackers started it, in whichever role. */
#include "pworker/tracker.h"
#include "front.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The pserver beside this program, else that of PATH; it reads the same environment. */
static void
become_server(const char *key_file, bool plain)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("pserver"));
	char *const argv[] = { (char[]){ "pserver" }, plain ? (char[]){ "--plain" } : (char[]){ "--key-file" },
		plain ? NULL : (char *)(uintptr_t)key_file, NULL };

	if (n > 0) {
		path[n] = 0;
		strcpy(strrchr(path, '/') + 1, "pserver");
		execv(path, argv);
	}
	execvp("pserver", argv);
	front_die("pserver", err_sys("run"));
}

bool
worker_tracker(struct rendezvous_env *env, const char *key_file, bool plain)
{
	int e = rendezvous_env(env);

	if (e < 0)
		front_die(NULL, e);
	if (env->role == RENDEZVOUS_NONE)
		return false;
	if (key_file == NULL && !plain)
		front_wrong("DMLC_ROLE: needs --key-file, or --plain: then anybody may take part");
	if (env->role != RENDEZVOUS_WORKER)
		become_server(key_file, plain);
	return true;
}

struct rendezvous *
worker_tracker_join(struct rendezvous_env *env, const uint8_t *key, char **servers)
{
	struct rendezvous *m;
	int e;

	if ((e = rendezvous_join(env, key, &m)) < 0 || (e = rendezvous_servers(m, servers)) < 0)
		front_die(NULL, e);
	front_say("is worker %" PRIu32 " of %" PRIu32 ", servers %s", env->rank, env->workers, *servers);
	return m;
}
