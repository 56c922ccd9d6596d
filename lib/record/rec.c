/* rec - the record stream of a .rec file, one record at a time. */
#include "record/rec.h"
#include "base/clk.h"
#include "base/err.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define WINDOW	65536u		/* bytes per read */
#define STEP	(1u << 20)	/* memory grows by this much with the bytes received */

struct rec_reader {
	int		fd, wake;	/* wake: -1 if there is none */
	_Atomic uint64_t since_ns;	/* time since which a thread has waited for bytes; 0: none waits */
	size_t		max;
	uint64_t	at;		/* offset of the current record */
	uint64_t	pos;		/* bytes consumed */
	struct buf	data;
	size_t		next, end;	/* unconsumed bytes of the window */
	uint8_t		window[WINDOW];
};

static int
ends_inside(uint64_t at)
{
	return err_fail(ERR_SHORT, "record at %llu: the stream ends inside it", (unsigned long long)at);
}

static bool
is_text(const uint8_t *p, size_t n)
{
	size_t i = 0;

	while (i < n && (p[i] >= ' ' || (p[i] >= '\t' && p[i] <= '\r')) && p[i] != 0x7f)
		i++;
	return i == n;
}

/* What a file without records may hold instead, by its first 8 bytes, and what to do with it. */
static const char *
guess_content(const uint8_t *p)
{
	static const char image[] = " but an image; im2rec packs images";
	static const char archive[] = " but an archive; im2rec packs its images";
	static const char weights[] = " but weights; name the .rec file";
	static const struct {
		size_t		 n;
		const char	*head, *text;
	} known[] = {
		{ 3, "\xff\xd8\xff", image }, { 4, "\x89PNG", image }, { 4, "GIF8", image }, { 4, "RIFF", image },
		{ 4, "II*\0", image }, { 4, "MM\0*", image },
		{ 4, "PK\x03\x04", " but a zip archive, of images for im2rec to pack or of weights" },
		{ 8, "__labels", archive },	/* a tar of im2rec */
		{ 2, "\x1f\x8b", archive }, { 6, "\xfd" "7zXZ", archive },
		{ 4, "\x28\xb5\x2f\xfd", archive }, { 3, "BZh", archive },
		{ 3, "\0\0\x08", " but an MNIST file; im2rec packs the folder with its four files" },
		{ 4, "\x89HDF", weights },
		{ 8, "\x12\x01\0\0\0\0\0", weights },	/* MXNet's .params */
	};
	size_t digits = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (memcmp(p, known[i].head, known[i].n) == 0)
			return known[i].text;
	while (digits < 7 && p[digits] >= '0' && p[digits] <= '9')
		digits++;
	if (digits > 0 && p[digits] == '\t')
		return " but an index or a list; name the .rec file";
	if ((p[0] == 'P' && p[1] >= '1' && p[1] <= '6' && is_text(p + 2, 1) && p[2] <= ' ') ||
	    (p[0] == 'B' && p[1] == 'M' && p[6] == 0 && p[7] == 0))
		return image;	/* PNM, BMP */
	if (is_text(p, REC_HEAD))
		return " but text; name the .rec file";
	/* safetensors begin with the length of their table. */
	return le_get32(p) > 0 && le_get32(p + 4) == 0 ? weights : "; im2rec packs images into a .rec file";
}

int
rec_head(const uint8_t *p, uint64_t at, bool inside, enum rec_part *part, uint32_t *n)
{
	uint32_t lrec = le_get32(p + 4);

	if (le_get32(p) != REC_MAGIC)
		return err_fail(ERR_FORMAT, "record at %llu: no magic word, so this is not a record%s",
		    (unsigned long long)at, at == 0 ? guess_content(p) : "");
	if (lrec >> 29 > REC_LAST)
		return err_fail(ERR_FORMAT, "record at %llu: part %u does not exist",
		    (unsigned long long)at, lrec >> 29);
	*part = (enum rec_part)(lrec >> 29);
	if (inside != (*part == REC_MIDDLE || *part == REC_LAST))
		return err_fail(ERR_FORMAT, "record at %llu: part %d is out of order", (unsigned long long)at,
		    (int)*part);
	*n = lrec & REC_LONGEST;
	return 0;
}

int
rec_join(uint8_t *p, size_t n, uint64_t at, const uint8_t **data, size_t *len, size_t *used)
{
	uint8_t *end = p + REC_HEAD;	/* end of the joined data */
	size_t pos = 0;
	bool inside = false;

	for (;;) {
		enum rec_part part;
		uint32_t more;
		int e;

		if (n - pos < REC_HEAD)
			return ends_inside(at);
		if ((e = rec_head(p + pos, at, inside, &part, &more)) < 0)
			return e;
		if (n - pos < rec_extent(more))
			return ends_inside(at);
		if (inside) {	/* overwrites heads that were already read */
			le_put32(end, REC_MAGIC);
			end += 4;
		}
		memmove(end, p + pos + REC_HEAD, more);
		end += more;
		pos += rec_extent(more);
		if (part == REC_WHOLE || part == REC_LAST)
			break;
		inside = true;
	}
	*data = p + REC_HEAD;
	*len = (size_t)(end - *data);
	*used = pos;
	return 0;
}

int
rec_open(int fd, int wake, size_t max, struct rec_reader **r)
{
	if ((*r = malloc(sizeof(**r))) == NULL)
		return err_nomem();
	(*r)->fd = fd;
	(*r)->wake = wake;
	(*r)->max = max;
	(*r)->at = (*r)->pos = 0;
	atomic_init(&(*r)->since_ns, 0);
	(*r)->data = (struct buf){ 0 };
	(*r)->next = (*r)->end = 0;
	return 0;
}

void
rec_close(struct rec_reader *r)
{
	if (r == NULL)
		return;
	buf_free(&r->data);
	free(r);
}

uint64_t
rec_at(const struct rec_reader *r)
{
	return r->at;
}

double
rec_waited(const struct rec_reader *r)
{
	uint64_t since = r->since_ns, now = clk_ns();

	return since == 0 || now <= since ? 0 : (double)(now - since) * 1e-9;
}

/* Waits for bytes and reads them into the window, which stays empty at the end of the stream. */
static int
fill_window(struct rec_reader *r)
{
	struct pollfd p[2] = { { .fd = r->fd, .events = POLLIN }, { .fd = r->wake, .events = POLLIN } };
	ssize_t n;

	r->next = r->end = 0;
	for (;;) {
		if (r->wake >= 0) {
			int ready;

			r->since_ns = clk_ns();
			ready = poll(p, 2, -1);
			r->since_ns = 0;
			if (ready < 0 && errno != EINTR)
				return err_sys("poll");
			if (ready < 0)
				continue;
		}
		if (p[1].revents != 0)
			return err_fail(ERR_STOP, "stopped");
		if ((n = read(r->fd, r->window, WINDOW)) >= 0)
			break;
		if (errno != EINTR && !(errno == EAGAIN && r->wake >= 0))
			return err_sys("read");
	}
	r->end = (size_t)n;
	return 0;
}

/* Reads n bytes of the stream; *got is less only at its end. */
static int
read_stream(struct rec_reader *r, uint8_t *p, size_t n, size_t *got)
{
	for (*got = 0; *got < n;) {
		size_t k;

		if (r->next == r->end)
			ERR_TRY(fill_window(r));
		if ((k = r->end - r->next) == 0)
			break;
		k = k < n - *got ? k : n - *got;
		memcpy(p + *got, r->window + r->next, k);
		r->next += k;
		*got += k;
	}
	r->pos += *got;
	return 0;
}

/* Appends a part's n bytes of data to the record, and skips the padding. */
static int
read_part(struct rec_reader *r, uint32_t n)
{
	uint64_t left = rec_extent(n) - REC_HEAD;
	size_t whole = r->data.n + n, got;

	if (n > r->max || r->data.n > r->max - n)
		return err_fail(ERR_LIMIT, "record at %llu: longer than %zu bytes",
		    (unsigned long long)r->at, r->max);
	for (; left > 0; left -= got) {
		size_t step = left < STEP ? (size_t)left : STEP;

		ERR_TRY(buf_room(&r->data, step));
		ERR_TRY(read_stream(r, r->data.p + r->data.n, step, &got));
		if (got < step)
			return ends_inside(r->at);
		r->data.n += got;
	}
	r->data.n = whole;
	return 0;
}

int
rec_next(struct rec_reader *r, const uint8_t **data, size_t *n)
{
	bool inside = false;	/* a first part was read, and not its last */
	uint8_t head[REC_HEAD];
	enum rec_part part;
	uint32_t more;
	size_t got;
	int e;

	r->at = r->pos;
	r->data.n = 0;
	if ((e = buf_room(&r->data, 1)) < 0)	/* so that *data is not NULL for an empty record */
		return e;
	for (;;) {
		ERR_TRY(read_stream(r, head, sizeof(head), &got));
		if (got == 0 && !inside)
			return 0;
		if (got < sizeof(head))
			return ends_inside(r->at);
		ERR_TRY(rec_head(head, r->at, inside, &part, &more));
		ERR_TRY(read_part(r, more));
		if (part == REC_WHOLE || part == REC_LAST)
			break;
		ERR_TRY(buf_room(&r->data, 4));
		le_put32(r->data.p + r->data.n, REC_MAGIC);
		r->data.n += 4;
		inside = true;
	}
	*data = r->data.p;
	*n = r->data.n;
	return 1;
}

static int
put_part(struct buf *out, enum rec_part part, const uint8_t *p, size_t n)
{
	static const uint8_t zeros[4];
	uint8_t head[REC_HEAD];

	le_put32(head, REC_MAGIC);
	le_put32(head + 4, (uint32_t)part << 29 | (uint32_t)n);
	ERR_TRY(buf_put(out, head, sizeof(head)));
	ERR_TRY(buf_put(out, p, n));
	return buf_put(out, zeros, (size_t)(rec_extent((uint32_t)n) - REC_HEAD - n));
}

int
rec_frame(struct buf *out, const void *data, size_t n)
{
	const uint8_t *p = data;
	size_t begin = 0;

	if (n > REC_LONGEST)
		return err_fail(ERR_LIMIT, "%zu bytes are too many for a record", n);
	ERR_TRY(buf_room(out, (size_t)rec_extent((uint32_t)n)));
	for (size_t i = 0; i + 4 <= n; i += 4) {
		if (le_get32(p + i) != REC_MAGIC)
			continue;
		ERR_TRY(put_part(out, begin == 0 ? REC_FIRST : REC_MIDDLE, p + begin, i - begin));
		begin = i + 4;
	}
	return put_part(out, begin == 0 ? REC_WHOLE : REC_LAST, n > 0 ? p + begin : p, n - begin);
}
