/* heap - the heap of each simulated process, which ends with it. */
#include "law/sim/heap.h"
#include "law/sim/sim.h"
#include "law/sim/sys.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct block {
	struct block	*next, *prev;
	size_t		 n;
	int		 proc;
} __attribute__((aligned(16)));

struct heap {
	struct block	*first;
	size_t		 bytes, peak;
};

static struct heap outside, *heaps;	/* of no process; [process] */

static struct heap *
find_heap(int proc)
{
	return proc < 0 ? &outside : &heaps[proc];
}

void
heap_reserve(unsigned procs)
{
	if ((heaps = __real_calloc(procs, sizeof(*heaps))) == NULL)
		abort();
}

void *
heap_malloc(size_t n)
{
	struct block *b = n < SIZE_MAX - sizeof(*b) ? __real_malloc(sizeof(*b) + n) : NULL;
	struct heap *h;

	if (b == NULL)
		return NULL;
	b->n = n;
	b->proc = sim_proc();
	h = find_heap(b->proc);
	b->prev = NULL;
	if ((b->next = h->first) != NULL)
		b->next->prev = b;
	h->first = b;
	h->bytes += n;
	h->peak = h->bytes > h->peak ? h->bytes : h->peak;
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
	*(b->prev != NULL ? &b->prev->next : &find_heap(b->proc)->first) = b->next;
	find_heap(b->proc)->bytes -= b->n;
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
	while (heaps[proc].first != NULL)
		heap_free(heaps[proc].first + 1);
	heaps[proc].peak = 0;
}

size_t
heap_peak(unsigned proc)
{
	return heaps[proc].peak;
}

size_t
heap_blocks(unsigned proc)
{
	size_t n = 0;

	for (const struct block *b = heaps[proc].first; b != NULL; b = b->next)
		n++;
	return n;
}
