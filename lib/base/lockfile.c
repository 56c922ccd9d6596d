/* lockfile - a file that one of many processes makes while the others wait for it. */
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

#define LOOK_MS		100	/* between two looks at the lock; a network's file system hears no other process */
#define LOCKS		1000	/* that may lie there */
#define BEAT_S		2.0

struct lockfile {
	char		*path;		/* of the file */
	char		*name;		/* room for a lock's name */
	size_t		 size;
	unsigned	 number;	/* of the lock held */
	double		 silent_s, beat;
	char		 me[LOCKFILE_NAME], host[64];
	/* The lock that is waited for: when it was touched last, as its file system sees it, and when that changed. */
	struct timespec	 touched;
	double		 seen;
	char		 whom[LOCKFILE_NAME];
};

static const char *
lock_name(struct lockfile *o, unsigned number)
{
	if (number == 0)
		snprintf(o->name, o->size, "%s.lock", o->path);
	else
		snprintf(o->name, o->size, "%s.lock.%u", o->path, number);
	return o->name;
}

static int
begin(struct lockfile **out, const char *path, double silent_s)
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
end(struct lockfile *o)
{
	if (o == NULL)
		return;
	free(o->path);
	free(o->name);
	free(o);
}

/* Opening it anew shows what other hosts did to it.  Returns 1, 0 when it is not there, ERR_SYS. */
static int
look(struct lockfile *o, unsigned number, char holder[LOCKFILE_NAME], struct timespec *touched)
{
	int fd = open(lock_name(o, number), O_RDONLY | O_CLOEXEC), e;
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

/* Whether the lock's process is known to be gone, or silent for too long. */
static bool
dead(struct lockfile *o, const char *holder, struct timespec touched)
{
	char host[64];
	long pid;
	bool parsed = sscanf(holder, "%63s %ld", host, &pid) == 2 && pid > 0;

	if (strcmp(holder, o->whom) != 0 || touched.tv_sec != o->touched.tv_sec || touched.tv_nsec != o->touched.tv_nsec) {
		snprintf(o->whom, sizeof(o->whom), "%s", holder);
		o->touched = touched;
		o->seen = clk_s();
	}
	if (parsed && strcmp(host, o->host) == 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		return true;
	return clk_s() - o->seen >= o->silent_s;
}

/* Tells who is waited for, when it is not who was told last. */
static void
tell(const char *holder, char told[LOCKFILE_NAME], lockfile_waiting *waiting, void *arg)
{
	char host[64], text[LOCKFILE_NAME];
	long pid;

	if (waiting == NULL || strcmp(holder, told) == 0)
		return;
	snprintf(told, LOCKFILE_NAME, "%s", holder);
	if (sscanf(holder, "%63s %ld", host, &pid) != 2)
		return;
	snprintf(text, sizeof(text), "process %ld on %s", pid, host);
	waiting(arg, text);
}

/* Puts a lock there, whole.  Returns 1, 0 when somebody was faster, ERR_SYS or ERR_NOMEM. */
static int
take(struct lockfile *o, unsigned number)
{
	struct io_new f;
	struct stat st;
	int e;

	if ((e = io_create(&f, lock_name(o, number))) == 0 && (e = io_write(f.fd, o->me, strlen(o->me))) == 0) {
		/* Over a network the answer to a link() that worked may get lost: the file's count of names tells. */
		e = link(f.tmp, f.path) < 0 && errno != EEXIST ? err_sys("link") : 0;
		if (fstat(f.fd, &st) == 0 && st.st_nlink == 2)
			e = 1;
	}
	if (e < 0)
		err_within("%s", o->name);
	io_abandon(&f);
	return e;
}

/* One try: 1 when the file is there, 0 when the lock is ours, ERR_AGAIN when it is somebody else's. */
static int
attempt(struct lockfile *o, char told[LOCKFILE_NAME], lockfile_waiting *waiting, void *arg)
{
	char holder[LOCKFILE_NAME] = "";
	struct timespec touched = { 0 };
	unsigned n = 0;
	int e;

	if (access(o->path, F_OK) == 0)
		return 1;
	while ((e = look(o, n, holder, &touched)) > 0 && n < LOCKS)
		n++;	/* the last one counts */
	if (e < 0)
		return e;
	if (n > 0 && !dead(o, holder, touched)) {
		tell(holder, told, waiting, arg);
		return ERR_AGAIN;
	}
	if (n == LOCKS)
		return err_fail(ERR_SYS, "%d locks of dead processes lie there", LOCKS);
	if ((e = take(o, n)) <= 0)
		return e < 0 ? e : ERR_AGAIN;
	o->number = n;
	o->beat = clk_s();
	return 0;
}

int
lockfile_acquire(struct lockfile **out, const char *path, double silent_s, lockfile_waiting *waiting, void *arg)
{
	char told[LOCKFILE_NAME] = "";
	struct lockfile *o;
	int e;

	if ((e = begin(&o, path, silent_s)) == 0)
		while ((e = attempt(o, told, waiting, arg)) == ERR_AGAIN)
			poll(NULL, 0, LOOK_MS);
	/* Who held the lock before may have finished between our two looks. */
	if (e == 0 && access(path, F_OK) == 0) {
		lockfile_release(o);
		o = NULL;
		e = 1;
	}
	if (e != 0) {
		end(o);
		o = NULL;
	}
	*out = o;
	return e;
}

void
lockfile_touch(struct lockfile *o)
{
	if (clk_s() - o->beat < BEAT_S)
		return;
	o->beat = clk_s();
	utimensat(AT_FDCWD, lock_name(o, o->number), NULL, 0);
}

/* The first lock goes first: who comes then begins anew with it, and finds the file if it was made. */
void
lockfile_release(struct lockfile *o)
{
	if (o == NULL)
		return;
	for (unsigned i = 0; i <= o->number; i++)
		unlink(lock_name(o, i));
	end(o);
}
