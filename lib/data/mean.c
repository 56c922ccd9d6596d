/* mean - the mean image: what is subtracted from every sample. */
#include "data/mean.h"
#include "data/aug.h"
#include "data/crew.h"
#include "data/recimg.h"
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define LIST_MAGIC	0x112u		/* of an NDArray list */
#define V1_MAGIC	0xf993fac8u	/* of an array; v0 has none and begins with ndim */
#define V2_MAGIC	0xf993fac9u
#define NAME		"mean_img"
#define CPU		1u		/* dev_type */
#define SLOTS		8u
#define SPAN		64u		/* records of a slot */

/* What is left of the file's bytes. */
struct in {
	const uint8_t	*p;
	size_t		 n;
	bool		 ended;		/* more was asked for */
};

static uint64_t
word(struct in *in, size_t bytes)
{
	uint64_t v = 0;

	if (in->n < bytes) {
		in->ended = true;
		return 0;
	}
	v = bytes == 8 ? le_get64(in->p) : le_get32(in->p);
	in->p += bytes;
	in->n -= bytes;
	return v;
}

/* The head of one array, whose shape must be dims. */
static int
array_head(struct in *in, const uint64_t dims[3])
{
	uint64_t ndim = word(in, 4);
	size_t wide = 4;	/* bytes of a dimension */
	bool same = true;

	if (ndim == V1_MAGIC || ndim == V2_MAGIC) {
		wide = 8;
		if (ndim == V2_MAGIC && word(in, 4) != 0)
			return err_fail(ERR_FORMAT, "the array is sparse");
		ndim = word(in, 4);
	}
	for (int i = 0; i < 3 && ndim == 3; i++)
		same &= word(in, wide) == dims[i];
	word(in, 4);	/* the device where it was ... */
	word(in, 4);	/* ... and that device's number */
	if (in->ended)
		return 0;
	if (ndim != 3 || !same)
		return err_fail(ERR_FORMAT, "its shape is not (%u,%u,%u)", (unsigned)dims[0],
		    (unsigned)dims[1], (unsigned)dims[2]);
	if (word(in, 4) != 0)
		return err_fail(ERR_FORMAT, "its numbers are not f32");
	return 0;
}

static int
parse(struct in *in, float *mean, const uint64_t dims[3])
{
	size_t n = (size_t)(dims[0] * dims[1] * dims[2]);
	const uint8_t *data;
	uint64_t names;
	int e;

	if (word(in, 8) != LIST_MAGIC && !in->ended)
		return err_fail(ERR_FORMAT, "not an MXNet list of arrays");
	word(in, 8);	/* reserved */
	if (word(in, 8) != 1 && !in->ended)
		return err_fail(ERR_FORMAT, "not one array but more or none");
	if ((e = array_head(in, dims)) < 0)
		return e;
	data = in->p;
	if (in->ended || in->n / 4 < n)
		return err_fail(ERR_SHORT, "ends too early");
	in->p += n * 4;
	in->n -= n * 4;
	names = word(in, 8);
	if (names == 1 && word(in, 8) != sizeof(NAME) - 1)
		names = 2;
	if (in->ended || (names == 1 && in->n < sizeof(NAME) - 1))
		return err_fail(ERR_SHORT, "ends too early");
	if (names > 1 || (names == 1 && memcmp(in->p, NAME, sizeof(NAME) - 1) != 0))
		return err_fail(ERR_FORMAT, "its array is not named " NAME);
	for (size_t i = 0; i < n; i++)
		mean[i] = le_getf32(data + i * 4);
	return 0;
}

int
mean_load(const char *path, float *mean, uint32_t c, uint32_t h, uint32_t w)
{
	const uint64_t dims[3] = { c, h, w };
	struct buf b = { 0 };
	size_t n;
	int e;

	if ((e = num_mul((size_t)c * h, w, &n)) == 0 && (e = num_mul(n, 4, &n)) == 0 &&
	    (e = io_slurp(path, n + 1024, &b)) == 0)
		e = parse(&(struct in){ b.p, b.n, false }, mean, dims);
	if (e < 0)
		err_within("%s", path);
	buf_free(&b);
	return e;
}

int
mean_save(const char *path, const float *mean, uint32_t c, uint32_t h, uint32_t w)
{
	const uint32_t head[] = { LIST_MAGIC, 0, 0, 0, 1, 0, 3, c, h, w, CPU, 0, 0 };
	const uint32_t tail[] = { 1, 0, sizeof(NAME) - 1, 0 };
	size_t n = (size_t)c * h * w, heads = sizeof(head) / sizeof(*head), tails = sizeof(tail) / sizeof(*tail);
	struct buf b = { 0 };
	struct io_new f;
	int e;

	if ((e = buf_room(&b, (heads + n + tails) * 4 + sizeof(NAME))) < 0)
		return e;
	for (size_t i = 0; i < heads; i++, b.n += 4)
		le_put32(b.p + b.n, head[i]);
	for (size_t i = 0; i < n; i++, b.n += 4)
		le_putf32(b.p + b.n, mean[i]);
	for (size_t i = 0; i < tails; i++, b.n += 4)
		le_put32(b.p + b.n, tail[i]);
	if ((e = buf_put(&b, NAME, sizeof(NAME) - 1)) == 0 && (e = io_create(&f, path)) == 0) {
		if ((e = io_write(f.fd, b.p, b.n)) == 0)
			e = io_commit(&f);
		else
			io_abandon(&f);
	}
	if (e < 0)
		err_within("%s", path);
	buf_free(&b);
	return e;
}

/* What one thread has added up: whole numbers, so that the order is all one. */
struct lane {
	struct recimg	*decoder;
	struct aug_room	*room;
	uint64_t	*sum;		/* [c,h,w] */
	uint64_t	 n;		/* pictures in it */
	int		 e;		/* the file cannot be read ... */
	char		 line[512];	/* ... and why */
};

struct making {
	struct recs	*recs;
	struct crew	*crew;
	struct aug	 aug;
	struct lane	*lane;
	unsigned	 lanes;
	uint64_t	 first[SLOTS];	/* record of a slot */
};

static void
add_picture(const struct aug *a, const struct aug_view *v, uint64_t *sum)
{
	for (uint32_t c = 0; c < a->c; c++)
		for (uint32_t y = 0; y < a->h; y++) {
			const uint8_t *p = v->p + y * v->stride + c;

			for (uint32_t x = 0; x < a->w; x++)
				*sum++ += p[(size_t)x * a->c];
		}
}

static void
add_record(void *ctx, unsigned worker, uint32_t slot, uint32_t part)
{
	struct making *m = ctx;
	struct lane *l = &m->lane[worker];
	struct aug_plan plan;
	struct aug_view v;
	struct imrec rec;
	struct img pic;
	int e = recimg_get(l->decoder, m->first[slot] + part, &rec, &pic);

	if (e == 0 && aug_choose(&m->aug, 0, 0, &pic, &plan) == 0 && aug_pixels(&m->aug, &plan, l->room, &pic, &v) == 0) {
		add_picture(&m->aug, &v, l->sum);
		l->n++;
	} else if (e < 0 && e != ERR_ITEM && l->e == 0) {
		l->e = e;
		snprintf(l->line, sizeof(l->line), "%s", err_line());
	}
}

static int
hire(struct making *m, unsigned threads)
{
	size_t n = (size_t)m->aug.c * m->aug.h * m->aug.w;
	int e;

	if ((m->lane = calloc(threads, sizeof(*m->lane))) == NULL)
		return err_nomem();
	for (m->lanes = 0; m->lanes < threads; m->lanes++) {
		struct lane *l = &m->lane[m->lanes];

		if ((l->sum = calloc(n, sizeof(*l->sum))) == NULL)
			return err_nomem();
		if ((e = aug_room_new(&l->room)) < 0 || (e = recimg_new(&l->decoder, m->recs, m->aug.c)) < 0) {
			aug_room_free(l->room);
			free(l->sum);
			return e;
		}
	}
	return crew_new(&m->crew, threads, SLOTS, add_record, m);
}

static void
dismiss(struct making *m)
{
	crew_free(m->crew);
	for (unsigned i = 0; i < m->lanes; i++) {
		recimg_free(m->lane[i].decoder);
		aug_room_free(m->lane[i].room);
		free(m->lane[i].sum);
	}
	free(m->lane);
	recs_close(m->recs);
}

static void
add_all(struct making *m)
{
	uint64_t count = m->recs->count, next = 0;

	do {
		int64_t slot;

		for (; next < count && (slot = crew_free_slot(m->crew)) >= 0; next += SPAN) {
			m->first[slot] = next;
			crew_give(m->crew, count - next < SPAN ? (uint32_t)(count - next) : SPAN);
		}
	} while (crew_take(m->crew) >= 0);
}

/* Adds the lanes up. */
static int
join(struct making *m, float *mean)
{
	size_t n = (size_t)m->aug.c * m->aug.h * m->aug.w;
	uint64_t pictures = 0;

	for (unsigned i = 0; i < m->lanes; i++) {
		if (m->lane[i].e < 0)
			return err_fail(m->lane[i].e, "%s", m->lane[i].line);
		pictures += m->lane[i].n;
	}
	if (pictures == 0)
		return err_fail(ERR_FORMAT, "%s: no picture of %ux%u pixels or more decodes",
		    m->recs->path, m->aug.w, m->aug.h);
	for (size_t at = 0; at < n; at++) {
		uint64_t sum = 0;

		for (unsigned i = 0; i < m->lanes; i++)
			sum += m->lane[i].sum[at];
		mean[at] = (float)((double)sum / (double)pictures);
	}
	return 0;
}

int
mean_make(const char *rec, unsigned threads, float *mean, uint32_t c, uint32_t h, uint32_t w)
{
	struct making m = { .aug = { .c = c, .h = h, .w = w } };
	int e;

	assert((c == 1 || c == 3) && h > 0 && w > 0);
	if ((e = recs_open(&m.recs, rec)) == 0 &&
	    (e = hire(&m, threads > 0 ? threads : crew_threads())) == 0) {
		add_all(&m);
		e = join(&m, mean);
	}
	dismiss(&m);
	return e;
}
