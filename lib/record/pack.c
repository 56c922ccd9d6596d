/* pack - packs a source's items into records, in the source's order. */
#include "record/pack.h"
#include "base/threads.h"
#include "base/err.h"
#include "record/imrec.h"
#include "record/rec.h"
#include "source/suffix.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define GROUP		32u		/* most items of a slot */
#define GROUP_BYTES	(1u << 21)	/* expected bytes above which a slot gets no more items */
#define KEEP		(1u << 16)	/* bytes of a buffer that are kept for the next item */

struct item {
	uint64_t	 id;
	struct buf	 name;
	struct stamp	 stamp;
	struct buf	 rec;		/* the image record: header, labels and the source's image */
	size_t		 head;		/* offset of the image: encoded, or pixels [h,w,c] if c > 0 */
	uint32_t	 c, h, w;
	bool		 later;		/* a thread reads the image */
	size_t		 source_bytes;		/* bytes of the source's image */
	struct buf	 framed;
	int		 e;
	char		 line[ERR_LINE];
};

struct group {
	uint32_t	 n;
	struct item	 item[GROUP];
};

struct packing {
	struct source		*source;
	const struct pack_sink	*sink;
	struct threads		*pool;
	const struct pack_opt	*opt;
	unsigned		 threads;
	uint32_t		 groups;
	struct transcode		**conv;		/* one a thread */
	struct group		*group;
	size_t			 likely;	/* expected bytes of an image that is not yet read */
	bool			 ended;		/* the source has ended */
	int			 e;		/* its error, or 0 */
	char			 line[ERR_LINE];
};

/* Transcodes the image in an item's record. */
static int
convert_item(struct transcode *conv, struct item *it)
{
	const uint8_t *out, *image = it->rec.p + it->head;
	struct img raw = { .p = image, .c = it->c, .h = it->h, .w = it->w };
	size_t n;
	int e;

	it->source_bytes = it->rec.n - it->head;
	e = it->c > 0 ? transcode_raw(conv, &raw, &out, &n) :
	    transcode_encoded(conv, image, it->source_bytes, &out, &n);
	if (e < 0 || out == image)
		return e;
	it->rec.n = it->head;
	return buf_put(&it->rec, out, n);
}

/* Names the format by the suffix if the bytes do not tell it.  Returns the error. */
static int
name_format(const struct item *it, int e)
{
	const char *suffix = suffix_not_read((const char *)it->name.p);

	if (suffix != NULL && img_suffix(it->rec.p + it->head, it->rec.n - it->head) == NULL)
		return err_fail(e, "%s, which is not read; convert it to PNG or JPEG", suffix);
	return e;
}

/* Makes the record of an item, or notes why the item is left out. */
static void
make_record(void *ctx, unsigned worker, uint32_t slot, uint32_t part)
{
	struct packing *p = ctx;
	struct item *it = &p->group[slot].item[part];

	if (it->e < 0)
		return;
	if (it->later)
		it->e = source_read(p->source, (const char *)it->name.p, &it->rec, &it->stamp);
	if (it->e == 0)
		it->e = convert_item(p->conv[worker], it);
	if (it->e == ERR_NOTSUP)
		it->e = name_format(it, it->e);
	if (it->e == 0)
		it->e = rec_frame(&it->framed, it->rec.p, it->rec.n);
	buf_trim(&it->rec, KEEP);
	if (it->e < 0)
		snprintf(it->line, sizeof(it->line), "%s", err_line());
}

/* Copies the source's item.  Returns 0 or ERR_NOMEM. */
static int
copy_item(struct item *it, const struct source_item *from, int e)
{
	it->id = from->id;
	it->e = e < 0 ? e : 0;
	it->c = from->c;
	it->h = from->h;
	it->w = from->w;
	it->later = from->later;
	it->name.n = it->rec.n = it->framed.n = it->source_bytes = 0;
	if (e < 0)
		snprintf(it->line, sizeof(it->line), "%s", err_line());
	if (buf_put(&it->name, from->name, strlen(from->name)) < 0 || buf_terminate(&it->name) < 0)
		return ERR_NOMEM;
	if (e < 0 || !it->later)	/* a bad item's image is not read */
		it->stamp = stamp_of(from->name);
	if (e < 0)
		return 0;
	if ((e = imrec_encode(&it->rec, from->id, from->label, from->labels, NULL, 0)) < 0)
		return e;
	it->head = it->rec.n;
	return it->later ? 0 : buf_put(&it->rec, from->data, from->n);
}

static void
end_packing(struct packing *p, int e)
{
	p->ended = true;
	p->e = e;
	snprintf(p->line, sizeof(p->line), "%s", err_line());
}

/* Fills a group from the source. */
static uint32_t
fill_pack_group(void *ctx, uint32_t slot)
{
	struct packing *p = ctx;
	struct group *g = &p->group[slot];
	size_t bytes = 0;

	for (g->n = 0; g->n < GROUP && bytes < GROUP_BYTES && !p->ended;) {
		struct source_item from;
		int e = source_next(p->source, &from);

		if (e <= 0 && !source_is_item_error(e))
			end_packing(p, e);
		else if ((e = copy_item(&g->item[g->n], &from, e)) < 0)
			end_packing(p, e);
		else {
			bytes += g->item[g->n].later ? p->likely : g->item[g->n].rec.n;
			g->n++;
		}
	}
	return g->n;
}

/* Passes a record, or the reason why there is none, to the sink. */
static int
hand_to_sink(const struct pack_sink *sink, struct item *it)
{
	const struct pack_item item = { (const char *)it->name.p, it->id, it->stamp };
	int e = 0;

	if (it->e == ERR_NOMEM)
		return err_nomem();
	if (it->e < 0) {
		err_note(0, "%s", it->line);
		e = sink->bad(sink->ctx, &item, it->e);
	} else {
		e = sink->record(sink->ctx, &item, it->framed.p, it->framed.n);
	}
	buf_trim(&it->framed, KEEP);
	return e;
}

static int
write_pack_group(void *ctx, uint32_t slot)
{
	struct packing *p = ctx;
	struct group *g = &p->group[slot];
	size_t bytes = 0;
	int e = 0;

	for (uint32_t i = 0; i < g->n && e == 0; i++) {
		bytes += g->item[i].source_bytes;
		e = hand_to_sink(p->sink, &g->item[i]);
	}
	if (bytes > 0)
		p->likely = bytes / g->n;
	return e;
}

static int
start_packers(struct packing *p)
{
	p->conv = calloc(p->threads, sizeof(*p->conv));
	p->group = calloc(p->groups, sizeof(*p->group));
	if (p->conv == NULL || p->group == NULL)
		return err_nomem();
	for (unsigned i = 0; i < p->threads; i++)
		ERR_TRY(transcode_new(&p->opt->conv, &p->conv[i]));
	return threads_new(p->threads, p->groups, make_record, p, &p->pool);
}

static void
stop_packers(struct packing *p)
{
	threads_free(p->pool);
	for (unsigned i = 0; p->conv != NULL && i < p->threads; i++)
		transcode_free(p->conv[i]);
	for (uint32_t i = 0; p->group != NULL && i < p->groups * GROUP; i++) {
		struct item *it = &p->group[i / GROUP].item[i % GROUP];

		buf_free(&it->name);
		buf_free(&it->rec);
		buf_free(&it->framed);
	}
	free(p->conv);
	free(p->group);
}

int
pack_run(struct source *s, const struct pack_opt *opt, const struct pack_sink *sink)
{
	/* Until the first group is written, images may be large: each is a group of its own. */
	struct packing p = { .source = s, .opt = opt, .sink = sink, .likely = GROUP_BYTES,
		.threads = opt->threads > 0 ? opt->threads : threads_count() };
	int e;

	p.groups = 2 * p.threads + 1;
	if ((e = start_packers(&p)) == 0 && (e = threads_run(p.pool, fill_pack_group, write_pack_group)) == 0 &&
	    p.e < 0)
		e = err_fail(p.e, "%s", p.line);
	stop_packers(&p);
	return e;
}
