/* disk - the disks of simulated hosts, and what can happen to them. */
#include "law/sim/disk.h"
#include "law/sim/sim.h"
#include "law/sim/sys.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN	32	/* descriptors */
#define FILES	512	/* that are not all on disk */

/* A file that is not all on disk: its bytes, or its name. */
struct file {
	char		 path[DISK_PATH];
	bool		 bytes, name;
};

static struct {
	char		 root[32];		/* "": not made yet */
	struct { int fd; unsigned proc; char path[DISK_PATH]; } open[OPEN];	/* fd 0: free */
	struct file	 file[FILES];
	unsigned	 nfile;
	bool		 used[DISK_HOSTS];
	uint64_t	 until[DISK_HOSTS][DISK_FAULTS], met[DISK_FAULTS];
	bool		 spare;
	void		(*renamed)(void *arg);	/* NULL: nobody asks */
	void		*arg;
} disk;

static void
remove_files(uint32_t host)
{
	char folder[DISK_PATH], path[2 * DISK_PATH + 256];
	struct dirent *d;
	DIR *list;

	disk_folder(host, folder);
	if ((list = opendir(folder)) == NULL)
		return;
	while ((d = readdir(list)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
		if (d->d_name[0] != '.')
			unlink(path);
	}
	closedir(list);
}

static void
remove_all(void)
{
	char folder[DISK_PATH];

	for (uint32_t h = 0; h < DISK_HOSTS; h++) {
		disk_folder(h, folder);
		remove_files(h);
		rmdir(folder);
	}
	rmdir(disk.root);
}

/* In memory if the system has such a folder: nothing here needs a real disk. */
static void
make_root(void)
{
	snprintf(disk.root, sizeof(disk.root), "/dev/shm/tally-law.XXXXXX");
	if (mkdtemp(disk.root) == NULL) {
		snprintf(disk.root, sizeof(disk.root), "/tmp/tally-law.XXXXXX");
		if (mkdtemp(disk.root) == NULL)
			abort();
	}
	if (atexit(remove_all) != 0)
		abort();
}

void
disk_begin(void)
{
	memset(disk.open, 0, sizeof(disk.open));
	memset(disk.until, 0, sizeof(disk.until));
	memset(disk.met, 0, sizeof(disk.met));
	disk.nfile = 0;
	disk.spare = false;
	disk.renamed = NULL;
}

void
disk_end(void)
{
	for (uint32_t h = 0; h < DISK_HOSTS; h++)
		if (disk.used[h])
			remove_files(h);
	memset(disk.used, 0, sizeof(disk.used));
}

void
disk_folder(uint32_t host, char path[DISK_PATH])
{
	if (disk.root[0] == 0)
		make_root();
	snprintf(path, DISK_PATH, "%s/%u", disk.root, host);
	if (disk.used[host])
		return;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		abort();
	disk.used[host] = true;
}

void
disk_fail(uint32_t host, enum disk_fault fault, uint64_t until)
{
	disk.until[host][fault] = until;
}

void
disk_watch(void (*renamed)(void *arg), void *arg)
{
	disk.renamed = renamed;
	disk.arg = arg;
}

void
disk_spare(bool spare)
{
	disk.spare = spare;
}

uint64_t
disk_met(enum disk_fault fault)
{
	return disk.met[fault];
}

/* Whether a call of the running process meets a fault. */
static bool
meets(enum disk_fault fault)
{
	const uint32_t host = sim_host((unsigned)sim_proc());
	bool met;

	if (disk.spare || disk.until[host][fault] <= sim_now())
		return false;
	met = rng_below(sim_chance(), 2);
	disk.met[fault] += met;
	return met;
}

/* A write or flush takes its time, in which others run. */
static void
take_time(void)
{
	sim_poll(NULL, 0, meets(DISK_SLOW) ? sim_now() + rng_below(sim_chance(), SIM_MS << rng_below(sim_chance(), 12)) :
	    sim_now() + rng_below(sim_chance(), SIM_MS));
}

static struct file *
find_file(const char *path)
{
	for (unsigned i = 0; i < disk.nfile; i++)
		if (strcmp(disk.file[i].path, path) == 0)
			return &disk.file[i];
	return NULL;
}

static struct file *
find_or_add_file(const char *path)
{
	struct file *f = find_file(path);

	if (f != NULL)
		return f;
	assert(disk.nfile < FILES);
	f = &disk.file[disk.nfile++];
	*f = (struct file){ .bytes = false };
	snprintf(f->path, sizeof(f->path), "%s", path);
	return f;
}

/* Forgets what is all on disk. */
static void
drop_file(struct file *f)
{
	if (f != NULL && !f->bytes && !f->name)
		*f = disk.file[--disk.nfile];
}

static int
find_open(int fd)
{
	for (int i = 0; i < OPEN && fd > 0; i++)
		if (disk.open[i].fd == fd && disk.open[i].proc == (unsigned)sim_proc())
			return i;
	return -1;
}

bool
disk_has(int fd)
{
	return sim_inside() && find_open(fd) >= 0;
}

static bool
is_on_disk(const char *path)
{
	return disk.root[0] != 0 && strncmp(path, disk.root, strlen(disk.root)) == 0;
}

int
disk_open(const char *path, int flags, int mode)
{
	const bool ours = is_on_disk(path);
	int fd, i = 0;

	if (ours && (flags & O_CREAT) != 0 && meets(DISK_FULL))
		return -ENOSPC;
	if ((fd = __real_open(path, flags, mode)) < 0)
		return -errno;
	if (!ours)
		return fd;
	while (i < OPEN && disk.open[i].fd != 0)
		i++;
	assert(i < OPEN);
	disk.open[i].fd = fd;
	disk.open[i].proc = (unsigned)sim_proc();
	snprintf(disk.open[i].path, DISK_PATH, "%s", path);
	if ((flags & O_CREAT) != 0)
		find_or_add_file(path)->name = true;
	return fd;
}

int
disk_write(int fd, const void *p, size_t n)
{
	ssize_t r;

	take_time();
	if (meets(DISK_FULL) && (n = rng_below(sim_chance(), n + 1)) == 0)
		return -ENOSPC;
	if (n > 1 && meets(DISK_SHORT))
		n = 1 + rng_below(sim_chance(), n);
	if ((r = __real_write(fd, p, n)) < 0)
		return -errno;
	find_or_add_file(disk.open[find_open(fd)].path)->bytes = true;
	return (int)r;
}

/* The names in a folder are on disk. */
static void
flush_folder(const char *path)
{
	const size_t n = strlen(path);

	for (unsigned i = disk.nfile; i-- > 0;)
		if (strncmp(disk.file[i].path, path, n) == 0 && disk.file[i].path[n] == '/') {
			disk.file[i].name = false;
			drop_file(&disk.file[i]);
		}
}

int
disk_flush(int fd)
{
	char path[DISK_PATH];
	struct file *f;
	struct stat st;

	take_time();
	if (meets(DISK_FLUSH))
		return -EIO;
	snprintf(path, sizeof(path), "%s", disk.open[find_open(fd)].path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		path[strlen(path) - (path[strlen(path) - 1] == '/')] = 0;
		flush_folder(path);
	} else if ((f = find_file(path)) != NULL) {
		f->bytes = false;
		drop_file(f);
	}
	return 0;
}

int
disk_close(int fd)
{
	disk.open[find_open(fd)].fd = 0;
	return meets(DISK_FLUSH) ? -EIO : 0;
}

void
disk_close_all(unsigned proc)
{
	for (unsigned i = 0; i < OPEN; i++)
		if (disk.open[i].proc == proc)
			disk.open[i].fd = 0;
}

int
disk_rename(const char *from, const char *to)
{
	struct file *f, *old;

	if (!is_on_disk(from))
		return __real_rename(from, to) < 0 ? -errno : 0;
	if (meets(DISK_FLUSH))
		return -EIO;
	if (__real_rename(from, to) < 0)
		return -errno;
	if ((old = find_file(to)) != NULL) {
		old->bytes = old->name = false;
		drop_file(old);
	}
	f = find_or_add_file(from);
	snprintf(f->path, sizeof(f->path), "%s", to);
	f->name = true;
	if (disk.renamed != NULL)
		disk.renamed(disk.arg);
	return 0;
}

void
disk_lose(uint32_t host)
{
	char folder[DISK_PATH];

	disk_folder(host, folder);
	remove_files(host);
	for (unsigned i = disk.nfile; i-- > 0;)
		if (strncmp(disk.file[i].path, folder, strlen(folder)) == 0 && disk.file[i].path[strlen(folder)] == '/')
			disk.file[i] = disk.file[--disk.nfile];
}

void
disk_power_fail(void)
{
	for (; disk.nfile > 0; disk.nfile--) {
		const struct file *f = &disk.file[disk.nfile - 1];
		struct stat st;

		if (stat(f->path, &st) < 0)
			continue;
		if (f->name && rng_below(sim_chance(), 2))
			unlink(f->path);
		else if (f->bytes && st.st_size > 0 &&
		    truncate(f->path, (off_t)rng_below(sim_chance(), (uint64_t)st.st_size)) < 0)
			abort();
	}
}
