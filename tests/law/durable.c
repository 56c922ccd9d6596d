/* durable - a memory that outlives a process in memory, which may die after any store to it. */
#include "law/durable.h"

#include <stdlib.h>
#include <string.h>

static char *
copy_memory(const struct memory *m)
{
	char *copy = malloc(m->size);

	if (copy == NULL)
		abort();
	memcpy(copy, m->base, m->size);
	return copy;
}

/* The memory after a store of n bytes at `from`, which may have been made in part. */
static char *
leave_memory(struct durable *d, size_t from, size_t n)
{
	char *left = copy_memory(&d->m);

	for (size_t at = from; n > sizeof(uint64_t) && at + sizeof(float) <= from + n; at += sizeof(float))
		if (rng_below(d->chance, 2) && memcmp(d->was + at, left + at, sizeof(float)) != 0)
			memset(left + at, 0xff, sizeof(float));
	return left;
}

static void
stored(void *arg, void *p, size_t n)
{
	struct durable *d = arg;
	const size_t from = (size_t)((char *)p - (char *)d->m.base);

	/* It is zeros at first. */
	if (d->was == NULL && (d->was = calloc(1, d->m.size)) == NULL)
		abort();
	if (d->left == NULL && ++d->stores == d->dies_at)
		d->left = leave_memory(d, from, n);
	memcpy(d->was + from, p, n);
}

void
durable_open(struct durable *d, struct rng *chance)
{
	*d = (struct durable){ .m = { .fd = -1, .stored = stored, .arg = d }, .chance = chance, .dies_at = d->dies_at };
}

void
durable_close(struct durable *d)
{
	memory_close(&d->m);
	free(d->was);
	free(d->left);
}

void
durable_die_soon(struct durable *d, unsigned most)
{
	if (d->dies_at == 0)
		d->dies_at = d->stores + 1 + rng_below(d->chance, most);
}

void
durable_return(struct durable *d)
{
	if (d->left == NULL)
		return;
	memcpy(d->m.base, d->left, d->m.size);
	memcpy(d->was, d->left, d->m.size);
	free(d->left);
	d->left = NULL;
	d->dies_at = 0;
}
