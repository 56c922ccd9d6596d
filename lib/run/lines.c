/* lines - whole lines from a descriptor that delivers arbitrary parts of them. */
#include "run/lines.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lines {
	int	 fd;
	size_t	 n, used;	/* bytes in p, and how many of them were returned */
	char	 p[LINES_MOST + 1];
};

struct lines *
lines_open(int fd)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		close(fd);
		return NULL;
	}
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	l->fd = fd;
	return l;
}

void
lines_close(struct lines *l)
{
	if (l == NULL)
		return;
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

int
lines_fd(const struct lines *l)
{
	return l->fd;
}

/* Returns the first n bytes, and adds a newline if the line had to be split. */
static int
yield_lines(struct lines *l, size_t n, const char **text, size_t *len)
{
	if (l->p[n - 1] != '\n')
		l->p[n++] = '\n';
	*text = l->p;
	*len = n;
	l->used = n < l->n ? n : l->n;
	return 1;
}

int
lines_next(struct lines *l, const char **text, size_t *n)
{
	const char *last;
	ssize_t r;

	memmove(l->p, l->p + l->used, l->n - l->used);
	l->n -= l->used;
	l->used = 0;
	if (l->fd < 0)
		return 0;
	r = read(l->fd, l->p + l->n, LINES_MOST - l->n);
	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return err_fail(ERR_AGAIN, "no line yet");
	if (r <= 0) {
		close(l->fd);
		l->fd = -1;
		return l->n > 0 ? yield_lines(l, l->n, text, n) : 0;
	}
	l->n += (size_t)r;
	if ((last = memrchr(l->p, '\n', l->n)) != NULL)
		return yield_lines(l, (size_t)(last + 1 - l->p), text, n);
	if (l->n == LINES_MOST)
		return yield_lines(l, l->n, text, n);
	return err_fail(ERR_AGAIN, "no line yet");
}
