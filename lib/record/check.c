/* check - verifies a .rec: each record's frame, header, image and checksum, and the files beside it. */
#include "record/check.h"
#include "base/threads.h"
#include "base/err.h"
#include "image/img.h"
#include "record/check_beside.h"
#include "record/imrec.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define GROUP		32u		/* most records of a slot */
#define GROUP_BYTES	(1u << 20)	/* bytes above which a slot gets no more records */

struct item {
	uint64_t	 at, end, id;
	struct buf	 data;		/* data of the record */
	int		 e;		/* 0, or the record's error */
	bool		 damage;
	char		 line[ERR_LINE];
};

struct group {
	uint32_t	 n;
	struct item	 item[GROUP];
};

struct checking {
	const struct check_sink	*sink;
	struct check_found	*found;
	struct recwalk		*walk;
	struct check_sides	*sides;
	struct threads		*pool;
	struct img_codec	**codec;	/* one per thread */
	unsigned		 threads;
	uint32_t		 pixels;
	struct group		*group;
	uint32_t		 groups;
	bool			 ended;		/* the walk has ended */
	int			 e;		/* its error, or 0 */
	char			 line[ERR_LINE];
};

static void
note_item_error(struct item *it, int e)
{
	it->e = e;
	snprintf(it->line, sizeof(it->line), "%s", err_line());
}

static void
decode_check_group(void *ctx, unsigned worker, uint32_t slot, uint32_t part)
{
	struct checking *c = ctx;
	struct item *it = &c->group[slot].item[part];
	struct imrec rec;
	int e;

	if (it->e < 0)
		return;
	if ((e = imrec_decode(&rec, it->data.p, it->data.n)) < 0 ||
	    (e = img_check(c->codec[worker], rec.image, rec.n)) < 0)
		note_item_error(it, e);
}

/* Checks a record without its image.  Returns 0 or ERR_NOMEM. */
static int
check_header(struct checking *c, const struct recwalk_rec *r, struct item *it)
{
	struct imrec rec;
	int e;

	if ((e = imrec_decode(&rec, r->data, r->n)) < 0) {
		note_item_error(it, e);
		check_sides_lost(c->sides, r->at + 1);
		return 0;
	}
	it->id = rec.id;
	if ((e = check_sides_record(c->sides, r, rec.id)) < 0) {
		note_item_error(it, e);
		return 0;
	}
	return buf_put(&it->data, r->data, r->n);
}

static void
end_check(struct checking *c, int e)
{
	c->ended = true;
	c->e = e;
	snprintf(c->line, sizeof(c->line), "%s", err_line());
}

static uint32_t
fill_check_group(void *ctx, uint32_t slot)
{
	struct checking *c = ctx;
	struct group *g = &c->group[slot];
	size_t bytes = 0;

	for (g->n = 0; g->n < GROUP && bytes < GROUP_BYTES && !c->ended;) {
		struct item *it = &g->item[g->n];
		struct recwalk_rec r;
		int e = recwalk_next(c->walk, &r);

		it->at = r.at;
		it->end = r.at + r.bytes;
		it->id = 0;
		it->e = 0;
		it->damage = e == ERR_ITEM;
		it->data.n = 0;
		if (it->damage) {
			note_item_error(it, e);
			check_sides_lost(c->sides, it->end);
		} else if (e <= 0 || (e = check_header(c, &r, it)) < 0) {
			end_check(c, e);
			break;
		}
		bytes += it->data.n;
		g->n++;
	}
	return g->n;
}

static int
report_check_group(void *ctx, uint32_t slot)
{
	struct checking *c = ctx;
	struct group *g = &c->group[slot];
	uint64_t size = recwalk_size(c->walk);
	int e = 0;

	for (uint32_t i = 0; e == 0 && i < g->n; i++) {
		struct item *it = &g->item[i];

		if (it->e == ERR_NOMEM)
			return err_nomem();
		c->found->records += !it->damage;
		if (it->e < 0) {
			c->found->bad++;
			err_note(0, "%s", it->line);
			if (!it->damage)
				err_within("%s: record at %llu, id %llu", recwalk_path(c->walk),
				    (unsigned long long)it->at, (unsigned long long)it->id);
			e = c->sink->bad(c->sink->ctx, it->e == ERR_PIXELS ? it->e : ERR_ITEM);
		}
		if (e == 0)
			e = c->sink->step(c->sink->ctx, c->found->records, it->end,
			    size > 0 ? (double)it->end / (double)size : -1);
	}
	return e;
}

static int
run_check(struct checking *c)
{
	int e = threads_run(c->pool, fill_check_group, report_check_group);

	if (e == 0 && c->e < 0)
		return err_fail(c->e, "%s", c->line);
	return e == 0 ? check_sides_end(c->sides, c->sink, c->found) : e;
}

static int
start_checkers(struct checking *c)
{
	c->codec = calloc(c->threads, sizeof(struct img_codec *));
	c->group = calloc(c->groups, sizeof(*c->group));
	if (c->codec == NULL || c->group == NULL)
		return err_nomem();
	for (unsigned i = 0; i < c->threads; i++)
		ERR_TRY(img_codec_new(c->pixels, &c->codec[i]));
	return threads_new(c->threads, c->groups, decode_check_group, c, &c->pool);
}

static void
stop_checkers(struct checking *c)
{
	threads_free(c->pool);
	for (unsigned i = 0; c->codec != NULL && i < c->threads; i++)
		img_codec_free(c->codec[i]);
	for (uint32_t i = 0; c->group != NULL && i < c->groups * GROUP; i++)
		buf_free(&c->group[i / GROUP].item[i % GROUP].data);
	free(c->codec);
	free(c->group);
	check_sides_close(c->sides);
	recwalk_close(c->walk);
}

int
check_run(const char *path, unsigned threads, uint32_t pixels, const struct check_sink *sink,
    struct check_found *found)
{
	struct checking c = { .sink = sink, .found = found, .pixels = pixels,
		.threads = threads > 0 ? threads : threads_count() };
	int e;

	*found = (struct check_found){ 0 };
	c.groups = 2 * c.threads + 1;
	if ((e = recwalk_open(path, 0, &c.walk)) == 0 && (e = check_sides_open(path, &c.sides)) == 0 &&
	    (e = start_checkers(&c)) == 0)
		e = run_check(&c);
	stop_checkers(&c);
	return e;
}
