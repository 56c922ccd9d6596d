/* batch_cache - keeps decoded images in memory, up to a number of bytes: internal to batch. */
#include "batch/batch_cache.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdlib.h>

struct kept {
	uint64_t	id;
	uint32_t	c, h, w;
	float		label[];	/* the labels; the pixels follow */
};

struct batch_cache {
	size_t			 most, labels;
	uint64_t		 records;
	atomic_size_t		 used;
	atomic_uint_least64_t	 images;
	_Atomic(struct kept *)	 of[];		/* [records] NULL until kept */
};

int
batch_cache_new(uint64_t records, uint32_t labels, size_t bytes, struct batch_cache **out)
{
	struct batch_cache *c;

	*out = NULL;
	if (records > (SIZE_MAX - sizeof(*c)) / sizeof(c->of[0]) ||
	    (c = calloc(1, sizeof(*c) + (size_t)records * sizeof(c->of[0]))) == NULL)
		return err_nomem();
	c->records = records;
	c->labels = labels;
	c->most = bytes;
	*out = c;
	return 0;
}

void
batch_cache_free(struct batch_cache *c)
{
	if (c == NULL)
		return;
	for (uint64_t i = 0; i < c->records; i++)
		free(atomic_load_explicit(&c->of[i], memory_order_relaxed));
	free(c);
}

static uint8_t *
get_pixels(const struct batch_cache *c, struct kept *k)
{
	return (uint8_t *)(k->label + c->labels);
}

bool
batch_cache_get(const struct batch_cache *c, uint64_t i, struct batch_item *item)
{
	struct kept *k = atomic_load_explicit(&((struct batch_cache *)(uintptr_t)c)->of[i], memory_order_acquire);

	if (k == NULL)
		return false;
	*item = (struct batch_item){ k->id, k->label, { get_pixels(c, k), k->c, k->h, k->w } };
	return true;
}

void
batch_cache_put(struct batch_cache *c, uint64_t i, const struct batch_item *item)
{
	const struct img *pic = &item->pic;
	size_t n = (size_t)pic->c * pic->h * pic->w, labels = c->labels * sizeof(float);
	size_t bytes = sizeof(struct kept) + labels + n;
	struct kept *k, *none = NULL;

	if (atomic_fetch_add(&c->used, bytes) + bytes > c->most || (k = malloc(bytes)) == NULL) {
		atomic_fetch_sub(&c->used, bytes);
		return;
	}
	k->id = item->id;
	k->c = pic->c;
	k->h = pic->h;
	k->w = pic->w;
	memcpy(k->label, item->label, labels);
	memcpy(get_pixels(c, k), pic->p, n);
	if (atomic_compare_exchange_strong(&c->of[i], &none, k)) {
		atomic_fetch_add(&c->images, 1);
	} else {	/* another thread was faster */
		atomic_fetch_sub(&c->used, bytes);
		free(k);
	}
}

uint64_t
batch_cache_kept(const struct batch_cache *c, size_t *bytes)
{
	struct batch_cache *m = (struct batch_cache *)(uintptr_t)c;

	*bytes = atomic_load(&m->used);
	return atomic_load(&m->images);
}
