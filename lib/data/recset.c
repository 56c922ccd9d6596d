/* recset - a .rec with its .idx and .labels beside it: records in, three files that appear at once. */
#include "data/recset.h"
#include "data/idx.h"
#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define AT_ONCE	(1u << 18)	/* bytes written */

struct recset {
	char		*path;
	struct io_new	 rec;		/* of zeros when the records go to standard output */
	int		 fd;
	struct buf	 wait;		/* bytes not yet written */
	struct buf	 index;		/* text of the .idx */
	uint64_t	 bytes, records;
};

static bool
has_files(const struct recset *s)
{
	return s->rec.path != NULL;
}

int
recset_create(struct recset **out, const char *path)
{
	struct recset *s = calloc(1, sizeof(*s));
	int e = 0;

	*out = NULL;
	if (s == NULL || (s->path = strdup(path)) == NULL) {
		free(s);
		return err_nomem();
	}
	if (strcmp(path, "-") == 0) {
		s->fd = STDOUT_FILENO;
	} else if ((e = io_create(&s->rec, path)) < 0) {
		err_within("%s", path);
		free(s->path);
		free(s);
		return e;
	} else {
		s->fd = s->rec.fd;
	}
	*out = s;
	return 0;
}

static int
flush(struct recset *s)
{
	int e = io_write(s->fd, s->wait.p, s->wait.n);

	s->wait.n = 0;
	if (e < 0)
		err_within("%s", has_files(s) ? s->path : "standard output");
	return e;
}

int
recset_put(struct recset *s, uint64_t id, const uint8_t *p, size_t n)
{
	int e;

	if ((has_files(s) && (e = idx_put(&s->index, id, s->bytes)) < 0) || (e = buf_put(&s->wait, p, n)) < 0)
		return e;
	s->bytes += n;
	s->records++;
	return s->wait.n < AT_ONCE ? 0 : flush(s);
}

/* A name a line; what would break the line becomes a question mark. */
static int
put_labels(struct buf *text, const struct names *classes)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < classes->n; i++) {
		size_t at = text->n;

		if ((e = buf_put_fmt(text, "%s\n", classes->p[i])) == 0)
			for (; at + 1 < text->n; at++)
				if (text->p[at] < ' ')
					text->p[at] = '?';
	}
	return e;
}

/* Writes a text under the set's name with another ending. */
static int
put_beside(const struct recset *s, const char *ending, const struct buf *text)
{
	size_t stem = strlen(s->path);
	struct buf name = { 0 };
	struct io_new f;
	int e;

	if (stem > 4 && strcmp(s->path + stem - 4, ".rec") == 0)
		stem -= 4;
	if ((e = buf_put_fmt(&name, "%.*s%s", (int)stem, s->path, ending)) < 0 || (e = buf_terminate(&name)) < 0)
		return e;
	if ((e = io_create(&f, (const char *)name.p)) == 0) {
		if ((e = io_write(f.fd, text->p, text->n)) == 0)
			e = io_commit(&f);
		else
			io_abandon(&f);
	}
	if (e < 0)
		err_within("%s", (const char *)name.p);
	buf_free(&name);
	return e;
}

int
recset_commit(struct recset *s, const struct names *classes)
{
	struct buf labels = { 0 };
	int e = flush(s);

	if (e == 0 && has_files(s)) {
		if ((e = put_labels(&labels, classes)) == 0)
			e = put_beside(s, ".idx", &s->index);
		if (e == 0 && classes->n > 0)
			e = put_beside(s, ".labels", &labels);
		if (e == 0 && (e = io_commit(&s->rec)) < 0)
			err_within("%s", s->path);
	}
	buf_free(&labels);
	recset_abandon(s);
	return e;
}

void
recset_abandon(struct recset *s)
{
	if (s == NULL)
		return;
	if (has_files(s))
		io_abandon(&s->rec);
	else
		flush(s);	/* the records that are finished: only the end of the stream is missing */
	buf_free(&s->wait);
	buf_free(&s->index);
	free(s->path);
	free(s);
}

uint64_t
recset_records(const struct recset *s)
{
	return s->records;
}

uint64_t
recset_bytes(const struct recset *s)
{
	return s->bytes;
}
