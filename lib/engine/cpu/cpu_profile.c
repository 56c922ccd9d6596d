/* cpu_profile - measures what each layer costs, and the peak rates of the processor. */
#include "engine/cpu/cpu.h"

#include "base/clk.h"
#include "base/err.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define SIDE	2048u			/* side of the matrices whose product is the peak */
#define COPY	((size_t)128 << 20)	/* bytes copied for the peak of memory; more than caches hold */
#define ROUNDS	5			/* the best one counts */

uint64_t
cpu_profile_now(const struct engine_plan *p)
{
	return p->cost != NULL ? clk_ns() : 0;
}

static uint64_t
count_view_bytes(const struct cpu_view *v, uint32_t n)
{
	return (uint64_t)n * v->c * v->h * v->w * cpu_size(v);
}

/* Bytes of a step's operands.  A convolution's two backward kernels share the step. */
static uint64_t
count_step_bytes(const struct engine_plan *p, const struct cpu_step *s, enum engine_direction dir, uint32_t n)
{
	const struct graph_node *l = &p->graph->node[s->node];
	uint64_t bytes = count_view_bytes(&s->y, n);

	if (s->kind == CPU_COPY)
		return (uint64_t)n * s->count * s->x.h * s->x.w * (cpu_size(&s->x) + cpu_size(&s->y));
	if (dir != ENGINE_DATA)
		bytes += count_view_bytes(&s->x, n);
	if (dir != ENGINE_WEIGHT)
		bytes += count_view_bytes(&s->dx, n);
	bytes += count_view_bytes(&s->plus, n);
	for (uint32_t k = 0; k < s->ndy; k++)
		bytes += count_view_bytes(&s->dy[k], n);
	if (s->kind == CPU_CONV || s->kind == CPU_CONV_BACK)
		bytes += p->graph->w[l->weight].count * (p->bf16 && dir != ENGINE_WEIGHT ? 2 : sizeof(float));
	return bytes;
}

void
cpu_profile_add(struct engine_plan *p, const struct cpu_step *s, enum engine_direction dir, uint32_t n, uint64_t from)
{
	struct engine_cost *c;

	if (p->cost == NULL)
		return;
	c = &p->cost[s->node * ENGINE_DIRECTIONS + dir];
	c->ns += clk_ns() - from;
	c->bytes += count_step_bytes(p, s, dir, n);
	if (s->kind == CPU_CONV || s->kind == CPU_CONV_BACK)
		c->macs += n * graph_node_macs(p->graph, s->node);
}

/* ------ engine.h ------ */

static int
start_profile(struct engine_plan *p)
{
	size_t rows = (size_t)p->graph->n * ENGINE_DIRECTIONS;

	free(p->cost);
	if ((p->cost = calloc(rows, sizeof(*p->cost))) == NULL)
		return err_nomem();
	for (size_t i = 0; i < rows; i++) {
		p->cost[i].node = (uint32_t)(i / ENGINE_DIRECTIONS);
		p->cost[i].direction = (enum engine_direction)(i % ENGINE_DIRECTIONS);
	}
	return 0;
}

static int
stop_profile(struct engine_plan *p, int (*row)(void *arg, const struct engine_cost *cost), void *arg)
{
	int e = 0;

	assert(p->cost != NULL);
	for (uint32_t i = 0; i < p->graph->n && e == 0; i++)
		if (p->cost[i * ENGINE_DIRECTIONS].ns > 0)
			e = row(arg, &p->cost[i * ENGINE_DIRECTIONS]);
	for (uint32_t i = p->graph->n; i-- > 0;)
		for (uint32_t dir = ENGINE_BACKWARD; dir < ENGINE_DIRECTIONS && e == 0; dir++)
			if (p->cost[i * ENGINE_DIRECTIONS + dir].ns > 0)
				e = row(arg, &p->cost[i * ENGINE_DIRECTIONS + dir]);
	free(p->cost);
	p->cost = NULL;
	return e;
}

static double
take_best_rate(double best, uint64_t from, double work)
{
	double rate = work / ((double)(clk_ns() - from) * 1e-9);

	return rate > best ? rate : best;
}

/* Multiply-adds a second of a product of SIDE x SIDE matrices; memory has x, y, packed weights and scratch. */
static int
measure_product(struct dnnl_layer *layer, char *memory, double *rate)
{
	const size_t matrix = (size_t)SIDE * SIDE * sizeof(float);
	const size_t packed = memplan_round(dnnl_layer_needs(layer)->packed);
	const struct dnnl_place at = { .x = memory, .y = memory + matrix, .packed = memory + 2 * matrix,
	    .scratch = memory + 2 * matrix + packed };
	int e = dnnl_layer_bind(layer, &at);

	memset(memory, 0x3a, 2 * matrix + packed);	/* small values, as f32 and as bf16 */
	for (int i = 0; i < ROUNDS && e == 0; i++) {
		uint64_t from = clk_ns();

		e = dnnl_layer_run(layer, DNNL_FORWARD, NULL);
		*rate = take_best_rate(*rate, from, (double)SIDE * SIDE * SIDE);
	}
	return e;
}

static void
measure_copy(char *memory, double *rate)
{
	const size_t piece = (size_t)1 << 20;

	memset(memory, 1, 2 * COPY);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t from = clk_ns();

		#pragma omp parallel for
		for (size_t at = 0; at < COPY; at += piece)
			memcpy(memory + COPY + at, memory + at, piece);
		*rate = take_best_rate(*rate, from, 2.0 * COPY);
	}
}

static int
measure_peaks(struct engine_plan *p, struct engine_peaks *peaks)
{
	const struct dnnl_shape shape = { .n = SIDE, .c = SIDE, .h = 1, .w = 1, .k = SIDE, .fc = true,
	    .bf16 = p->bf16 };
	struct dnnl_layer *layer;
	size_t bytes;
	void *memory;
	int e;

	*peaks = (struct engine_peaks) { 0 };
	cpu_enter(p->dev);
	ERR_TRY(dnnl_layer_new(p->dev->dnnl, &shape, NULL, &layer));
	bytes = 2 * (size_t)SIDE * SIDE * sizeof(float) + memplan_round(dnnl_layer_needs(layer)->packed) +
	    dnnl_layer_needs(layer)->scratch;
	bytes = bytes < 2 * COPY ? 2 * COPY : bytes;
	if (posix_memalign(&memory, 4096, bytes) != 0) {
		dnnl_layer_free(layer);
		return err_nomem();
	}
	measure_copy(memory, &peaks->bytes_per_s);
	e = measure_product(layer, memory, &peaks->macs_per_s);
	free(memory);
	dnnl_layer_free(layer);
	return e;
}

const struct engine_profiler cpu_profiler = { .start = start_profile, .stop = stop_profile, .peaks = measure_peaks };
