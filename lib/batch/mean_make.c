/* mean_make - computes the mean image of records. */
#include "base/threads.h"
#include "base/err.h"
#include "record/recimg.h"
#include "batch/mean.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS	8u
#define SPAN	64u		/* records of a slot */
#define FULL	(1u << 24)	/* most images whose bytes fit a sum of 32 bits */

/* The sums of one thread: integers, so that the order of additions does not matter. */
struct lane {
	struct recimg	*decoder;
	struct aug_room	*room;
	uint32_t	*sum;		/* [h,w,c] sums of the images since the last carry */
	uint64_t	*total;		/* [h,w,c] sums of the images before it */
	uint32_t	 n;		/* images in sum */
	uint64_t	 images;
	int		 e;		/* the first error of reading records */
	char		 line[ERR_LINE];	/* its message */
};

struct making {
	const struct recs *recs;
	struct threads	*pool;
	struct aug	 aug;
	size_t		 size;		/* elements of a sample */
	struct lane	*lane;
	unsigned	 lanes;
	uint64_t	 first[SLOTS];	/* first record of each slot */
	uint64_t	 next;		/* first record that no slot has */
	struct lockfile	*lock;		/* touched as a sign of life; or NULL */
};

static void
carry_sums(const struct making *m, struct lane *l)
{
	for (size_t i = 0; i < m->size; i++) {
		l->total[i] += l->sum[i];
		l->sum[i] = 0;
	}
	l->images += l->n;
	l->n = 0;
}

static void
add_row(uint32_t *restrict sum, const uint8_t *restrict p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum[i] += p[i];
}

static void
add_image(const struct making *m, const struct planes_view *v, struct lane *l)
{
	size_t row = (size_t)m->aug.w * m->aug.c;

	for (uint32_t y = 0; y < m->aug.h; y++)
		add_row(l->sum + y * row, v->p + y * v->stride, row);
	if (++l->n == FULL)
		carry_sums(m, l);
}

static void
add_record(void *ctx, unsigned worker, uint32_t slot, uint32_t part)
{
	struct making *m = ctx;
	struct lane *l = &m->lane[worker];
	struct aug_plan plan;
	struct planes_view v;
	struct imrec rec;
	struct img pic;
	int e = recimg_get(l->decoder, m->first[slot] + part, &rec, &pic);

	if (e == 0 && (e = aug_choose(&m->aug, 0, 0, &pic, &plan)) == 0 &&
	    (e = aug_pixels(&m->aug, &plan, l->room, &pic, &v)) == 0) {
		add_image(m, &v, l);
	} else if (e != ERR_ITEM && l->e == 0) {
		l->e = e;
		snprintf(l->line, sizeof(l->line), "%s", err_line());
	}
}

static int
open_lane(const struct making *m, struct lane *l)
{
	l->sum = calloc(m->size, sizeof(*l->sum));
	l->total = calloc(m->size, sizeof(*l->total));
	if (l->sum == NULL || l->total == NULL)
		return err_nomem();
	ERR_TRY(aug_room_new(&l->room));
	return recimg_new(m->recs, m->aug.c, &l->decoder);
}

static int
start_lanes(struct making *m, unsigned threads)
{
	int e;

	if ((m->lane = calloc(threads, sizeof(*m->lane))) == NULL)
		return err_nomem();
	for (m->lanes = 0; m->lanes < threads; m->lanes++)
		if ((e = open_lane(m, &m->lane[m->lanes])) < 0) {
			m->lanes++;
			return e;
		}
	return threads_new(threads, SLOTS, add_record, m, &m->pool);
}

static void
stop_lanes(struct making *m)
{
	threads_free(m->pool);
	for (unsigned i = 0; i < m->lanes; i++) {
		recimg_free(m->lane[i].decoder);
		aug_room_free(m->lane[i].room);
		free(m->lane[i].sum);
		free(m->lane[i].total);
	}
	free(m->lane);
}

static uint32_t
fill_span(void *ctx, uint32_t slot)
{
	struct making *m = ctx;
	uint64_t left = m->recs->count - m->next;
	uint32_t n = left < SPAN ? (uint32_t)left : SPAN;

	m->first[slot] = m->next;
	for (uint32_t i = 0; m->recs->want != NULL && i < n; i++)
		m->recs->want(m->recs, m->next + i);
	m->next += n;
	return n;
}

static int
touch_mean_lock(void *ctx, uint32_t slot)
{
	struct making *m = ctx;

	(void)slot;
	if (m->lock != NULL)
		lockfile_touch(m->lock);
	return 0;
}

/* Adds up the lanes and converts interleaved sums to the planes of the mean. */
static int
join_lanes(struct making *m, float *mean)
{
	size_t area = (size_t)m->aug.h * m->aug.w;
	uint64_t images = 0;

	for (unsigned i = 0; i < m->lanes; i++) {
		if (m->lane[i].e < 0)
			return err_fail(m->lane[i].e, "%s", m->lane[i].line);
		carry_sums(m, &m->lane[i]);
		images += m->lane[i].images;
	}
	if (images == 0)
		return err_fail(ERR_FORMAT, "%s: no image of at least %ux%u pixels decodes",
		    m->recs->path, m->aug.w, m->aug.h);
	for (size_t at = 0; at < m->size; at++) {
		uint64_t sum = 0;

		for (unsigned i = 0; i < m->lanes; i++)
			sum += m->lane[i].total[at];
		mean[at % m->aug.c * area + at / m->aug.c] = (float)((double)sum / (double)images);
	}
	return 0;
}

int
mean_make(const struct recs *r, const struct aug *a, unsigned threads, struct lockfile *o, float *mean)
{
	struct making m = { .recs = r, .aug = aug_plain(a), .size = (size_t)a->c * a->h * a->w, .lock = o };
	int e;

	assert((a->c == 1 || a->c == 3) && a->h > 0 && a->w > 0);
	if ((e = start_lanes(&m, threads > 0 ? threads : threads_count())) == 0) {
		threads_run(m.pool, fill_span, touch_mean_lock);
		e = join_lanes(&m, mean);
	}
	stop_lanes(&m);
	return e;
}

int
mean_get(const char *path, const struct recs *r, const struct aug *a, unsigned threads, lockfile_waiting *waiting,
    void *arg, float *mean)
{
	struct lockfile *o;
	int e;

	if ((e = lockfile_acquire(path, 0, waiting, arg, &o)) == ERR_SYS) {
		/* The message names the lock, which nobody asked for. */
		const char *why = strrchr(err_line(), ':');

		return err_fail(e, "%s: does not exist, and cannot be made%s", path, why != NULL ? why : "");
	}
	if (e < 0)
		return e;
	if (e > 0)
		return mean_load(path, a->c, a->h, a->w, mean);
	if ((e = mean_make(r, a, threads, o, mean)) == 0 && (e = mean_save(path, mean, a->c, a->h, a->w)) == 0)
		e = 1;
	lockfile_release(o);
	return e;
}
