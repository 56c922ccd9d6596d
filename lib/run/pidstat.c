/* pidstat - what /proc shows of a process of this host. */
#include "run/pidstat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
pidstat_read(pid_t pid, struct pidstat *p)
{
	char path[32], text[256];
	const char *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	/* The name in brackets may contain any character. */
	if ((at = strrchr(text, ')')) == NULL || strlen(at) <= 4)
		return false;
	*p = (struct pidstat){ .parent = (pid_t)strtol(at + 4, NULL, 10), .stopped = at[2] == 'T' || at[2] == 't' };
	return true;
}
