/* mutate - structure-aware changes of a fuzz target's inputs. */
#include "fuzz/mutate.h"

#include <stdlib.h>
#include <string.h>

#define ROOM	(1u << 16)	/* bytes of a part that is made */
#define EDITS	4u		/* most changes at once */

struct span {
	uint8_t	*p;
	size_t	 n, room;
};

size_t
mutate_bytes(uint8_t *p, size_t n, size_t room)
{
	return LLVMFuzzerMutate(p, n, room);
}

uint64_t
mutate_number(struct rng *r, uint64_t v)
{
	switch (rng_below(r, 6)) {
	case 0: return v + 1;
	case 1: return v - 1;
	case 2: return v ^ UINT64_C(1) << rng_below(r, 64);
	case 3: return (UINT64_C(1) << rng_below(r, 64)) - rng_below(r, 2);
	case 4: return rng_u64(r) >> rng_below(r, 64);
	default: return rng_below(r, 16);
	}
}

void
mutate_list(struct rng *r, void *list, size_t size, uint32_t *n, uint32_t most)
{
	uint8_t *p = list, *one;
	size_t a, b;

	if (*n == 0 || (one = malloc(size)) == NULL)
		return;
	a = rng_below(r, *n);
	b = rng_below(r, *n);
	memcpy(one, p + a * size, size);
	if (rng_below(r, 3) == 0 && *n < most) {
		memmove(p + (b + 1) * size, p + b * size, (*n - b) * size);
		memcpy(p + b * size, one, size);
		++*n;
	} else if (rng_below(r, 2)) {
		memcpy(p + a * size, p + b * size, size);
		memcpy(p + b * size, one, size);
	} else {
		memmove(p + a * size, p + (a + 1) * size, (*n - a - 1) * size);
		--*n;
	}
	free(one);
}

/* A copy of n bytes in room for more, which the caller frees. */
static struct span
copy_span(const uint8_t *p, size_t n)
{
	struct span s = { malloc(n + ROOM), n, n + ROOM };

	if (s.p == NULL)
		abort();
	memcpy(s.p, p, n);
	return s;
}

static struct span
make_span(const struct mutate_format *f, struct rng *r)
{
	struct span s = copy_span((const uint8_t *)"", 0);

	s.n = f->make(r, s.p, s.room);
	return s;
}

static void
edit_parts(const struct mutate_format *f, struct rng *r, struct span *part, uint32_t *n)
{
	const uint32_t at = (uint32_t)rng_below(r, *n + 1);
	struct span keep;

	switch (rng_below(r, 4)) {
	case 0:
		if (*n >= MUTATE_PARTS)
			return;
		memmove(part + at + 1, part + at, (*n - at) * sizeof(*part));
		part[at] = make_span(f, r);
		++*n;
		return;
	case 1:
		if (*n > 0 && (f->change != NULL || rng_below(r, 2))) {
			struct span *s = &part[rng_below(r, *n)];

			s->n = f->change != NULL && rng_below(r, 8) > 0 ? f->change(r, s->p, s->n, s->room) :
			    mutate_bytes(s->p, s->n, s->room);
		}
		return;
	case 2:		/* a run of parts again, as a peer that reconnects repeats them */
		for (uint32_t i = (uint32_t)rng_below(r, 8); *n > 0 && at < *n && i > 0 && *n < MUTATE_PARTS; i--) {
			keep = part[at + (i - 1) % (*n - at)];
			part[*n] = copy_span(keep.p, keep.n);
			++*n;
		}
		return;
	default:
		if (*n < 2)
			return;
		keep = part[at % *n];
		if (rng_below(r, 2)) {
			part[at % *n] = part[*n - 1];
			part[*n - 1] = keep;
		} else {
			free(keep.p);
			memmove(part + at % *n, part + at % *n + 1, (*n - at % *n - 1) * sizeof(*part));
			--*n;
		}
	}
}

size_t
mutate_parts(const struct mutate_format *f, uint8_t *p, size_t n, size_t room, unsigned seed)
{
	struct rng r = rng_start(seed, 0, 0);
	struct span part[MUTATE_PARTS + 1];
	uint32_t parts = 0;
	size_t at = f->head, size;

	if (n < f->head || room <= f->head || rng_below(&r, 8) == 0)
		return mutate_bytes(p, n, room);
	for (; at < n && parts < MUTATE_PARTS; at += size) {
		size = parts + 1 < MUTATE_PARTS ? f->part(p + at, n - at) : n - at;
		if (size == 0)
			break;
		part[parts++] = copy_span(p + at, size);
	}
	for (uint64_t i = 1 + rng_below(&r, EDITS); i > 0; i--)
		edit_parts(f, &r, part, &parts);
	if (f->head > 0 && rng_below(&r, 16) == 0)
		p[rng_below(&r, f->head)] = (uint8_t)rng_below(&r, 16);
	at = f->head;
	for (uint32_t i = 0; i < parts; i++) {
		if (at + part[i].n <= room) {
			memcpy(p + at, part[i].p, part[i].n);
			at += part[i].n;
		}
		free(part[i].p);
	}
	return f->seal != NULL ? f->seal(p, at, room) : at;
}
