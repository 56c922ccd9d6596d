/* loan - memory of a process that another process of the same host reads where it is. */
#include "wire/path/loan.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x10	/* Linux 5.1; bookworm's headers of C lack it */
#endif

/* A memory of huge pages could raise SIGBUS although its size is sealed. */
static bool
is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;

	return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

int
loan_open(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return is_sealed(fd) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* Maps size bytes of fd, or of none if that is -1. */
static int
map_bytes(int fd, size_t size, int access, struct loan *l)
{
	void *p = mmap(NULL, size, access, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return err_sys("mmap");
	*l = (struct loan){ .p = p, .size = size, .fd = -1 };
	if (madvise(p, size, MADV_DONTFORK) == 0)
		return 0;
	loan_free(l);
	return err_sys("madvise");
}

/* Pages are allocated here, so that a lack of memory is an error and not SIGBUS later. */
int
loan_make(size_t size, struct loan *l)
{
	int fd = memfd_create("tally", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	*l = (struct loan){ .fd = -1 };
	if (fd >= 0 && posix_fallocate(fd, 0, (off_t)size) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0 &&
	    map_bytes(fd, size, PROT_READ | PROT_WRITE, l) == 0) {
		/* An older system has no such seal, and the descriptor alone keeps others from writing. */
		(void)fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
		l->fd = loan_open(fd);
	}
	if (fd >= 0)
		close(fd);
	return l->p != NULL || map_bytes(-1, size, PROT_READ | PROT_WRITE, l) == 0 ? 0 : err_nomem();
}

int
loan_take(int fd, size_t most, struct loan *l)
{
	struct stat st;
	int e;

	*l = (struct loan){ .fd = -1 };
	if (!is_sealed(fd) || fstat(fd, &st) < 0 || st.st_size <= 0)
		e = err_fail(ERR_FORMAT, "lends a memory that could shrink");
	else if ((uintmax_t)st.st_size > most)
		e = err_fail(ERR_LIMIT, "lends %jd bytes of memory, over the limit of %zu", (intmax_t)st.st_size, most);
	else
		e = map_bytes(fd, (size_t)st.st_size, PROT_READ, l);
	close(fd);
	return e;
}

void
loan_free(struct loan *l)
{
	if (l->p != NULL)
		munmap(l->p, l->size);
	if (l->p != NULL && l->fd >= 0)
		close(l->fd);
	*l = (struct loan){ .fd = -1 };
}

bool
loan_has(const struct loan *l, const void *p, size_t n)
{
	uintptr_t at = (uintptr_t)p - (uintptr_t)l->p;

	return l->p != NULL && at <= l->size && n <= l->size - at;
}
