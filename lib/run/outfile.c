/* outfile - the output of a job's processes, in two files a process in one directory. */
#include "run/outfile.h"

#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
outfile_dir(const char *dir)
{
	char path[PATH_MAX];
	size_t n = strlen(dir);

	if (n == 0 || n >= sizeof(path))
		return err_fail(ERR_LIMIT, "a directory's name of %zu bytes", n);
	memcpy(path, dir, n + 1);
	/* An error in making a parent shows in the last mkdir. */
	for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
		*slash = 0;
		mkdir(path, 0777);
	}
	return mkdir(path, 0777) < 0 && errno != EEXIST ? err_sys("%s", dir) : 0;
}

static void
format_outfile_path(const char *dir, const struct job_child *who, bool out, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s-%u.%s", dir, job_role(who->role), who->rank, out ? "out" : "err");
}

static int
open_outfile(const char *dir, const struct job_child *who, bool out, int flags, char path[PATH_MAX])
{
	int fd;

	format_outfile_path(dir, who, out, path);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666);
	return fd >= 0 ? fd : err_sys("%s", path);
}

int
outfile_begin(const char *dir, const struct job_child *who)
{
	char path[PATH_MAX];

	for (int out = 0; out < 2; out++) {
		int fd = open_outfile(dir, who, out, O_TRUNC, path);

		if (fd < 0)
			return fd;
		close(fd);
	}
	return 0;
}

int
outfile_put(const char *dir, const struct job_child *who, bool out, const char *text, size_t n)
{
	char path[PATH_MAX];
	int fd = open_outfile(dir, who, out, 0, path), e;

	if (fd < 0)
		return fd;
	if ((e = io_write(fd, text, n)) < 0)
		err_within("%s", path);
	if (close(fd) < 0 && e == 0)
		e = err_sys("%s", path);
	return e;
}

uint64_t
outfile_size(const char *dir, const struct job_child *who, bool out)
{
	char path[PATH_MAX];
	struct stat st;

	format_outfile_path(dir, who, out, path);
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

int
outfile_cut(const char *dir, const struct job_child *who, bool out, uint64_t size)
{
	char path[PATH_MAX];

	if (outfile_size(dir, who, out) <= size)
		return 0;
	format_outfile_path(dir, who, out, path);
	return truncate(path, (off_t)size) < 0 ? err_sys("%s", path) : 0;
}
