/* heap - the heap of each simulated process, which ends with it. */
#include "law/sim/heap.h"
#include "law/sim/sim.h"
#include "law/sim/sys.h"

#include <stdint.h>
#include <string.h>

struct block {
	struct block	*next, *prev;
	size_t		 n;
	int		 proc;
} __attribute__((aligned(16)));

static struct block *first[SIM_PROCS + 1];	/* [1 + process] */

void *
heap_malloc(size_t n)
{
	struct block *b = n < SIZE_MAX - sizeof(*b) ? __real_malloc(sizeof(*b) + n) : NULL, **list;

	if (b == NULL)
		return NULL;
	b->n = n;
	b->proc = sim_proc();
	list = &first[1 + b->proc];
	b->prev = NULL;
	if ((b->next = *list) != NULL)
		b->next->prev = b;
	*list = b;
	return b + 1;
}

void *
heap_calloc(size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes) || (p = heap_malloc(bytes)) == NULL)
		return NULL;
	return memset(p, 0, bytes);
}

void
heap_free(void *p)
{
	struct block *b;

	if (p == NULL)
		return;
	b = (struct block *)p - 1;
	if (b->next != NULL)
		b->next->prev = b->prev;
	*(b->prev != NULL ? &b->prev->next : &first[1 + b->proc]) = b->next;
	__real_free(b);
}

void *
heap_realloc(void *p, size_t n)
{
	void *to = heap_malloc(n);
	size_t had;

	if (to == NULL || p == NULL)
		return to;
	had = ((const struct block *)p - 1)->n;
	memcpy(to, p, had < n ? had : n);
	heap_free(p);
	return to;
}

void
heap_free_all(unsigned proc)
{
	while (first[1 + proc] != NULL)
		heap_free(first[1 + proc] + 1);
}

size_t
heap_blocks(unsigned proc)
{
	size_t n = 0;

	for (const struct block *b = first[1 + proc]; b != NULL; b = b->next)
		n++;
	return n;
}
