/* io_test - whole reads and writes, and files that appear at once. */
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

/* What is asked of the system, seen on its way there. */
static unsigned synced, masked;	/* folders; times that the umask was set */
static bool interrupt;		/* the next look at a socket */

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
pieces(void)
{
	char got[200] = "";
	size_t n = 0;
	pthread_t t;
	int p[2];

	if (pipe(p) < 0)
		exit(1);
	pthread_create(&t, NULL, trickle, &p[1]);
	is(io_read(p[0], got, 95, &n), 0, "a pipe's pieces are read");
	ok(n == 95 && memcmp(got + 85, "5678901234", 10) == 0, "... as many as asked");
	is(io_read(p[0], got, 95, &n), 0, "at the end");
	is(n, 5, "... what is left comes");
	is(io_read(p[0], got, 95, &n), 0, "behind the end");
	is(n, 0, "... nothing does");
	pthread_join(t, NULL);
	close(p[0]);
	is(io_read(p[0], got, 1, &n), ERR_SYS, "a closed descriptor is an error");
	is(io_write(p[1], got, 1), ERR_SYS, "... also to write");
}

static int
entries(void)
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
files(void)
{
	char path[100], missing[100];
	struct buf b = { 0 };
	struct io_new f, g;
	struct stat st;

	snprintf(path, sizeof(path), "%s/a", dir);
	snprintf(missing, sizeof(missing), "%s/none/a", dir);
	umask(027);
	masked = 0;
	is(io_create(&f, path), 0, "a file is begun");
	is(masked, 0, "... and the umask, which other threads need, is let be");
	is(io_write(f.fd, "hello", 5), 0, "... written");
	ok(access(path, F_OK) < 0, "... and not there under its name");
	is(synced, 0, "... nor on disk");
	is(io_commit(&f), 0, "... until it is all there");
	is(synced, 1, "... its name on disk, too");
	is(entries(), 1, "... and nothing else is");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640, "... with the rights of a plain new file");
	io_abandon(&f);
	is(io_slurp(path, 5, &b), 0, "it is read whole");
	ok(b.n == 5 && memcmp(b.p, "hello", 5) == 0, "... as written");
	is(io_slurp(path, 100, &b), 0, "and appended");
	is(b.n, 10, "... to what was there");
	is(io_slurp(path, 4, &b), ERR_LIMIT, "a bound holds");

	is(io_create(&f, path), 0, "a second version");
	io_write(f.fd, "other", 5);
	io_abandon(&f);
	is(entries(), 1, "... abandoned, leaves nothing");
	b.n = 0;
	io_slurp(path, 100, &b);
	ok(b.n == 5 && memcmp(b.p, "hello", 5) == 0, "... and the first as it was");
	is(io_create(&f, path), 0, "two at once");
	is(io_create(&g, path), 0, "... do not meet");
	io_write(f.fd, "f", 1);
	io_write(g.fd, "g", 1);
	is(io_commit(&f), 0, "... one is there");
	is(io_commit(&g), 0, "... then the other");
	b.n = 0;
	io_slurp(path, 100, &b);
	ok(b.n == 1 && b.p[0] == 'g' && entries() == 1, "... whole");

	is(io_create(&f, missing), ERR_SYS, "a folder that is not there");
	ok(f.fd == -1 && f.path == NULL, "... leaves nothing to free");
	is(io_slurp(missing, 10, &b), ERR_SYS, "... nor to read");
	is(io_slurp(dir, 10, &b), ERR_SYS, "a folder is no file");
	buf_free(&b);
}

static void
at_offsets(void)
{
	char path[100], got[8] = "";
	struct io_new f;
	int fd;

	snprintf(path, sizeof(path), "%s/b", dir);
	io_create(&f, path);
	io_write(f.fd, "0123456789", 10);
	io_commit(&f);
	fd = open(path, O_RDONLY);
	is(io_pread(fd, got, 4, 5), 0, "bytes at an offset");
	ok(memcmp(got, "5678", 4) == 0, "... are those");
	is(io_pread(fd, got, 4, 8), ERR_SHORT, "a file that ends before them");
	is_str(err_line(), "the file ends inside the bytes at 8", "... is told with the place");
	is(io_write(fd, "x", 1), ERR_SYS, "a descriptor to read is not to write");
	close(fd);
	if ((fd = open("/dev/full", O_WRONLY)) >= 0) {
		is(io_write(fd, "x", 1), ERR_SYS, "a full disk");
		is_str(err_line(), "write: No space left on device", "... says so");
		close(fd);
	}
}

/* What a new file would take the place of is written as it is; links stay links. */
static void
no_files(void)
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
	is(io_create(&f, fifo), 0, "a pipe: %s", err_line());
	io_write(f.fd, "abc", 3);
	is(io_commit(&f), 0, "written");
	ok(read(reader, got, sizeof(got)) == 3 && memcmp(got, "abc", 3) == 0, "comes out at its other end");
	ok(stat(fifo, &st) == 0 && S_ISFIFO(st.st_mode), "and is a pipe still");
	is(io_create(&f, fifo), 0, "taken back");
	io_abandon(&f);
	ok(stat(fifo, &st) == 0, "it stays");
	close(reader);
	ok(symlink("to", link_) == 0 && io_create(&f, link_) == 0 && io_commit(&f) == 0 && lstat(link_, &st) == 0 &&
	    S_ISREG(st.st_mode), "a link that leads nowhere gives way");
	unlink(link_);
	is(io_create(&f, to), 0, "a file ...");
	io_commit(&f);
	ok(symlink("to", link_) == 0 && io_create(&f, link_) == 0, "... through a link");
	io_write(f.fd, "new", 3);
	is(io_commit(&f), 0, "written");
	ok(lstat(link_, &st) == 0 && S_ISLNK(st.st_mode) && stat(to, &st) == 0 && st.st_size == 3, "link and file are there");
	is(io_create(&f, ""), ERR_ARG, "no name: %s", err_line());
}

/* What is looked at stays to be read, of whatever kind it is. */
static void
ahead(void)
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

		ok(io_read(fd, got, 2, &n) == 0 && io_peek(fd, got, 3, &n) == 0 && n == 3 && memcmp(got, "cde", 3) == 0, "a look");
		ok(io_read(fd, got, 4, &n) == 0 && n == 4 && memcmp(got, "cdef", 4) == 0, "... takes nothing");
	}
	io_write(sock[1], "gh", 2);
	interrupt = true;
	ok(io_peek(sock[0], got, 2, &n) == 0 && n == 2 && memcmp(got, "gh", 2) == 0 && !interrupt, "a signal does not end a look");
	ok(io_read(sock[0], got, 2, &n) == 0 && n == 2, "... which took nothing");
	close(pipe_[1]);
	close(sock[1]);
	for (int i = 0; i < 3; i++)
		ok(io_peek(i == 0 ? file : i == 1 ? pipe_[0] : sock[0], got, 3, &n) == 0 && n == 0, "... nor is there more at the end");
	close(file);
	close(pipe_[0]);
	close(sock[0]);
	is(io_peek(-1, got, 3, &n), ERR_SYS, "no descriptor");
}

int
main(void)
{
	char command[100];

	if (mkdtemp(dir) == NULL)
		return 1;
	pieces();
	files();
	at_offsets();
	no_files();
	ahead();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return done() || system(command) != 0;
}
