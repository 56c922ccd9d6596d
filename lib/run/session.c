/* session - kills all processes of a session, whatever process groups they made. */
#include "run/session.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS	16	/* limit of passes, as processes may start others faster than they are found */

/* Kills all processes of the session once.  Returns how many it found, zombies included. */
static int
kill_session_round(pid_t session)
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
	for (int i = 0; i < ROUNDS && kill_session_round(session) > 0; i++)
		;
}
