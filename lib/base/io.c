/* io - complete reads and writes, whole files, and files that appear complete. */
#include "base/io.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLURP_LEAST 4096
#define TMP	".XXXXXX.tmp"	/* suffix of a new file's name until it is complete */
#define TMP_TRIES	100	/* names tried, if other processes use them */

int
io_read(int fd, void *p, size_t n, size_t *got)
{
	ssize_t r;

	for (*got = 0; *got < n; *got += (size_t)r) {
		r = read(fd, (uint8_t *)p + *got, n - *got);
		if (r == 0)
			break;
		if (r < 0) {
			if (errno != EINTR)
				return err_sys("read");
			r = 0;
		}
	}
	return 0;
}

int
io_pread(int fd, void *p, size_t n, uint64_t at)
{
	ssize_t r;

	for (size_t got = 0; got < n; got += (size_t)r) {
		r = pread(fd, (uint8_t *)p + got, n - got, (off_t)(at + got));
		if (r == 0)
			return err_fail(ERR_SHORT, "the file ends inside the bytes at %llu", (unsigned long long)at);
		if (r < 0) {
			if (errno != EINTR)
				return err_sys("read");
			r = 0;
		}
	}
	return 0;
}

/* tee(2) copies the pipe's bytes into a second pipe and leaves them in the first. */
static int
peek_pipe(int fd, void *p, size_t n, size_t *got)
{
	int copy[2], e;
	ssize_t r;

	if (pipe2(copy, O_CLOEXEC) < 0)
		return err_sys("pipe");
	do
		r = tee(fd, copy[1], n, 0);
	while (r < 0 && errno == EINTR);
	e = r < 0 ? err_sys("read") : r > 0 ? io_read(copy[0], p, (size_t)r, got) : 0;
	close(copy[0]);
	close(copy[1]);
	return e;
}

int
io_peek(int fd, void *p, size_t n, size_t *got)
{
	struct stat st;
	ssize_t r = 0;

	*got = 0;
	if (fstat(fd, &st) < 0)
		return err_sys("read");
	if (S_ISFIFO(st.st_mode))
		return peek_pipe(fd, p, n, got);
	if (S_ISREG(st.st_mode))
		r = pread(fd, p, n, lseek(fd, 0, SEEK_CUR));
	else if (S_ISSOCK(st.st_mode))
		do
			r = recv(fd, p, n, MSG_PEEK);
		while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_sys("read");
	*got = (size_t)r;
	return 0;
}

int
io_write(int fd, const void *p, size_t n)
{
	const uint8_t *b = p;
	ssize_t r;

	while (n > 0) {
		r = write(fd, b, n);
		if (r < 0) {
			if (errno == EINTR)
				continue;
			return err_sys("write");
		}
		b += r;
		n -= (size_t)r;
	}
	return 0;
}

int
io_slurp_fd(int fd, size_t max, struct buf *b)
{
	size_t room, got, start = b->n;

	do {
		ERR_TRY(buf_room(b, SLURP_LEAST));
		room = b->cap - b->n;
		ERR_TRY(io_read(fd, b->p + b->n, room, &got));
		b->n += got;
		if (b->n - start > max)
			return err_fail(ERR_LIMIT, "longer than %zu bytes", max);
	} while (got == room);
	return 0;
}

int
io_slurp(const char *path, size_t max, struct buf *b)
{
	int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), e;

	if (fd < 0)
		return err_sys("open");
	e = io_slurp_fd(fd, max, b);
	if (fd != STDIN_FILENO)
		close(fd);
	return e;
}

int
io_temp(int *fd)
{
	const char *dir = getenv("TMPDIR");
	char path[PATH_MAX];

	if (dir == NULL || *dir == 0)
		dir = "/tmp";
	if ((*fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) >= 0)
		return 0;
	/* Not every file system supports O_TMPFILE. */
	if (snprintf(path, sizeof(path), "%s/tally.XXXXXX", dir) >= (int)sizeof(path))
		errno = ENAMETOOLONG;
	else if ((*fd = mkostemp(path, O_CLOEXEC)) >= 0)
		return unlink(path), 0;
	return err_sys("%s: cannot create a temporary file", dir);
}

/* For a device or a pipe, which a rename would replace by a file. */
static int
open_in_place(struct io_new *f, const char *path)
{
	if ((f->path = strdup(path)) == NULL)
		return err_nomem();
	if ((f->fd = open(path, O_WRONLY | O_CLOEXEC)) >= 0)
		return 0;
	free(f->path);
	f->path = NULL;
	return err_sys("open");
}

/* The file that symbolic links lead to, so that the links stay.  A dangling link is replaced. */
static char *
resolve_links(const char *path)
{
	struct stat st;
	char *target = NULL;

	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		target = realpath(path, NULL);
	return target != NULL ? target : strdup(path);
}

int
io_allow_files(uint64_t files, uint64_t least, const char *what, uint64_t n)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most) < 0 || most.rlim_cur >= files)
		return 0;
	if (most.rlim_max < least)
		return err_fail(ERR_LIMIT, "%" PRIu64 " %s need %" PRIu64 " open files, and the limit is %" PRIu64
		    " (ulimit -n)", n, what, least, (uint64_t)most.rlim_max);
	most.rlim_cur = most.rlim_max < files ? most.rlim_max : files;
	return setrlimit(RLIMIT_NOFILE, &most) < 0 ? err_sys("the limit of open files") : 0;
}

void
io_close_range(unsigned first, unsigned last)
{
	(void)syscall(SYS_close_range, first, last, 0u);
}

int
io_random(void *p, size_t n)
{
	uint8_t *to = p;
	ssize_t got;

	for (; n > 0; to += got, n -= (size_t)got)
		while ((got = getrandom(to, n, 0)) < 0)
			if (errno != EINTR)
				return err_sys("getrandom");
	return 0;
}

/* Unlike mkostemp(3), gives the mode that the umask says, without reading the umask: that races with other threads. */
static int
create_tmp(char *tmp)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	char *x = tmp + strlen(tmp) - (sizeof(TMP) - 2);
	uint64_t bits;
	int fd = -1;

	errno = EEXIST;
	for (int i = 0; i < TMP_TRIES && fd < 0 && errno == EEXIST; i++) {
		if (io_random(&bits, sizeof(bits)) < 0)
			return -1;
		for (int k = 0; k < 6; k++, bits /= sizeof(letters) - 1)
			x[k] = letters[bits % (sizeof(letters) - 1)];
		fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	return fd;
}

int
io_create_failed(const char *path)
{
	const char *slash = strrchr(path, '/');
	int why = errno;
	char *folder = slash != NULL && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;

	if (why == ENOENT && folder != NULL && access(folder, F_OK) < 0)
		err_note(0, "create: there is no folder %s", folder);
	else
		err_note(why, "create");
	free(folder);
	return ERR_SYS;
}

int
io_create(struct io_new *f, const char *path)
{
	struct stat st;
	size_t n;

	*f = (struct io_new){ .fd = -1 };
	if (*path == 0)
		return err_fail(ERR_ARG, "the file name is empty");
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return open_in_place(f, path);
	if ((f->path = resolve_links(path)) == NULL || (f->tmp = malloc(n = strlen(f->path) + sizeof(TMP))) == NULL) {
		io_abandon(f);
		return err_nomem();
	}
	snprintf(f->tmp, n, "%s" TMP, f->path);
	if ((f->fd = create_tmp(f->tmp)) < 0) {
		int e = io_create_failed(path);

		free(f->tmp);
		f->tmp = NULL;
		io_abandon(f);
		return e;
	}
	return 0;
}

int
io_flush(int fd)
{
	int r;

	while ((r = fsync(fd)) < 0 && errno == EINTR)
		;
	return r < 0 && errno != EINVAL && errno != EROFS ? err_sys("write") : 0;
}

int
io_seal(struct io_new *f)
{
	int e;

	if (f->fd < 0)
		return 0;
	e = io_flush(f->fd);
	if (close(f->fd) < 0 && e == 0)
		e = err_sys("close");
	f->fd = -1;
	return e;
}

const char *
io_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

size_t
io_folder_length(const char *path)
{
	const char *name = io_base_name(path);

	return name > path ? (size_t)(name - path) - 1 : 0;
}

static int
stat_output(const char *path, struct stat *st)
{
	return strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, st) : stat(path, st);
}

static int
stat_folder(const char *path, struct stat *st)
{
	const char *name = io_base_name(path);
	char *folder = name > path ? strndup(path, (size_t)(name - path)) : strdup(".");
	int r = folder != NULL ? stat(folder, st) : -1;

	free(folder);
	return r;
}

static bool
is_one_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool
io_is_open(const char *path, int fd)
{
	struct stat named, open;

	return stat(path, &named) == 0 && fstat(fd, &open) == 0 && is_one_file(&named, &open);
}

bool
io_is_same(const char *a, const char *b)
{
	struct stat sa, sb;
	bool is = stat_output(a, &sa) == 0, other = stat_output(b, &sb) == 0;

	if (is != other)
		return false;
	if (!is && (strcmp(io_base_name(a), io_base_name(b)) != 0 || stat_folder(a, &sa) < 0 ||
	    stat_folder(b, &sb) < 0))
		return false;
	return !S_ISCHR(sa.st_mode) && is_one_file(&sa, &sb);
}

void
io_flush_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
	int fd;

	if (folder != NULL && (fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
		(void)fsync(fd);
		close(fd);
	}
	free(folder);
}

int
io_commit(struct io_new *f)
{
	int e = io_seal(f);

	if (e == 0 && f->tmp != NULL && rename(f->tmp, f->path) < 0)
		e = err_sys("rename");
	if (e == 0 && f->tmp != NULL)
		io_flush_name(f->path);
	if (e == 0) {
		free(f->tmp);
		f->tmp = NULL;
	}
	io_abandon(f);
	return e;
}

void
io_abandon(struct io_new *f)
{
	int keep = errno;

	if (f->fd >= 0)
		close(f->fd);
	if (f->tmp != NULL)
		unlink(f->tmp);
	free(f->tmp);
	free(f->path);
	*f = (struct io_new){ .fd = -1 };
	errno = keep;
}

int
io_replace(const char *path, const void *p, size_t n)
{
	struct io_new f;
	int e;

	ERR_TRY(io_create(&f, path));
	if ((e = io_write(f.fd, p, n)) == 0)
		return io_commit(&f);
	io_abandon(&f);
	return e;
}
