/* io_test - complete reads and writes, and files that appear complete. */
#include "base/io.h"

#include "base/err.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char dir[] = "/tmp/io_test.XXXXXX";

/* Counts system calls on their way to the kernel. */
static unsigned synced, masked;	/* folders flushed; calls of umask() */
static bool interrupt;		/* the next recv() fails with EINTR */

int
fsync(int fd)
{
	struct stat st;

	synced += fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
	return (int)syscall(SYS_fsync, fd);
}

mode_t
umask(mode_t mask)
{
	masked++;
	return (mode_t)syscall(SYS_umask, mask);
}

ssize_t
recv(int fd, void *p, size_t n, int flags)
{
	if (interrupt) {
		interrupt = false;
		errno = EINTR;
		return -1;
	}
	return recvfrom(fd, p, n, flags, NULL, NULL);
}

static void *
trickle(void *fd)
{
	for (int i = 0; i < 10; i++)
		if (write(*(int *)fd, "0123456789", 10) != 10)
			break;
	close(*(int *)fd);
	return NULL;
}

static void
test_fragments(void)
{
	char got[200] = "";
	size_t n = 0;
	pthread_t t;
	int p[2];

	if (pipe(p) < 0)
		exit(1);
	pthread_create(&t, NULL, trickle, &p[1]);
	is(io_read(p[0], got, 95, &n), 0, "io_read joins the fragments of a pipe");
	ok(n == 95 && memcmp(got + 85, "5678901234", 10) == 0,
	    "io_read reads as many bytes as asked");
	is(io_read(p[0], got, 95, &n), 0, "io_read succeeds at the end of a pipe");
	is(n, 5, "io_read returns the remaining bytes");
	is(io_read(p[0], got, 95, &n), 0, "io_read succeeds after the end");
	is(n, 0, "io_read returns no bytes after the end");
	pthread_join(t, NULL);
	close(p[0]);
	is(io_read(p[0], got, 1, &n), ERR_SYS, "io_read fails on a closed descriptor");
	is(io_write(p[1], got, 1), ERR_SYS, "io_write fails on a closed descriptor");
}

static int
count_entries(void)
{
	char command[100];
	FILE *f;
	int n = -1;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", dir);
	if ((f = popen(command, "r")) == NULL)
		return -1;
	if (fscanf(f, "%d", &n) != 1)
		n = -1;
	pclose(f);
	return n;
}

static void
test_new_file(void)
{
	char path[100], missing[100];
	struct buf b = { 0 };
	struct io_new f, g;
	struct stat st;

	snprintf(path, sizeof(path), "%s/a", dir);
	snprintf(missing, sizeof(missing), "%s/none/a", dir);
	umask(027);
	masked = 0;
	is(io_create(&f, path), 0, "io_create opens a new file");
	is(masked, 0, "io_create leaves the umask alone, which other threads use");
	is(io_write(f.fd, "hello", 5), 0, "io_write writes to the new file");
	ok(access(path, F_OK) < 0, "the file does not have its name before io_commit");
	is(synced, 0, "no folder is flushed before io_commit");
	is(io_commit(&f), 0, "io_commit succeeds");
	is(synced, 1, "io_commit flushes the folder");
	is(count_entries(), 1, "io_commit leaves no other file");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640,
	    "a new file's mode follows the umask");
	io_abandon(&f);
	is(io_slurp(path, 5, &b), 0, "io_slurp reads a file at its limit");
	ok(b.n == 5 && memcmp(b.p, "hello", 5) == 0, "io_slurp reads what was written");
	is(io_slurp(path, 100, &b), 0, "io_slurp succeeds on a second read");
	is(b.n, 10, "io_slurp appends to the buffer");
	is(io_slurp(path, 4, &b), ERR_LIMIT, "io_slurp refuses a file above its limit");

	is(io_create(&f, path), 0, "io_create succeeds where the file exists");
	io_write(f.fd, "other", 5);
	io_abandon(&f);
	is(count_entries(), 1, "io_abandon removes the temporary file");
	b.n = 0;
	io_slurp(path, 100, &b);
	ok(b.n == 5 && memcmp(b.p, "hello", 5) == 0, "io_abandon keeps the old file");
	is(io_create(&f, path), 0, "io_create opens the first of two writers");
	is(io_create(&g, path), 0, "io_create opens a second writer of the same name");
	io_write(f.fd, "f", 1);
	io_write(g.fd, "g", 1);
	is(io_commit(&f), 0, "io_commit of the first writer succeeds");
	is(io_commit(&g), 0, "io_commit of the second writer succeeds");
	b.n = 0;
	io_slurp(path, 100, &b);
	ok(b.n == 1 && b.p[0] == 'g' && count_entries() == 1,
	    "the last committed file is complete and alone");

	is(io_create(&f, missing), ERR_SYS, "io_create fails in a missing folder");
	ok(f.fd == -1 && f.path == NULL, "a failed io_create leaves nothing to free");
	b.n = 0;
	ok(io_replace(path, "whole", 5) == 0 && io_slurp(path, 100, &b) == 0 && b.n == 5 && memcmp(b.p, "whole", 5) == 0,
	    "io_replace replaces a file");
	is(io_replace(missing, "whole", 5), ERR_SYS, "io_replace fails in a missing folder");
	is(io_slurp(missing, 10, &b), ERR_SYS, "io_slurp fails on a missing file");
	is(io_slurp(dir, 10, &b), ERR_SYS, "io_slurp fails on a folder");
	buf_free(&b);
}

static void
test_offsets(void)
{
	char path[100], got[8] = "";
	struct io_new f;
	int fd;

	snprintf(path, sizeof(path), "%s/b", dir);
	io_create(&f, path);
	io_write(f.fd, "0123456789", 10);
	io_commit(&f);
	fd = open(path, O_RDONLY);
	is(io_pread(fd, got, 4, 5), 0, "io_pread reads at an offset");
	ok(memcmp(got, "5678", 4) == 0, "io_pread returns the bytes at that offset");
	is(io_pread(fd, got, 4, 8), ERR_SHORT, "io_pread fails if the file ends first");
	is_str(err_line(), "the file ends inside the bytes at 8",
	    "the error of io_pread states the offset");
	is(io_write(fd, "x", 1), ERR_SYS, "io_write fails on a descriptor opened for reading");
	close(fd);
	if ((fd = open("/dev/full", O_WRONLY)) >= 0) {
		is(io_write(fd, "x", 1), ERR_SYS, "io_write fails on a full disk");
		is_str(err_line(), "write: No space left on device",
		    "the error of io_write states the cause");
		close(fd);
	}
}

/* A pipe is written in place; links stay links. */
static void
test_special_files(void)
{
	char fifo[64], link_[64], to[64];
	struct io_new f;
	struct stat st;
	char got[8] = "";
	int reader;

	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	snprintf(link_, sizeof(link_), "%s/link", dir);
	snprintf(to, sizeof(to), "%s/to", dir);
	mkfifo(fifo, 0600);
	reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	is(io_create(&f, fifo), 0, "io_create opens a named pipe in place: %s", err_line());
	io_write(f.fd, "abc", 3);
	is(io_commit(&f), 0, "io_commit on a pipe succeeds");
	ok(read(reader, got, sizeof(got)) == 3 && memcmp(got, "abc", 3) == 0,
	    "the bytes are read from the pipe");
	ok(stat(fifo, &st) == 0 && S_ISFIFO(st.st_mode), "io_commit leaves the pipe a pipe");
	is(io_create(&f, fifo), 0, "io_create opens the pipe again");
	io_abandon(&f);
	ok(stat(fifo, &st) == 0, "io_abandon does not remove a pipe");
	close(reader);
	ok(symlink("to", link_) == 0 && io_create(&f, link_) == 0 && io_commit(&f) == 0 && lstat(link_, &st) == 0 &&
	    S_ISREG(st.st_mode), "io_create replaces a dangling link");
	unlink(link_);
	is(io_create(&f, to), 0, "io_create makes the target of a link");
	io_commit(&f);
	ok(symlink("to", link_) == 0 && io_create(&f, link_) == 0,
	    "io_create opens a file through a link");
	io_write(f.fd, "new", 3);
	is(io_commit(&f), 0, "io_commit through a link succeeds");
	ok(lstat(link_, &st) == 0 && S_ISLNK(st.st_mode) && stat(to, &st) == 0 && st.st_size == 3,
	    "io_commit replaces the target and keeps the link");
	is(io_create(&f, ""), ERR_ARG, "io_create refuses an empty name: %s", err_line());
}

/* Peeked bytes of a file, a pipe or a socket can still be read. */
static void
test_peek(void)
{
	int pipe_[2], sock[2], file;
	char path[200], got[8];
	size_t n;

	snprintf(path, sizeof(path), "%s/ahead", dir);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (pipe2(pipe_, O_CLOEXEC) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0 || file < 0)
		return;
	io_write(file, "abcdef", 6);
	lseek(file, 0, SEEK_SET);
	io_write(pipe_[1], "abcdef", 6);
	io_write(sock[1], "abcdef", 6);
	for (int i = 0; i < 3; i++) {
		int fd = i == 0 ? file : i == 1 ? pipe_[0] : sock[0];

		ok(io_read(fd, got, 2, &n) == 0 && io_peek(fd, got, 3, &n) == 0 && n == 3 && memcmp(got, "cde", 3) == 0,
		    "io_peek copies the next bytes");
		ok(io_read(fd, got, 4, &n) == 0 && n == 4 && memcmp(got, "cdef", 4) == 0,
		    "io_peek consumes nothing");
	}
	io_write(sock[1], "gh", 2);
	interrupt = true;
	ok(io_peek(sock[0], got, 2, &n) == 0 && n == 2 && memcmp(got, "gh", 2) == 0 && !interrupt,
	    "io_peek repeats a call that a signal interrupts");
	ok(io_read(sock[0], got, 2, &n) == 0 && n == 2, "an interrupted io_peek consumes nothing");
	close(pipe_[1]);
	close(sock[1]);
	for (int i = 0; i < 3; i++)
		ok(io_peek(i == 0 ? file : i == 1 ? pipe_[0] : sock[0], got, 3, &n) == 0 && n == 0,
		    "io_peek returns no bytes at the end");
	close(file);
	close(pipe_[0]);
	close(sock[0]);
	is(io_peek(-1, got, 3, &n), ERR_SYS, "io_peek fails on a bad descriptor");
}

static bool
is_same(const char *a, const char *b)
{
	char pa[100], pb[100];

	snprintf(pa, sizeof(pa), "%s/%s", dir, a);
	snprintf(pb, sizeof(pb), "%s/%s", dir, b);
	return io_is_same(pa, pb);
}

static void
test_same(void)
{
	char path[100], other[100];
	int keep = dup(STDOUT_FILENO), p[2], fd;
	bool same, file;

	snprintf(path, sizeof(path), "%s/same", dir);
	snprintf(other, sizeof(other), "%s/alias", dir);
	ok(io_replace(path, "x", 1) == 0 && symlink("same", other) == 0 && is_same("same", "alias"),
	    "a link is the file that it names");
	snprintf(other, sizeof(other), "%s/same.d", dir);
	ok(mkdir(other, 0700) == 0 && is_same("same", "same.d/../same"), "another way to a file names it too");
	ok(!is_same("same", "none") && !is_same("none", "same"), "a file that does not exist is no other one");
	ok(is_same("none", "same.d/../none"), "a file that does not exist is known by its folder and its name");
	ok(!is_same("none", "nothing") && !is_same("none", "same.d/none"),
	    "a file that does not exist differs in another folder or by name");
	ok(!is_same("gone/none", "gone/none"), "a file in a folder that does not exist is none");
	ok(!io_is_same("/dev/null", "/dev/null"), "a character device is no file");
	fd = open(path, O_RDONLY);
	snprintf(other, sizeof(other), "%s/alias", dir);
	ok(io_is_open(path, fd) && io_is_open(other, fd) && !io_is_open("/dev/null", fd), "an open file is known by its names");
	ok(io_replace(path, "x", 1) == 0 && !io_is_open(path, fd), "a name of a replaced file is that of the new one");
	ok(unlink(path) == 0 && !io_is_open(path, fd) && io_replace(path, "x", 1) == 0, "a removed file has no name");
	close(fd);
	if (pipe(p) < 0 || dup2(p[1], STDOUT_FILENO) < 0)
		exit(1);
	snprintf(other, sizeof(other), "/dev/fd/%d", p[1]);
	same = io_is_same("-", other);
	file = io_is_same("-", path);
	dup2(keep, STDOUT_FILENO);
	ok(same && !file, "a pipe is known by any of its names, and standard output by \"-\"");
	close(keep);
	close(p[0]);
	close(p[1]);
}

int
main(void)
{
	char command[100];

	if (mkdtemp(dir) == NULL)
		return 1;
	test_fragments();
	test_new_file();
	test_offsets();
	test_special_files();
	test_peek();
	test_same();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return done() || system(command) != 0;
}
