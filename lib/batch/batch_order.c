/* batch_order - the order of records in an epoch: internal to batch. */
#include "batch/batch_order.h"
#include "base/err.h"
#include "base/rng.h"

#include <assert.h>
#include <stdlib.h>

#define STREAM	0x6f72646572u	/* "order": separates these draws from others of the same seed */
#define MEMORY	(1u << 24)	/* most records whose order is kept in memory */
#define ROUNDS	6u

enum kind { PLAIN, SHUFFLED, FEISTEL, WINDOW };

struct batch_order {
	enum kind	 kind;
	uint64_t	 n, seed, epoch;
	uint32_t	*p;		/* SHUFFLED: [n] the order; WINDOW: [window] the buffer */
	uint64_t	 a, b;		/* FEISTEL: the rectangle's sides, a * b >= n */
	uint64_t	 key[ROUNDS];
	uint64_t	 window, waiting;	/* size of the buffer; records in it */
	uint64_t	 last;		/* WINDOW: the last record taken */
	uint64_t	 taken, next;	/* WINDOW: number of records taken; the next record to enter the buffer */
	struct rng	 rng;		/* WINDOW */
};

/* The smallest integer whose square is at least n. */
static uint64_t
ceil_sqrt(uint64_t n)
{
	uint64_t lo = 0, hi = 1u << 31;

	while (lo < hi) {
		uint64_t mid = (lo + hi) / 2;

		if (mid * mid >= n)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

int
batch_order_new(uint64_t n, bool shuffle, uint64_t window, struct batch_order **out)
{
	struct batch_order *o = calloc(1, sizeof(*o));
	uint64_t keep = 0;

	assert(n > 0 && n <= UINT32_MAX);
	*out = NULL;
	if (o == NULL)
		return err_nomem();
	o->n = n;
	o->kind = !shuffle ? PLAIN : window > 0 && window < n ? WINDOW : n <= MEMORY ? SHUFFLED : FEISTEL;
	o->window = window;
	o->a = ceil_sqrt(n);
	o->b = (n + o->a - 1) / o->a;
	keep = o->kind == SHUFFLED ? n : o->kind == WINDOW ? window : 0;
	if (keep > 0 && (o->p = calloc(keep, sizeof(*o->p))) == NULL) {
		free(o);
		return err_nomem();
	}
	*out = o;
	return 0;
}

void
batch_order_free(struct batch_order *o)
{
	if (o == NULL)
		return;
	free(o->p);
	free(o);
}

void
batch_order_start(struct batch_order *o, uint64_t seed, uint64_t epoch)
{
	uint64_t keep = o->kind == SHUFFLED ? o->n : o->kind == WINDOW ? o->window : 0;

	o->seed = seed;
	o->epoch = epoch;
	o->rng = rng_start(seed, epoch, STREAM);
	for (uint64_t i = 0; i < keep; i++)
		o->p[i] = (uint32_t)i;
	if (o->kind == SHUFFLED)
		rng_shuffle_u32(&o->rng, o->p, o->n);
	for (uint32_t i = 0; o->kind == FEISTEL && i < ROUNDS; i++)
		o->key[i] = rng_u64(&o->rng);
	o->waiting = o->next = keep;
	o->taken = 0;
}

/* Permutes the places of the rectangle: Feistel rounds, in which each half in turn shifts the other. */
static uint64_t
permute_place(const struct batch_order *o, uint64_t place)
{
	uint64_t x = place % o->a, y = place / o->a;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct rng r = { o->key[i] ^ (i % 2 == 0 ? y : x) * 0x9e3779b97f4a7c15u };

		if (i % 2 == 0)
			x = (x + rng_u64(&r) % o->a) % o->a;
		else
			y = (y + rng_u64(&r) % o->b) % o->b;
	}
	return y * o->a + x;
}

static uint64_t
walk_to_record(const struct batch_order *o, uint64_t place)
{
	do
		place = permute_place(o, place);
	while (place >= o->n);
	return place;
}

/* Takes the next place's record from the window. */
static uint64_t
slide_window(struct batch_order *o)
{
	uint64_t k = rng_below(&o->rng, o->waiting), record = o->p[k];

	if (o->next < o->n)
		o->p[k] = (uint32_t)o->next++;
	else
		o->p[k] = o->p[--o->waiting];
	o->taken++;
	return o->last = record;
}

void
batch_order_take(struct batch_order *o, uint64_t first, uint32_t count, uint64_t *record)
{
	assert(first + count <= o->n);
	if (o->kind == WINDOW && count > 0 && o->taken > 0 && first == o->taken - 1) {
		*record++ = o->last;
		first++;
		count--;
	}
	if (o->kind == WINDOW && first < o->taken)
		batch_order_start(o, o->seed, o->epoch);
	while (o->kind == WINDOW && o->taken < first)
		slide_window(o);
	for (uint32_t i = 0; i < count; i++)
		record[i] = o->kind == PLAIN ? first + i : o->kind == SHUFFLED ? o->p[first + i] :
		    o->kind == FEISTEL ? walk_to_record(o, first + i) : slide_window(o);
}
