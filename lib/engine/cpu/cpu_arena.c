/*
 * cpu_arena - the memory of a plan.
 *
 * Large blocks use huge pages, because the kernels walk over hundreds of megabytes.  All pages are touched here; a
 * first touch within a step would take longer than the step.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_vec.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE	((size_t)2 << 20)

static size_t
round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* At least one page: whole pages, or whole huge pages. */
static size_t
round_to_pages(size_t bytes)
{
	return round_up(bytes + 1, bytes >= HUGE_PAGE ? HUGE_PAGE : 4096);
}

/* Allocates zeroed memory of a size from round_to_pages(). */
static int
map_pages(size_t bytes, void **p)
{
	void *at;

	if (bytes >= HUGE_PAGE && mem_fits(bytes) < 0)
		return ERR_NOMEM;
	if (posix_memalign(&at, bytes >= HUGE_PAGE ? HUGE_PAGE : MEMPLAN_LINE, bytes) != 0)
		return err_nomem();
	if (bytes >= HUGE_PAGE)
		madvise(at, bytes, MADV_HUGEPAGE);	/* only for speed: a failure is harmless */
	memset(at, 0, bytes);
	*p = at;
	return 0;
}

static void
resolve_view(const struct engine_plan *p, struct cpu_view *v)
{
	if (v->c > 0)
		v->p = (char *)p->arena + p->buf[v->buf].at + v->at * cpu_size(v);
}

static void
resolve_all(struct engine_plan *p)
{
	for (uint32_t i = 0; i < p->nstep; i++) {
		struct cpu_step *s = &p->step[i];

		resolve_view(p, &s->x);
		resolve_view(p, &s->y);
		resolve_view(p, &s->dx);
		resolve_view(p, &s->plus);
		for (uint32_t k = 0; k < s->ndy; k++)
			resolve_view(p, &s->dy[k]);
	}
	for (uint32_t i = 0; i < p->nconv; i++) {
		struct cpu_conv_layer *m = &p->conv[i];

		resolve_view(p, &m->x);
		resolve_view(p, &m->y);
		resolve_view(p, &m->dx);
		resolve_view(p, &m->dy);
		resolve_view(p, &m->bn_y);
		resolve_view(p, &m->plus);
	}
	for (uint32_t i = 0; i < p->npool; i++)
		p->pool[i].argmax = (uint16_t *)((char *)p->arena + p->buf[p->pool[i].buf].at);
	resolve_view(p, &p->data);
	resolve_view(p, &p->prob);
}

/* Takes bytes from base, starting at a cache line of their own.  base NULL: only counts. */
static void *
carve_bytes(char *base, size_t *used, size_t bytes)
{
	void *at = base != NULL ? base + *used : NULL;

	*used += memplan_round(bytes);
	return at;
}

static void
place_loaded(const struct engine_plan *p, struct cpu_conv_layer *conv, char *base, size_t *used)
{
	conv->loaded = carve_bytes(base, used,
	    p->graph->w[p->graph->node[conv->node].weight].count * sizeof(*conv->loaded));
}

/* Places packed weights and the arrays of batch norms.  The first call counts, the second sets the pointers. */
static size_t
place_kept(struct engine_plan *p, char *base)
{
	size_t used = 0;

	for (uint32_t i = 0; i < p->nconv; i++) {
		struct cpu_conv_layer *m = &p->conv[i];

		m->packed = carve_bytes(base, &used, cpu_conv_needs(p->set[0].conv[i])->packed);
		m->bias = carve_bytes(base, &used, m->shape.k * sizeof(float));
		m->dbias = carve_bytes(base, &used, m->shape.k * sizeof(float));
	}
	for (uint32_t i = 0; i < p->nbn; i++) {
		struct cpu_bn *b = &p->bn[i];
		float **array[] = { &b->gamma, &b->beta, &b->mean, &b->var, &b->scale, &b->shift, &b->dgamma, &b->dbeta,
		    &b->k1, &b->k0 };

		for (size_t k = 0; k < sizeof(array) / sizeof(array[0]); k++)
			*array[k] = carve_bytes(base, &used, b->lanes * sizeof(float));
		if (b->beta_conv >= 0)
			place_loaded(p, &p->conv[b->beta_conv], base, &used);
	}
	p->aux = carve_bytes(base, &used, p->graph->A * sizeof(float));
	return used;
}

int
cpu_arena_place(struct engine_plan *p)
{
	size_t bytes;

	if (memplan_place(p->buf, p->nbuf, &bytes) < 0)
		return err_nomem();
	p->arena_bytes = round_to_pages(bytes);
	p->kept_bytes = round_to_pages(place_kept(p, NULL));
	p->scratch_bytes = round_to_pages(cpu_set_scratch(p, &p->set[0]));
	return 0;
}

int
cpu_arena_allocate(struct engine_plan *p)
{
	ERR_TRY(map_pages(p->arena_bytes, &p->arena));
	ERR_TRY(map_pages(p->kept_bytes, &p->kept));
	place_kept(p, p->kept);
	resolve_all(p);
	return 0;
}

int
cpu_arena_scratch(struct engine_plan *p, size_t bytes)
{
	size_t taken = round_to_pages(bytes);
	void *fresh;
	int e;

	if (p->scratch != NULL && bytes <= p->scratch_bytes)
		return 0;
	if ((e = map_pages(taken, &fresh)) < 0)
		return e;	/* the old scratch stays bound */
	free(p->scratch);
	p->scratch = fresh;
	p->scratch_bytes = taken;
	return 1;
}

void
cpu_arena_free(struct engine_plan *p)
{
	free(p->arena);
	free(p->kept);
	free(p->scratch);
}

bool
cpu_arena_large(const struct cpu_view *v, uint32_t n)
{
	return n * v->step * cpu_size(v) >= CPU_STREAM_BYTES;
}
