/* jobdir - the directory of a named job: its command line, lock, output, state and exit status. */
#include "run/jobdir.h"

#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "run/here.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBERS_MOST 1000000
#define NEW	"%s.new"	/* name of the next version of a file, which is not complete yet */

/* Makes the directory of all jobs, and returns its path. */
static int
make_jobs_path(char path[PATH_MAX])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;

	/* The specification tells to ignore a relative path. */
	if (state != NULL && *state == '/')
		n = snprintf(path, PATH_MAX, "%s/tally/jobs", state);
	else if (home != NULL && *home != 0)
		n = snprintf(path, PATH_MAX, "%s/.local/state/tally/jobs", home);
	else
		return err_fail(ERR_ARG, "neither XDG_STATE_HOME nor HOME is set");
	if (n >= PATH_MAX)
		return err_fail(ERR_ARG, "the path of XDG_STATE_HOME is too long");
	for (char *p = strchr(path + 1, '/');; p = strchr(p + 1, '/')) {
		if (p != NULL)
			*p = 0;
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_sys("%s", path);
		if (p == NULL)
			return 0;
		*p = '/';
	}
}

static int
open_jobs_dir(int *fd)
{
	char path[PATH_MAX];
	int e = make_jobs_path(path);

	if (e == 0 && (*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		e = err_sys("%s", path);
	return e;
}

static bool
is_job_name(const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = strlen(name);

	return n > 0 && n < JOBDIR_NAME && name[strspn(name, chars)] == 0 && *name != '.' && *name != '-';
}

static int
refuse_job_name(const char *name)
{
	return err_fail(ERR_ARG, "'%.64s' is not a job name; use letters, digits and . _ - (not first)", name);
}

/* Writes the next version of a file beside it. */
static int
stage_job_file(const struct jobdir *d, const char *file, const void *p, size_t n)
{
	char new[NAME_MAX];
	int fd, e;

	snprintf(new, sizeof(new), NEW, file);
	if ((fd = openat(d->dir, new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0)
		return err_sys("job %s: %s", d->name, file);
	e = io_write(fd, p, n);
	/* Some file systems report only here that the disk is full. */
	if (close(fd) < 0 && e == 0)
		e = err_sys("write");
	if (e == 0)
		return 0;
	err_within("job %s: %s", d->name, file);
	unlinkat(d->dir, new, 0);
	return e;
}

static int
publish_job_file(const struct jobdir *d, const char *file)
{
	char new[NAME_MAX];

	snprintf(new, sizeof(new), NEW, file);
	return renameat(d->dir, new, d->dir, file) < 0 ? err_sys("job %s: %s", d->name, file) : 0;
}

int
jobdir_put(const struct jobdir *d, const char *file, const void *p, size_t n)
{
	int e = stage_job_file(d, file, p, n);

	return e == 0 ? publish_job_file(d, file) : e;
}

/* From errno: the job may have been removed since its directory was opened. */
static int
fail_file(const struct jobdir *d, const char *file)
{
	int e = errno == ENOENT ? ERR_ARG : ERR_SYS;

	err_note(errno, "job %s: %s", d->name, file);
	return e;
}

int
jobdir_get(const struct jobdir *d, const char *file, size_t most, struct buf *b)
{
	int fd = openat(d->dir, file, O_RDONLY | O_CLOEXEC), e;
	struct stat st;
	size_t got, room;

	if (fd < 0)
		return fail_file(d, file);
	/* One byte more than its size detects a file that grows. */
	room = fstat(fd, &st) == 0 && (uint64_t)st.st_size < most ? (size_t)st.st_size + 1 : most + 1;
	if ((e = buf_room(b, room)) == 0 && (e = io_read(fd, b->p, room, &got)) == 0) {
		b->n = got;
		if (got > most)
			e = err_fail(ERR_LIMIT, "job %s: %s is longer than %zu bytes", d->name, file, most);
	}
	close(fd);
	return e == 0 ? buf_terminate(b) : e;
}

uint32_t
jobdir_number(const struct jobdir *d, const char *file)
{
	struct buf b = { 0 };
	uint64_t n = 0;

	if (jobdir_get(d, file, JOBDIR_MOST, &b) < 0 || num_u64((char *)b.p, 0, UINT32_MAX, &n) < 0)
		n = 0;
	buf_free(&b);
	return (uint32_t)n;
}

int
jobdir_cut(const struct jobdir *d, const char *file, uint64_t size)
{
	int fd = openat(d->dir, file, O_WRONLY | O_CLOEXEC), e = 0;
	struct stat st;

	if (fd < 0)
		return err_sys("job %s: %s", d->name, file);
	if (fstat(fd, &st) < 0 || ((uint64_t)st.st_size > size && ftruncate(fd, (off_t)size) < 0))
		e = err_sys("job %s: %s", d->name, file);
	close(fd);
	return e;
}

static bool
has_job_file(const struct jobdir *d, const char *file)
{
	return faccessat(d->dir, file, F_OK, 0) == 0;
}

/* Makes a directory under the first free number. */
static int
make_numbered_dir(int all, struct jobdir *d)
{
	for (unsigned n = 1; n < NUMBERS_MOST; n++) {
		snprintf(d->name, sizeof(d->name), "%u", n);
		if (mkdirat(all, d->name, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			return err_sys("job %s", d->name);
	}
	return err_fail(ERR_ARG, "too many jobs");
}

static int
open_job_dir(int all, struct jobdir *d)
{
	d->dir = openat(all, d->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->dir < 0 && errno == ENOENT)
		return err_fail(ERR_ARG, "there is no job '%s'; dlaunch list shows the jobs", d->name);
	return d->dir < 0 ? err_sys("job %s", d->name) : 0;
}

int
jobdir_open(const char *name, struct jobdir *d)
{
	int all, e;

	*d = (struct jobdir){ .dir = -1, .lock = -1 };
	if (!is_job_name(name))
		return refuse_job_name(name);
	snprintf(d->name, sizeof(d->name), "%s", name);
	ERR_TRY(open_jobs_dir(&all));
	e = open_job_dir(all, d);
	close(all);
	return e;
}

void
jobdir_close(struct jobdir *d)
{
	if (d->lock >= 0)
		close(d->lock);
	if (d->dir >= 0)
		close(d->dir);
	d->dir = d->lock = -1;
}

static int
lock_job(struct jobdir *d)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int e;

	if ((d->lock = openat(d->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0)
		return err_sys("job %s: lock", d->name);
	if (fcntl(d->lock, F_OFD_SETLK, &whole) == 0)
		return 0;
	e = errno == EAGAIN ? err_fail(ERR_ARG, "job %s is running", d->name) : err_sys("job %s: lock", d->name);
	close(d->lock);
	d->lock = -1;
	return e;
}

/* Gives the lock back.  Returns e. */
static int
unlock_job(struct jobdir *d, int e)
{
	close(d->lock);
	d->lock = -1;
	return e;
}

int
jobdir_lock(struct jobdir *d)
{
	int e = lock_job(d);

	if (e == 0 && has_job_file(d, "record"))
		e = unlock_job(d, err_fail(ERR_ARG, "job %s may still run on its hosts; attach to it or stop it",
		    d->name));
	return e;
}

int
jobdir_begin(const struct jobdir *d)
{
	return unlinkat(d->dir, "status", 0) < 0 && errno != ENOENT ? err_sys("job %s: status", d->name) : 0;
}

int
jobdir_take_over(struct jobdir *d)
{
	int e = lock_job(d);

	if (e == 0 && !has_job_file(d, "record"))
		e = unlock_job(d, err_fail(ERR_ARG, "job %s was not detached, or has ended", d->name));
	return e;
}

int
jobdir_claim(struct jobdir *d)
{
	char text[JOBDIR_HOST + JOBDIR_SPACE + 16], host[JOBDIR_HOST] = "", space[JOBDIR_SPACE];
	int n;

	gethostname(host, sizeof(host) - 1);
	here_pid_space(space, sizeof(space));
	n = snprintf(text, sizeof(text), "%d %s %s\n", (int)getpid(), host[0] != 0 ? host : "-", space);
	if (ftruncate(d->lock, 0) < 0 || pwrite(d->lock, text, (size_t)n, 0) != n)
		return err_sys("job %s: lock", d->name);
	return 0;
}

static int
stage_command(struct jobdir *d, char *const *argv, const char *cwd)
{
	struct buf b = { 0 };
	int e = 0;

	for (; *argv != NULL && e == 0; argv++)
		e = buf_put(&b, *argv, strlen(*argv) + 1);
	if (e == 0 && (e = stage_job_file(d, "command", b.p, b.n)) == 0 &&
	    (e = stage_job_file(d, "dir", cwd, strlen(cwd))) < 0)
		unlinkat(d->dir, "command.new", 0);
	buf_free(&b);
	return e;
}

static bool
is_staged(const char *file)
{
	return strcmp(file, "command.new") == 0 || strcmp(file, "dir.new") == 0;
}

/* Removes the files of an ended job but the lock, so that nobody else can lock it, and those of a staged command. */
static int
remove_job_files(const struct jobdir *d, bool staged)
{
	int fd = fcntl(d->dir, F_DUPFD_CLOEXEC, 0), e = 0;
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *f;

	if (list == NULL) {
		e = err_sys("job %s", d->name);
		if (fd >= 0)
			close(fd);
		return e;
	}
	rewinddir(list);
	while (e == 0 && (f = readdir(list)) != NULL)
		if (f->d_name[0] != '.' && strcmp(f->d_name, "lock") != 0 && !(staged && is_staged(f->d_name)) &&
		    unlinkat(d->dir, f->d_name, 0) < 0)
			e = err_sys("job %s: %s", d->name, f->d_name);
	closedir(list);
	return e;
}

int
jobdir_remove(struct jobdir *d)
{
	int all = -1, e = d->lock >= 0 ? 0 : jobdir_lock(d);

	if (e == 0 && (e = remove_job_files(d, false)) == 0 && (e = open_jobs_dir(&all)) == 0 &&
	    (unlinkat(d->dir, "lock", 0) < 0 || unlinkat(all, d->name, AT_REMOVEDIR) < 0))
		e = err_sys("job %s", d->name);
	if (all >= 0)
		close(all);
	jobdir_close(d);
	return e;
}

/* Locks a directory that may be that of a job that has ended. */
static int
lock_new_job(struct jobdir *d, bool replace)
{
	int e = jobdir_lock(d);

	if (e == 0 && !replace && has_job_file(d, "command"))
		e = unlock_job(d, err_fail(ERR_ARG, "job %s exists; choose another name, or replace the job by --force",
		    d->name));
	return e;
}

/* Replaces what is left of an ended job, which stays whole unless all of the new one can be written. */
static int
replace_job(struct jobdir *d, char *const *argv, const char *cwd)
{
	int e = stage_command(d, argv, cwd);

	if (e < 0 || (e = remove_job_files(d, true)) < 0 || (e = publish_job_file(d, "command")) < 0)
		return e;
	return publish_job_file(d, "dir");
}

int
jobdir_make(const char *name, bool replace, char *const *argv, const char *cwd, struct jobdir *d)
{
	int all, e = 0;

	*d = (struct jobdir){ .dir = -1, .lock = -1 };
	if (name != NULL && !is_job_name(name))
		return refuse_job_name(name);
	ERR_TRY(open_jobs_dir(&all));
	if (name == NULL) {
		e = make_numbered_dir(all, d);
	} else {
		snprintf(d->name, sizeof(d->name), "%s", name);
		if (mkdirat(all, name, 0700) < 0 && errno != EEXIST)
			e = err_sys("job %s", name);
	}
	if (e == 0 && (e = open_job_dir(all, d)) == 0 && (e = lock_new_job(d, replace)) == 0 &&
	    (e = replace_job(d, argv, cwd)) == 0)
		e = jobdir_claim(d);
	close(all);
	if (e < 0 && d->lock >= 0 && !has_job_file(d, "command"))
		jobdir_remove(d);
	else if (e < 0)
		jobdir_close(d);
	return e;
}

int
jobdir_end(struct jobdir *d, int status)
{
	char text[16];
	size_t n = (size_t)snprintf(text, sizeof(text), "%d\n", status);
	int e = jobdir_put(d, "status", text, n);

	if (unlinkat(d->dir, "record", 0) < 0 && errno != ENOENT)
		return err_sys("job %s: record", d->name);
	/* On a full disk the record may have had the room that it needs. */
	return e == 0 ? 0 : jobdir_put(d, "status", text, n);
}

static void
parse_claim(const char *text, struct jobdir_state *s)
{
	char space[JOBDIR_SPACE] = "", own[JOBDIR_SPACE];

	sscanf(text, "%d %255s %127s", &s->pid, s->host, space);
	here_pid_space(own, sizeof(own));
	s->here = strcmp(space, own) == 0;
	s->beside = !s->here && *own != '/' && strncmp(space, own, strcspn(own, "/") + 1) == 0;
}

int
jobdir_read_state(const struct jobdir *d, struct jobdir_state *s)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct buf b = { 0 };
	struct stat st;
	int fd;

	*s = (struct jobdir_state){ .status = -1 };
	if ((fd = openat(d->dir, "lock", O_RDONLY | O_CLOEXEC)) < 0)
		return fail_file(d, "lock");
	/* A question that takes no lock, so that nobody takes a reader for a launcher. */
	s->running = fcntl(fd, F_OFD_GETLK, &whole) < 0 || whole.l_type != F_UNLCK;
	if (fstat(fd, &st) == 0)
		s->since = st.st_mtime;
	close(fd);
	if (jobdir_get(d, "lock", JOBDIR_MOST, &b) == 0)
		parse_claim((char *)b.p, s);
	b.n = 0;
	s->has_record = has_job_file(d, "record");
	if (!s->running && has_job_file(d, "status") && jobdir_get(d, "status", JOBDIR_MOST, &b) == 0)
		s->status = (int)strtol((char *)b.p, NULL, 10);
	buf_free(&b);
	return 0;
}

int
jobdir_command(const struct jobdir *d, struct words *argv, char **cwd)
{
	struct buf b = { 0 };
	int e = jobdir_get(d, "command", JOBDIR_MOST, &b);

	*cwd = NULL;
	for (size_t at = 0; e == 0 && at < b.n; at += strlen((char *)b.p + at) + 1)
		e = words_add(argv, "%s", (char *)b.p + at);
	if (e == 0 && argv->n == 0)
		e = err_fail(ERR_FORMAT, "job %s: command is empty", d->name);
	b.n = 0;
	if (e == 0 && (e = jobdir_get(d, "dir", JOBDIR_MOST, &b)) == 0 && (*cwd = strdup((char *)b.p)) == NULL)
		e = err_nomem();
	buf_free(&b);
	return e;
}

static int
compare_job_names(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	bool nx = x[strspn(x, "0123456789")] == 0, ny = y[strspn(y, "0123456789")] == 0;

	if (nx != ny)
		return nx ? -1 : 1;
	if (nx && strlen(x) != strlen(y))
		return strlen(x) < strlen(y) ? -1 : 1;
	return strcmp(x, y);
}

int
jobdir_list(struct words *names)
{
	const struct dirent *d;
	DIR *list;
	int fd, e = open_jobs_dir(&fd);

	if (e < 0)
		return e;
	if ((list = fdopendir(fd)) == NULL) {
		close(fd);
		return err_sys("jobs");
	}
	while (e == 0 && (d = readdir(list)) != NULL)
		if (is_job_name(d->d_name))
			e = words_add(names, "%s", d->d_name);
	closedir(list);
	if (e == 0 && names->n > 1)
		qsort(names->v, names->n, sizeof(*names->v), compare_job_names);
	return e;
}
