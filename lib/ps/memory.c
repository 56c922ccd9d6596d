/* memory - the memory of a process, which may outlive it. */
#include "ps/memory.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL	((uint64_t)16 << 20)	/* bytes for which memory_fits() does not look */

static int
map_memory(struct memory *m, size_t size)
{
	int how = m->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, how, m->fd, 0);

	if (p == MAP_FAILED)
		return m->fd < 0 ? err_nomem() : err_sys("mmap");
	m->base = p;
	m->size = size;
	return 0;
}

/*
 * Opens and locks a file.  Returns 1, 0 if the last user removed the file before it was locked, or an error.
 */
static int
lock_file(const char *path, struct memory *m, struct stat *st)
{
	if ((m->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0)
		return err_sys("%s", path);
	if (flock(m->fd, LOCK_EX | LOCK_NB) < 0)
		return errno != EWOULDBLOCK ? err_sys("%s: lock", path) :
		    err_fail(ERR_ARG, "%s: another process uses this state; end it, or use another file", path);
	if (fstat(m->fd, st) < 0)
		return err_sys("%s", path);
	return io_is_open(path, m->fd);
}

int
memory_open(const char *path, struct memory *m)
{
	struct stat st;
	int e;

	*m = (struct memory){ .fd = -1 };
	while ((e = lock_file(path, m, &st)) == 0)
		memory_close(m);
	if (e > 0)
		e = st.st_size > 0 ? map_memory(m, (size_t)st.st_size) : 0;
	if (e < 0)
		memory_close(m);
	return e;
}

void
memory_make(struct memory *m)
{
	*m = (struct memory){ .fd = memfd_create("tally", MFD_CLOEXEC | MFD_ALLOW_SEALING) };
}

/* The limit of file sizes counts for a memfd, too.  Its owner learns that it will not be used. */
static bool
leave_memfd(struct memory *m)
{
	if (fcntl(m->fd, F_ADD_SEALS, F_SEAL_GROW) < 0)
		return false;
	close(m->fd);
	m->fd = -1;
	return m->limited = true;
}

int
memory_fits(uint64_t bytes)
{
	return bytes < SMALL ? 0 : mem_fits(bytes);
}

int
memory_resize(struct memory *m, size_t size)
{
	int e;

	if (m->base != NULL)
		return m->size == size ? 0 : err_fail(ERR_FORMAT, "the state has %zu bytes, not %zu: another job's",
		    m->size, size);
	/* A file on a disk, which has no seals, takes no memory that the system cannot take back. */
	if (size >= SMALL && (m->fd < 0 || fcntl(m->fd, F_GET_SEALS) >= 0))
		ERR_TRY(memory_fits(size));
	if (m->fd >= 0) {
		e = posix_fallocate(m->fd, 0, (off_t)size);
		if (e != 0 && (e != EFBIG || !leave_memfd(m))) {
			errno = e;
			return err_sys("%zu bytes of state", size);
		}
		/* It fails if the file is not of memfd_create(). */
		if (e == 0)
			(void)fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	}
	return map_memory(m, size);
}

void
memory_close(struct memory *m)
{
	if (m->base != NULL)
		munmap(m->base, m->size);
	if (m->fd >= 0)
		close(m->fd);
	m->base = NULL;
	m->fd = -1;
}

void
memory_remove(struct memory *m, const char *path)
{
	/* The lock is held until the file is gone, and nobody maps it any more. */
	if (m->base != NULL)
		munmap(m->base, m->size);
	m->base = NULL;
	(void)!ftruncate(m->fd, 0);
	(void)unlink(path);
	memory_close(m);
}

bool
memory_used(int fd)
{
	uint64_t first = 0;

	return fd >= 0 && pread(fd, &first, sizeof(first), 0) == (ssize_t)sizeof(first) && first != 0;
}

void
memory_decline(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		(void)fcntl(fd, F_ADD_SEALS, F_SEAL_GROW);
		close(fd);
	}
}

static bool
is_empty(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_size == 0;
}

bool
memory_declined(int fd)
{
	int seals = is_empty(fd) ? fcntl(fd, F_GET_SEALS) : -1;

	return seals >= 0 && (seals & F_SEAL_GROW) != 0;
}

bool
memory_untouched(int fd)
{
	return is_empty(fd) && !memory_declined(fd);
}

void *
memory_place(void *base, size_t *at, size_t n)
{
	size_t from = *at;

	*at += (n + MEMORY_LINE - 1) / MEMORY_LINE * MEMORY_LINE;
	return base != NULL ? (char *)base + from : NULL;
}

void
memory_report_change(const struct memory *m, void *p, size_t n)
{
	if (m->stored != NULL)
		m->stored(m->arg, p, n);
}

int
memory_half(const struct memory_word *w)
{
	uint64_t half = atomic_load(&w->half);

	return half == 0 ? -1 : (int)((half - 1) % 2);
}

unsigned
memory_other(const struct memory_word *w)
{
	return memory_half(w) == 0;
}

/*
 * A process that is killed has done all its stores up to one instruction, so that the order of the instructions is
 * all that counts, and that is the compiler's.
 */
void
memory_publish(const struct memory *m, struct memory_word *w, unsigned half)
{
	atomic_store_explicit(&w->half, 1 + half, memory_order_release);
	memory_report_change(m, w, sizeof(*w));
}

void
memory_store_number(const struct memory *m, _Atomic uint64_t *to, uint64_t v)
{
	atomic_store(to, v);
	atomic_thread_fence(memory_order_seq_cst);
	memory_report_change(m, to, sizeof(*to));
}
