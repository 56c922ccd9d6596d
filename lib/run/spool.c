/* spool - a queue of bytes: the first in memory, the rest in an unnamed file. */
#include "run/spool.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct spool {
	struct buf	 head;		/* the first bytes */
	size_t		 at;		/* bytes of head that were taken */
	int		 fd;		/* the file with the bytes after head; -1: none yet */
	uint64_t	 from, to;	/* the part of the file that is queued */
	struct buf	 tail;		/* the bytes after the file, for which the disk had no room */
	uint64_t	 most;
};

struct spool *
spool_new(void)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (s != NULL) {
		s->fd = -1;
		s->most = SPOOL_MOST;
	}
	return s;
}

void
spool_free(struct spool *s)
{
	if (s == NULL)
		return;
	if (s->fd >= 0)
		close(s->fd);
	buf_free(&s->head);
	buf_free(&s->tail);
	free(s);
}

void
spool_limit(struct spool *s, uint64_t most)
{
	s->most = most;
}

uint64_t
spool_size(const struct spool *s)
{
	return s->head.n - s->at + (s->to - s->from) + s->tail.n;
}

bool
spool_room(const struct spool *s)
{
	return s->tail.n == 0 && spool_size(s) < s->most;
}

/* Appends n bytes to the file.  After an error none of them counts. */
static int
write_spool_file(struct spool *s, const uint8_t *p, size_t n)
{
	ssize_t r;

	if (s->fd < 0)
		ERR_TRY(io_temp(&s->fd));
	for (size_t done = 0; done < n; done += (size_t)r)
		if ((r = pwrite(s->fd, p + done, n - done, (off_t)(s->to + done))) <= 0)
			return err_sys("spool");
	s->to += n;
	return 0;
}

int
spool_put(struct spool *s, const void *p, size_t n)
{
	bool behind = s->to > s->from || s->tail.n > 0;

	if (!behind && s->head.n - s->at + n <= SPOOL_MEMORY)
		return buf_put(&s->head, p, n);
	/* If the disk is full, bytes stay in memory and spool_room returns false. */
	if (s->tail.n > 0 || write_spool_file(s, p, n) < 0)
		return buf_put(&s->tail, p, n);
	return 0;
}

/* Refills the empty head from the file, or else from the tail. */
static int
refill_head(struct spool *s)
{
	uint64_t n = s->to - s->from;

	s->head.n = s->at = 0;
	if (n == 0) {
		struct buf empty = s->head;

		s->head = s->tail;
		s->tail = empty;
		return 0;
	}
	n = n < SPOOL_MEMORY ? n : SPOOL_MEMORY;
	ERR_TRY(buf_room(&s->head, n));
	ERR_TRY(io_pread(s->fd, s->head.p, n, s->from));
	s->head.n = n;
	s->from += n;
	if (s->from == s->to) {
		close(s->fd);	/* frees its disk space */
		s->fd = -1;
		s->from = s->to = 0;
	}
	return 0;
}

int
spool_take(struct spool *s, void *p, size_t n)
{
	uint8_t *to = p;

	assert(n <= spool_size(s));
	while (n > 0) {
		size_t have = s->head.n - s->at, k = have < n ? have : n;

		if (k > 0)
			memcpy(to, s->head.p + s->at, k);
		s->at += k;
		to += k;
		n -= k;
		if (s->at == s->head.n)
			ERR_TRY(refill_head(s));
	}
	return 0;
}
