/* dnnl_layer - makes the oneDNN kernels of a layer's shape, and runs them. */
#include "engine/cpu/dnnl/dnnl_pick.h"

#include "base/err.h"
#include "engine/cpu/dnnl/dnnl_fc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The operands of a layer.  Their memory descriptors (md) are those agreed with the caller. */
enum role { X, Y, DX, DY, PACKED, DW, BIAS, DBIAS, SCALE, SHIFT, ROLES };

/* An operand of a direction: the library's name, ours, and whether the kernel writes it. */
struct operand {
	int	  arg;
	enum role role;
	bool	  out;
};

#define OPERANDS 6

/* The second operand of the nth operation after the kernel's own. */
#define AFTER(nth) (DNNL_ARG_ATTR_MULTIPLE_POST_OP(nth) | DNNL_ARG_SRC_1)

static const struct operand operands[DNNL_DIRECTIONS][OPERANDS] = {
	[DNNL_FORWARD] = { { DNNL_ARG_SRC, X, false }, { DNNL_ARG_WEIGHTS, PACKED, false },
	    { DNNL_ARG_DST, Y, true }, { DNNL_ARG_BIAS, BIAS, false }, { AFTER(0), SCALE, false },
	    { AFTER(1), SHIFT, false } },
	[DNNL_DATA] = { { DNNL_ARG_DIFF_DST, DY, false }, { DNNL_ARG_WEIGHTS, PACKED, false },
	    { DNNL_ARG_DIFF_SRC, DX, true } },
	[DNNL_WEIGHT] = { { DNNL_ARG_SRC, X, false }, { DNNL_ARG_DIFF_DST, DY, false },
	    { DNNL_ARG_DIFF_WEIGHTS, DW, true }, { DNNL_ARG_DIFF_BIAS, DBIAS, true } },
};

/* An operand that the kernel needs in another layout than the agreed one. */
struct detour {
	dnnl_memory_t	 inner;		/* in scratch */
	dnnl_primitive_t reorder;
	size_t		 at;		/* offset in scratch, bytes */
};

struct direction {
	dnnl_primitive_t kernel;	/* NULL: none */
	uint32_t	 n;		/* operands */
	dnnl_exec_arg_t	 arg[OPERANDS + 1];
	struct detour	 detour[OPERANDS];	/* reorder NULL: none */
	dnnl_memory_t	 scratch;
	size_t		 bytes;		/* bytes of scratch, with its detours */
	char		 name[96];
};

struct dnnl_layer {
	struct dnnl_dev	   *dev;
	struct dnnl_shape   shape;
	struct dnnl_needs   needs;
	dnnl_lib_desc	    md[ROLES];
	dnnl_memory_t	    mem[ROLES];
	dnnl_primitive_t    load;	/* packs canonical weights; NULL: packed weights are canonical */
	struct direction    direction[DNNL_DIRECTIONS];
	bool		    product;	/* dnnl_fc has the forward pass */
	struct dnnl_place   place;
};

static size_t
round_up_to_64(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

static int
make_reorder(struct dnnl_dev *dev, dnnl_lib_desc from, dnnl_lib_desc to, dnnl_primitive_t *p)
{
	dnnl_primitive_desc_t pd;
	dnnl_status_t e = dnnl_reorder_primitive_desc_create(&pd, from, dev->engine, to, dev->engine, NULL);

	if (e == dnnl_success) {
		e = dnnl_primitive_create(p, pd);
		dnnl_primitive_desc_destroy(pd);
	}
	return e == dnnl_success ? 0 : dnnl_dev_fail("reorder", e);
}

static int
make_memory(struct dnnl_dev *dev, dnnl_lib_desc md, dnnl_memory_t *mem)
{
	dnnl_status_t e = dnnl_memory_create(mem, md, dev->engine, DNNL_MEMORY_NONE);

	return e == dnnl_success ? 0 : dnnl_dev_fail("memory", e);
}

/* Connects a kernel's operand to the agreed memory, through a reorder if the layouts differ. */
static int
join_operand(struct dnnl_layer *l, struct direction *d, const struct operand *o, dnnl_lib_desc inner)
{
	struct detour *t = &d->detour[d->n];
	dnnl_lib_desc outer = l->md[o->role];

	d->arg[d->n] = (dnnl_exec_arg_t){ o->arg, l->mem[o->role] };
	if (!dnnl_memory_desc_equal(inner, outer)) {
		ERR_TRY(make_memory(l->dev, inner, &t->inner));
		ERR_TRY(make_reorder(l->dev, o->out ? inner : outer, o->out ? outer : inner, &t->reorder));
		d->arg[d->n].memory = t->inner;
		t->at = d->bytes;
		d->bytes += round_up_to_64(dnnl_memory_desc_get_size(inner));
		if (o->role != PACKED && o->role != DW)
			strncat(d->name, "+reorder", sizeof(d->name) - strlen(d->name) - 1);
	}
	d->n++;
	return 0;
}

/* Those of which a layer has none are the last ones, and have no detours. */
static bool
has_operand(const struct dnnl_shape *s, const struct operand *o)
{
	switch (o->role) {
	case BIAS:
	case DBIAS:
		return s->bias;
	case SCALE:
	case SHIFT:
		return s->scaled;
	default:
		return o->arg != 0;
	}
}

/* Makes one direction from its descriptor, and destroys the descriptor. */
static int
make_direction(struct dnnl_layer *l, enum dnnl_direction dir, dnnl_primitive_desc_t pd)
{
	struct direction *d = &l->direction[dir];
	dnnl_lib_desc own = dnnl_pick_operand(pd, DNNL_ARG_SCRATCHPAD);
	dnnl_status_t s;
	int e;

	snprintf(d->name, sizeof(d->name), "%s", dnnl_pick_name(pd));
	d->bytes = round_up_to_64(dnnl_memory_desc_get_size(own));
	e = make_memory(l->dev, own, &d->scratch);
	for (uint32_t i = 0; i < OPERANDS && e == 0; i++) {
		const struct operand *o = &operands[dir][i];

		if (has_operand(&l->shape, o))
			e = join_operand(l, d, o, dnnl_pick_operand(pd, o->arg));
	}
	d->arg[d->n] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, d->scratch };
	if (e == 0 && (s = dnnl_primitive_create(&d->kernel, pd)) != dnnl_success)
		e = dnnl_dev_fail("kernel", s);
	dnnl_primitive_desc_destroy(pd);
	if (l->needs.scratch < d->bytes)
		l->needs.scratch = d->bytes;
	l->needs.kernel[dir] = d->name;
	return e;
}

/* ------ the layer ------ */

/* Makes the agreed descriptors.  Packed weights have the layout of `like` or of the forward kernel. */
static int
agree_descriptors(struct dnnl_layer *l, const struct dnnl_layer *like, const_dnnl_primitive_desc_t forward)
{
	int e = 0;

	l->md[X] = dnnl_pick_x(&l->shape, l->needs.x_block);
	l->md[DX] = dnnl_pick_x(&l->shape, l->needs.x_block);
	l->md[Y] = dnnl_pick_y(&l->shape, l->needs.y_block);
	l->md[DY] = dnnl_pick_dy(&l->shape, l->needs.y_block);
	l->md[PACKED] = dnnl_lib_desc_clone(like ? like->md[PACKED] : dnnl_pick_operand(forward, DNNL_ARG_WEIGHTS));
	l->md[DW] = dnnl_pick_canonical(&l->shape);
	l->md[BIAS] = dnnl_pick_vector(&l->shape);
	l->md[DBIAS] = dnnl_pick_vector(&l->shape);
	l->md[SCALE] = dnnl_pick_scale(&l->shape);
	l->md[SHIFT] = dnnl_pick_scale(&l->shape);
	for (int r = 0; r < ROLES && e == 0; r++)
		e = l->md[r] != NULL ? make_memory(l->dev, l->md[r], &l->mem[r]) : err_nomem();
	if (e == 0)
		l->needs.packed = dnnl_memory_desc_get_size(l->md[PACKED]);
	if (e == 0 && !dnnl_memory_desc_equal(l->md[DW], l->md[PACKED]))
		e = make_reorder(l->dev, l->md[DW], l->md[PACKED], &l->load);
	l->needs.canonical = l->load == NULL;
	return e;
}

static int
make_layer(struct dnnl_layer *l, const struct dnnl_layer *like)
{
	dnnl_primitive_desc_t forward, pd, hint = NULL;
	struct dnnl_pick_blocks blocks;
	int e;

	if (like != NULL)
		blocks = (struct dnnl_pick_blocks){ like->needs.x_block, like->needs.y_block };
	else
		dnnl_pick_agree(l->dev, &l->shape, &blocks);
	l->needs = (struct dnnl_needs) { .x_block = blocks.x, .y_block = blocks.y, .kernel = { "-", "-", "-" } };
	ERR_TRY(dnnl_pick(l->dev, &l->shape, blocks, DNNL_FORWARD, NULL, &forward));
	if (dnnl_primitive_desc_clone(&hint, forward) != dnnl_success) {
		dnnl_primitive_desc_destroy(forward);
		return err_nomem();
	}
	e = agree_descriptors(l, like, hint);
	if (e == 0)
		e = make_direction(l, DNNL_FORWARD, forward);
	else
		dnnl_primitive_desc_destroy(forward);
	for (enum dnnl_direction dir = DNNL_DATA; dir < DNNL_DIRECTIONS && !l->shape.scaled && e == 0; dir++)
		if ((dir == DNNL_DATA ? l->shape.data : !l->shape.no_dw) &&
		    (e = dnnl_pick(l->dev, &l->shape, blocks, dir, hint, &pd)) == 0)
			e = make_direction(l, dir, pd);
	dnnl_primitive_desc_destroy(hint);
	return e;
}

/* dnnl_fc takes over a forward pass whose operands the kernel reads as they are. */
static void
choose_product(struct dnnl_layer *l)
{
	struct direction *d = &l->direction[DNNL_FORWARD];

	l->product = dnnl_fc_fits(&l->shape) && l->needs.canonical;
	for (uint32_t i = 0; i < d->n; i++)
		l->product = l->product && d->detour[i].reorder == NULL;
	if (!l->product)
		return;
	snprintf(d->name, sizeof(d->name), "gemm:transposed");
	if (l->needs.scratch < dnnl_fc_scratch(&l->shape))
		l->needs.scratch = dnnl_fc_scratch(&l->shape);
}

int
dnnl_layer_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct dnnl_layer *like,
    struct dnnl_layer **layer)
{
	struct dnnl_layer *l = calloc(1, sizeof(*l));
	int e;

	if (l == NULL)
		return err_nomem();
	l->dev = dev;
	l->shape = *shape;
	if ((e = make_layer(l, like)) < 0) {
		dnnl_layer_free(l);
		return e;
	}
	choose_product(l);
	*layer = l;
	return 0;
}

void
dnnl_layer_free(struct dnnl_layer *l)
{
	if (l == NULL)
		return;
	for (int i = 0; i < DNNL_DIRECTIONS; i++) {
		struct direction *d = &l->direction[i];

		for (uint32_t j = 0; j < OPERANDS; j++) {
			dnnl_primitive_destroy(d->detour[j].reorder);
			dnnl_memory_destroy(d->detour[j].inner);
		}
		dnnl_memory_destroy(d->scratch);
		dnnl_primitive_destroy(d->kernel);
	}
	for (int r = 0; r < ROLES; r++) {
		dnnl_memory_destroy(l->mem[r]);
		dnnl_lib_desc_free(l->md[r]);
	}
	dnnl_primitive_destroy(l->load);
	free(l);
}

const struct dnnl_needs *
dnnl_layer_needs(const struct dnnl_layer *l)
{
	return &l->needs;
}

int
dnnl_layer_bind(struct dnnl_layer *l, const struct dnnl_place *p)
{
	/* The library's memory has no const; it only reads scale and shift. */
	void *const at[ROLES] = { [X] = p->x, [Y] = p->y, [DX] = p->dx, [DY] = p->dy, [PACKED] = p->packed,
	    [BIAS] = p->bias, [DBIAS] = p->dbias, [SCALE] = (void *)(uintptr_t)p->scale,
	    [SHIFT] = (void *)(uintptr_t)p->shift };
	dnnl_status_t e = dnnl_success;

	l->place = *p;
	for (int r = 0; r < ROLES && e == dnnl_success; r++)
		if (at[r] != NULL)
			e = dnnl_memory_set_data_handle(l->mem[r], at[r]);
	for (int i = 0; i < DNNL_DIRECTIONS && e == dnnl_success; i++) {
		struct direction *d = &l->direction[i];

		if (d->kernel == NULL)
			continue;
		e = dnnl_memory_set_data_handle(d->scratch, p->scratch);
		for (uint32_t j = 0; j < d->n && e == dnnl_success; j++)
			if (d->detour[j].reorder != NULL)
				e = dnnl_memory_set_data_handle(d->detour[j].inner,
				    (char *)p->scratch + d->detour[j].at);
	}
	return e == dnnl_success ? 0 : dnnl_dev_fail("bind", e);
}

static dnnl_status_t
run_reorder(struct dnnl_dev *dev, dnnl_primitive_t p, dnnl_memory_t from, dnnl_memory_t to)
{
	const dnnl_exec_arg_t arg[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };

	return dnnl_primitive_execute(p, dev->stream, 2, arg);
}

/* Reorders the operands that the kernel reads, or with out those that it wrote. */
static dnnl_status_t
run_detours(const struct dnnl_layer *l, enum dnnl_direction dir, bool out)
{
	dnnl_status_t e = dnnl_success;

	for (uint32_t i = 0; i < l->direction[dir].n && e == dnnl_success; i++) {
		const struct detour *t = &l->direction[dir].detour[i];
		dnnl_memory_t outer = l->mem[operands[dir][i].role];

		if (t->reorder != NULL && operands[dir][i].out == out)
			e = run_reorder(l->dev, t->reorder, out ? t->inner : outer, out ? outer : t->inner);
	}
	return e;
}

int
dnnl_layer_run(struct dnnl_layer *l, enum dnnl_direction dir, float *dw)
{
	const struct direction *d = &l->direction[dir];
	dnnl_status_t e = dnnl_success;

	if (dir == DNNL_FORWARD && l->product)
		return dnnl_fc_forward(&l->shape, &l->place);
	if (dir == DNNL_WEIGHT)
		e = dnnl_memory_set_data_handle(l->mem[DW], dw);
	if (e == dnnl_success && (e = run_detours(l, dir, false)) == dnnl_success &&
	    (e = dnnl_primitive_execute(d->kernel, l->dev->stream, (int)d->n + 1, d->arg)) == dnnl_success)
		e = run_detours(l, dir, true);
	return e == dnnl_success ? 0 : dnnl_dev_fail("run", e);
}

int
dnnl_layer_load(struct dnnl_layer *l, const float *w)
{
	void *packed;
	dnnl_status_t e;

	if (l->load == NULL) {
		dnnl_memory_get_data_handle(l->mem[PACKED], &packed);
		memcpy(packed, w, l->needs.packed);
		return 0;
	}
	/* dw has the layout of w.  The library's memory has no const; the reorder only reads it. */
	e = dnnl_memory_set_data_handle(l->mem[DW], (void *)(uintptr_t)w);
	if (e == dnnl_success)
		e = run_reorder(l->dev, l->load, l->mem[DW], l->mem[PACKED]);
	return e == dnnl_success ? 0 : dnnl_dev_fail("load", e);
}
