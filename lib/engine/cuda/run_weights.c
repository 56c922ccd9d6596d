/*
 * run_weights - weights and biases into the layout and type of the kernels that use them, and gradients back.
 *
 * All conversions of an update, or of a slice of gradients, are one kernel over a table, which is made with the plan.
 */
#include "engine/cuda/exec_plan.h"

#include "base/err.h"

#include <stdlib.h>

#define MOVES	3u	/* most conversions of a product: its bias twice, and its weight */

static void
add_move(struct kernel_move *table, struct exec_moves *n, struct kernel_permute a, uint32_t count)
{
	table[n->n++] = (struct kernel_move){ n->values, a };
	n->values += count;
}

/* Values of f32, converted to a type. */
static void
add_conversion(struct kernel_move *table, struct exec_moves *n, const float *x, void *to, uint32_t count, int type)
{
	add_move(table, n, (struct kernel_permute){ .x = x, .to = to, .b = count, .c = 1, .ld = count,
	    .from_type = KERNEL_F32, .to_type = type }, count);
}

/* Does the weight of product i contain the batch norm after it? */
static bool
folds_bn(const struct engine_plan *p, uint32_t i, bool fold)
{
	return fold && p->product[i].bn != EXEC_NONE;
}

/* The bias of product i: its own, or that of the batch norm folded into it. */
static void
add_bias(const struct engine_plan *p, uint32_t i, bool fold, struct kernel_move *table, struct exec_moves *n)
{
	const struct exec_product *m = &p->product[i];
	const struct graph_node *l = exec_node_at(p, m->node);
	const float *own = l->bias_at >= 0 ? exec_floats(p, p->kept.w) + p->graph->w[l->bias_at].first : NULL;
	const float *x = folds_bn(p, i, fold) ? run_bias(p, i) : own;

	if (x == own && own != NULL && m->bn != EXEC_NONE)
		add_conversion(table, n, own, run_bias(p, i), m->y.c, KERNEL_F32);
	if (x != NULL && l->op == GRAPH_CONV && m->type != KERNEL_F32)
		add_conversion(table, n, x, run_typed_bias(p, i), m->y.c, m->type);
}

static struct exec_moves
list_moves(const struct engine_plan *p, bool fold, struct kernel_move *table)
{
	struct exec_moves n = { 0 };

	for (uint32_t i = 0; i < p->nproducts; i++) {
		const struct exec_product *m = &p->product[i];
		const struct graph_array *w = &p->graph->w[exec_node_at(p, m->node)->weight];
		struct kernel_permute a = { .x = exec_floats(p, p->kept.w) + w->first,
			.to = p->kept_base + m->weight_at, .from_type = KERNEL_F32, .to_type = m->type };

		add_bias(p, i, fold, table, &n);
		if (folds_bn(p, i, fold))
			a.row = run_bias(p, i) + m->y.c;
		run_weight_sides(p, m, &a.b, &a.c);
		a.ld = a.b;
		add_move(table, &n, a, (uint32_t)w->count);
	}
	return n;
}

/* Gradients in the order of the steps that compute them. */
static struct exec_moves
list_gradients(const struct engine_plan *p, struct kernel_move *table)
{
	struct exec_moves n = { 0 };

	for (uint32_t s = p->nforward; s < p->nstep; s++) {
		const struct graph_node *l = exec_node_at(p, p->step[s].node);
		const struct exec_product *m;
		struct kernel_permute a;

		if (p->step[s].kind != EXEC_PRODUCT_WEIGHT)
			continue;
		m = &p->product[p->node[p->step[s].node].state];
		a = (struct kernel_permute){ .x = p->kept_base + m->grad_at,
			.to = exec_floats(p, p->kept.g) + p->graph->w[l->weight].first,
			.from_type = l->op == GRAPH_FC ? KERNEL_F32 : m->type, .to_type = KERNEL_F32,
			.scale = run_inverse_scale(p) };
		run_weight_sides(p, m, &a.c, &a.b);
		a.ld = a.b;
		add_move(table, &n, a, (uint32_t)p->graph->w[l->weight].count);
	}
	return n;
}

size_t
run_weights_memory(const struct engine_plan *p)
{
	return (size_t)p->nproducts * MOVES * sizeof(struct kernel_move);
}

int
run_weights_prepare(struct engine_plan *p)
{
	struct kernel_move *table = calloc((size_t)p->nproducts * MOVES + 1, sizeof(*table));
	int e = 0;

	if (table == NULL)
		return device_nomem(p->dev->host);
	for (int t = 0; t < EXEC_TABLES && e == 0; t++) {
		p->moves[t] = t == EXEC_MOVES_GRADIENTS ? list_gradients(p, table) :
		    list_moves(p, t == EXEC_MOVES_FOLDED, table);
		e = device_upload(p->dev->d, DEVICE_MAIN, p->kept_base + p->kept.moves[t], table,
		    p->moves[t].n * sizeof(*table));
		if (e == 0)
			e = device_wait(p->dev->d);
	}
	free(table);
	return e;
}

int
run_weights(struct engine_plan *p, bool fold)
{
	const struct kernel_moves a = { .move = (const struct kernel_move *)(p->kept_base + p->kept.moves[fold]),
		.n = p->moves[fold].n };
	int e = 0;

	for (uint32_t i = 0; i < p->nproducts && e == 0; i++)
		if (folds_bn(p, i, fold))
			e = run_bn_fold(p, &p->step[p->product[i].bn]);
	return e < 0 ? e : kernel_run_moves(p->dev->d, &a, p->moves[fold].values, KERNEL_F32);
}

int
run_weight_gradients(struct engine_plan *p, uint32_t from, uint32_t to)
{
	struct kernel_moves a = { .move = (const struct kernel_move *)(p->kept_base +
		p->kept.moves[EXEC_MOVES_GRADIENTS]) };
	uint32_t count = 0;

	for (uint32_t s = p->nforward; s < to; s++) {
		const int32_t weight = exec_node_at(p, p->step[s].node)->weight;

		if (p->step[s].kind != EXEC_PRODUCT_WEIGHT)
			continue;
		if (s < from) {
			a.move++;
			a.from += (uint32_t)p->graph->w[weight].count;
		} else {
			a.n++;
			count += (uint32_t)p->graph->w[weight].count;
		}
	}
	return count == 0 ? 0 : kernel_run_moves(p->dev->d, &a, count, KERNEL_F32);
}
