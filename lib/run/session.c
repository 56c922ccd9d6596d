/* session - kills a session, whatever groups its processes made. */
#include "run/session.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS	16	/* against processes that start others faster than they are found */

/* How many there were, the dead that nobody waited for yet among them. */
static int
round_of(pid_t session)
{
	const struct dirent *e;
	DIR *dir = opendir("/proc");
	int n = 0;
	pid_t pid;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		if ((pid = (pid_t)strtol(e->d_name, NULL, 10)) > 0 && getsid(pid) == session && kill(pid, SIGKILL) == 0)
			n++;
	if (dir != NULL)
		closedir(dir);
	return n;
}

void
session_kill(pid_t session)
{
	kill(-session, SIGKILL);
	for (int i = 0; i < ROUNDS && round_of(session) > 0; i++)
		;
}
