/* family - signals all descendants of this process, whatever process groups and sessions they made. */
#include "run/family.h"

#include "base/clk.h"
#include "run/pidstat.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUND_MS 5

struct descendant {
	pid_t	 pid, parent;
};

struct family {
	struct descendant *m;
	size_t		 n, cap;
};

static bool
add_process(struct family *f, pid_t pid)
{
	struct pidstat now = { .parent = 0 };	/* it is gone */
	struct descendant *m;

	if (f->n == f->cap) {
		f->cap = f->cap > 0 ? 2 * f->cap : 512;
		if ((m = realloc(f->m, f->cap * sizeof(*m))) == NULL)
			return false;
		f->m = m;
	}
	(void)pidstat_read(pid, &now);
	f->m[f->n++] = (struct descendant){ pid, now.parent };
	return true;
}

static bool
has_pid(const pid_t *list, size_t n, pid_t pid)
{
	size_t i;

	for (i = 0; i < n && list[i] != pid; i++)
		;
	return i < n;
}

/* Moves the children of one process to the end of the first `known` members.  Returns how many these are then. */
static size_t
collect_children(struct family *f, size_t known, pid_t parent, const pid_t *spare, size_t n)
{
	for (size_t i = known; i < f->n; i++)
		if (f->m[i].parent == parent && !has_pid(spare, n, f->m[i].pid)) {
			struct descendant m = f->m[i];

			f->m[i] = f->m[known];
			f->m[known++] = m;
		}
	return known;
}

/* Returns the descendants at this moment, parents before their children. */
static struct family
find_descendants(const pid_t *spare, size_t n)
{
	struct family f = { .m = NULL };
	DIR *dir = opendir("/proc");
	const struct dirent *e;
	size_t known;
	pid_t pid;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		if ((pid = (pid_t)strtol(e->d_name, NULL, 10)) > 0 && !add_process(&f, pid))
			break;
	if (dir != NULL)
		closedir(dir);
	known = collect_children(&f, 0, getpid(), spare, n);
	for (size_t i = 0; i < known; i++)
		known = collect_children(&f, known, f.m[i].pid, NULL, 0);
	f.n = known;
	return f;
}

void
family_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void
family_signal(int signo)
{
	struct family f = find_descendants(NULL, 0);
	pid_t *groups = calloc(f.n + 1, sizeof(*groups)), group;
	size_t n = 0;

	for (size_t i = 0; i < f.n && groups != NULL; i++)
		if ((group = getpgid(f.m[i].pid)) > 0 && group != getpgrp() && !has_pid(groups, n, group)) {
			groups[n++] = group;
			kill(-group, signo);
		}
	free(groups);
	free(f.m);
}

void
family_kill(const pid_t *spare, size_t n)
{
	const double until = clk_s() + FAMILY_KILL_S;
	struct family f;
	size_t found;

	/* Repeated, as a walk may miss processes that are started or orphaned during it. */
	do {
		f = find_descendants(spare, n);
		for (size_t i = 0; i < f.n; i++)
			kill(f.m[i].pid, SIGKILL);
		for (size_t i = 0; i < f.n; i++)
			if (f.m[i].parent == getpid())
				waitpid(f.m[i].pid, NULL, WNOHANG);
		found = f.n;
		free(f.m);
	} while (found > 0 && clk_s() < until && poll(NULL, 0, ROUND_MS) == 0);
}
