/* lockfile - one of many processes makes a file while the others wait for it. */
#include "base/lockfile.h"
#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLL_MS		100	/* a network file system does not notify of changes by other hosts */
#define MAX_LOCKS	1000	/* stale locks of one file */
#define TOUCH_S		2.0	/* least time between two touches */

struct lockfile {
	char		*path;		/* the file */
	char		*name;		/* buffer for the path of a lock */
	size_t		 size;		/* bytes of name */
	unsigned	 number;	/* number of the lock held */
	double		 silent_s;
	double		 touched_at;	/* clk_s() of our last touch */
	char		 me[LOCKFILE_NAME];	/* content of our lock: "HOST PID\n" */
	char		 host[64];
	/* The lock of the process that we wait for. */
	char		 holder[LOCKFILE_NAME];
	struct timespec	 touched;	/* its modification time, by the clock of its file system */
	double		 changed_at;	/* clk_s() at which we saw that change */
};

static const char *
lock_path(struct lockfile *o, unsigned number)
{
	if (number == 0)
		snprintf(o->name, o->size, "%s.lock", o->path);
	else
		snprintf(o->name, o->size, "%s.lock.%u", o->path, number);
	return o->name;
}

static int
new_lockfile(const char *path, double silent_s, struct lockfile **out)
{
	struct lockfile *o = calloc(1, sizeof(*o));

	*out = o;
	if (o == NULL)
		return err_nomem();
	o->silent_s = silent_s > 0 ? silent_s : LOCKFILE_SILENT_S;
	o->size = strlen(path) + 32;
	if ((o->path = strdup(path)) == NULL || (o->name = malloc(o->size)) == NULL)
		return err_nomem();
	gethostname(o->host, sizeof(o->host) - 1);
	snprintf(o->me, sizeof(o->me), "%s %ld\n", o->host, (long)getpid());
	return 0;
}

static void
free_lockfile(struct lockfile *o)
{
	if (o == NULL)
		return;
	free(o->path);
	free(o->name);
	free(o);
}

/*
 * Opens the lock each time, because that makes a network file system show other hosts' changes.  Returns 1, 0 if
 * there is no lock, or ERR_SYS.
 */
static int
read_lock(struct lockfile *o, unsigned number, char holder[LOCKFILE_NAME], struct timespec *touched)
{
	int fd = open(lock_path(o, number), O_RDONLY | O_CLOEXEC), e;
	struct stat st;
	size_t n = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys("%s", o->name);
	e = fstat(fd, &st) < 0 ? err_sys("%s", o->name) : io_read(fd, holder, LOCKFILE_NAME - 1, &n);
	close(fd);
	if (e < 0)
		return e;
	holder[n] = 0;
	*touched = st.st_mtim;
	return 1;
}

static bool
lock_is_stale(struct lockfile *o, const char *holder, struct timespec touched)
{
	char host[64];
	long pid;
	bool parsed = sscanf(holder, "%63s %ld", host, &pid) == 2 && pid > 0;

	if (strcmp(holder, o->holder) != 0 || touched.tv_sec != o->touched.tv_sec ||
	    touched.tv_nsec != o->touched.tv_nsec) {
		snprintf(o->holder, sizeof(o->holder), "%s", holder);
		o->touched = touched;
		o->changed_at = clk_s();
	}
	if (parsed && strcmp(host, o->host) == 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		return true;
	return clk_s() - o->changed_at >= o->silent_s;
}

/* Calls waiting if the holder is not the one reported last. */
static void
report_holder(const char *holder, char reported[LOCKFILE_NAME], lockfile_waiting *waiting, void *arg)
{
	char host[64], text[LOCKFILE_NAME];
	long pid;

	if (waiting == NULL || strcmp(holder, reported) == 0)
		return;
	snprintf(reported, LOCKFILE_NAME, "%s", holder);
	if (sscanf(holder, "%63s %ld", host, &pid) != 2)
		return;
	snprintf(text, sizeof(text), "process %ld on %s", pid, host);
	waiting(arg, text);
}

/* Returns 1, 0 if another process was faster, ERR_SYS or ERR_NOMEM. */
static int
create_lock(struct lockfile *o, unsigned number)
{
	struct io_new f;
	struct stat st;
	int e;

	if ((e = io_create(&f, lock_path(o, number))) == 0 && (e = io_write(f.fd, o->me, strlen(o->me))) == 0) {
		/* NFS may lose the reply to a link() that succeeded; the link count shows whether it did. */
		e = link(f.tmp, f.path) < 0 && errno != EEXIST ? err_sys("link") : 0;
		if (fstat(f.fd, &st) == 0 && st.st_nlink == 2)
			e = 1;
	}
	io_abandon(&f);
	return err_wrap(e, "%s", o->name);
}

/* Returns 1 if the file exists, 0 if the lock is ours, ERR_AGAIN if another process holds it, or an error. */
static int
try_acquire(struct lockfile *o, char reported[LOCKFILE_NAME], lockfile_waiting *waiting, void *arg)
{
	char holder[LOCKFILE_NAME] = "";
	struct timespec touched = { 0 };
	unsigned n = 0;
	int e;

	if (access(o->path, F_OK) == 0)
		return 1;
	while ((e = read_lock(o, n, holder, &touched)) > 0 && n < MAX_LOCKS)
		n++;	/* only the last lock may be alive */
	if (e < 0)
		return e;
	if (n > 0 && !lock_is_stale(o, holder, touched)) {
		report_holder(holder, reported, waiting, arg);
		return ERR_AGAIN;
	}
	if (n == MAX_LOCKS)
		return err_fail(ERR_SYS, "%s: %d stale locks; remove %s.lock*", o->path, MAX_LOCKS, o->path);
	if ((e = create_lock(o, n)) <= 0)
		return e < 0 ? e : ERR_AGAIN;
	o->number = n;
	o->touched_at = clk_s();
	return 0;
}

int
lockfile_acquire(const char *path, double silent_s, lockfile_waiting *waiting, void *arg, struct lockfile **out)
{
	char reported[LOCKFILE_NAME] = "";
	struct lockfile *o;
	int e;

	if ((e = new_lockfile(path, silent_s, &o)) == 0)
		while ((e = try_acquire(o, reported, waiting, arg)) == ERR_AGAIN)
			poll(NULL, 0, POLL_MS);
	/* The previous holder may have made the file after we looked for it. */
	if (e == 0 && access(path, F_OK) == 0) {
		lockfile_release(o);
		o = NULL;
		e = 1;
	}
	if (e != 0) {
		free_lockfile(o);
		o = NULL;
	}
	*out = o;
	return e;
}

void
lockfile_touch(struct lockfile *o)
{
	if (clk_s() - o->touched_at < TOUCH_S)
		return;
	o->touched_at = clk_s();
	utimensat(AT_FDCWD, lock_path(o, o->number), NULL, 0);
}

/* Removes the first lock first: a process that arrives now starts there, and finds the file if it was made. */
void
lockfile_release(struct lockfile *o)
{
	if (o == NULL)
		return;
	for (unsigned i = 0; i <= o->number; i++)
		unlink(lock_path(o, i));
	free_lockfile(o);
}
