/* batch_device_cache - decodes all records into one block of memory, for a device cache: internal to batch. */
#include "base/err.h"
#include "base/mem.h"
#include "base/threads.h"
#include "batch/batch_in.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state that the threads share. */
struct device_cache {
	struct batch_reader *r;
	uint8_t		*pixels;
	bool		 sizes;		/* the first pass: read sizes, decode no pixels */
	atomic_ullong	 next;		/* number of the next record */
	atomic_int	 e;		/* the first error of reading records */
	pthread_mutex_t	 lock;
	char		 line[ERR_LINE];
};

struct cache_thread {
	struct device_cache	*h;
	struct batch_lane *lane;
	pthread_t	 thread;
};

/* Keeps the message for a record that is omitted.  Returns 0 or ERR_NOMEM. */
static int
omit_record(struct batch_reader *r, uint64_t record, const struct imrec *rec, struct batch_cached_image *cached)
{
	char name[RECS_NAME];

	r->recs->name(r->recs, record, name, sizeof(name));
	recimg_blame(rec, name);
	return (cached->why = strdup(err_line())) == NULL ? err_nomem() : 0;
}

static int
decode_cached_record(struct device_cache *h, struct batch_lane *l, uint64_t record)
{
	struct batch_reader *r = h->r;
	struct batch_cached_image *cached = &r->cached[record];
	struct imrec rec = { 0 };
	struct img pic;
	int e;

	if (cached->why != NULL)
		return 0;
	if ((e = recimg_head(l->decoder, record, &rec, &pic)) < 0)
		return e == ERR_ITEM ? omit_record(r, record, &rec, cached) : e;
	if (h->sizes) {
		cached->h = pic.h;
		cached->w = pic.w;
		cached->id = rec.id;
		cached->label = r->cached_label + record * r->labels;
		return batch_labels(r, &rec, r->cached_label + record * r->labels) < 0 ?
		    omit_record(r, record, &rec, cached) : 0;
	}
	if ((e = recimg_pixels(l->decoder, &rec, &pic)) < 0)
		return e == ERR_ITEM ? omit_record(r, record, &rec, cached) : e;
	if (pic.h != cached->h || pic.w != cached->w) {
		err_note(0, "it was changed while it was read");
		return omit_record(r, record, &rec, cached);
	}
	memcpy(h->pixels + cached->at, pic.p, (size_t)pic.c * pic.h * pic.w);
	return 0;
}

static void *
run_decoder(void *arg)
{
	struct cache_thread *t = arg;
	struct device_cache *h = t->h;
	unsigned long long i;
	int e;

	while ((i = atomic_fetch_add(&h->next, 1)) < h->r->records && atomic_load(&h->e) == 0)
		if ((e = decode_cached_record(h, t->lane, i)) < 0) {
			pthread_mutex_lock(&h->lock);
			if (atomic_load(&h->e) == 0)
				snprintf(h->line, sizeof(h->line), "%s", err_line());
			atomic_store(&h->e, e);
			pthread_mutex_unlock(&h->lock);
		}
	return NULL;
}

/* Passes over all records with all threads. */
static int
decode_all_records(struct device_cache *h, bool sizes)
{
	unsigned n = h->r->opt.threads, begun = 0;
	struct cache_thread *t = calloc(n, sizeof(*t));
	int e = t == NULL ? err_nomem() : 0;

	h->sizes = sizes;
	atomic_store(&h->next, 0);
	for (; begun < n && e == 0; begun++) {
		t[begun] = (struct cache_thread){ .h = h, .lane = &h->r->lane[begun] };
		if ((e = pthread_create(&t[begun].thread, NULL, run_decoder, &t[begun])) != 0) {
			e = threads_fail(e, "decoding");
			break;
		}
	}
	for (unsigned k = 0; k < begun; k++)
		pthread_join(t[k].thread, NULL);
	free(t);
	if (e == 0 && (e = atomic_load(&h->e)) < 0)
		err_note(0, "%s", h->line);
	return e;
}

/* Assigns a place to each image, one after the other, and returns the total of bytes. */
static size_t
place_images(struct batch_reader *r)
{
	size_t at = 0;

	for (uint64_t i = 0; i < r->records; i++) {
		r->cached[i].at = at;
		if (r->cached[i].why == NULL)
			at += (size_t)r->opt.aug.c * r->cached[i].h * r->cached[i].w;
	}
	return at;
}

int
batch_device_cache(struct batch_reader *r, uint8_t **pixels, size_t *bytes)
{
	struct device_cache h = { .r = r };
	int e;

	*pixels = NULL;
	*bytes = 0;
	if (r->stream != NULL)
		return err_fail(ERR_ARG, "%s: images of a pipe cannot be kept on a device", r->opt.path);
	if (!r->pixels || !aug_cuts(&r->opt.aug))
		return err_fail(ERR_ARG, "images can be kept on a device only if they are just cropped and mirrored");
	r->cached = calloc(r->records, sizeof(*r->cached));
	r->cached_label = calloc(r->records * r->labels, sizeof(*r->cached_label));
	if (r->cached == NULL || r->cached_label == NULL)
		return err_nomem();
	pthread_mutex_init(&h.lock, NULL);
	if ((e = decode_all_records(&h, true)) == 0) {
		*bytes = place_images(r);
		if ((e = mem_fits(*bytes)) == 0 && (*pixels = h.pixels = malloc(*bytes + 1)) == NULL)
			e = err_nomem();
	}
	if (e == 0)
		e = decode_all_records(&h, false);
	pthread_mutex_destroy(&h.lock);
	if (e < 0) {
		free(*pixels);
		*pixels = NULL;
	}
	return e;
}

void
batch_device_cache_free(struct batch_reader *r)
{
	for (uint64_t i = 0; r->cached != NULL && i < r->records; i++)
		free(r->cached[i].why);
	free(r->cached);
	free(r->cached_label);
}

int
batch_device_cache_sample(const struct batch_reader *r, uint64_t record, struct batch_item *item,
    struct samples_cached *to, struct aug_plan *plan)
{
	const struct batch_cached_image *cached = &r->cached[record];
	int e;

	*item = (struct batch_item){ cached->id, cached->label, { NULL, r->opt.aug.c, cached->h, cached->w } };
	if ((e = aug_choose(&r->opt.aug, r->epoch, cached->id, &item->pic, plan)) == 0)
		*to = (struct samples_cached){ cached->at, cached->h, cached->w, plan->y, plan->x };
	return e;
}
