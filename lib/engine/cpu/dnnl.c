/* dnnl - turns a layer's shape into kernels of oneDNN and runs them. */
#include "engine/cpu/dnnl_pick.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an operand is to the layer; its memory descriptor here is the one agreed with the caller. */
enum role { X, Y, DX, DY, HELD, DW, BIAS, DBIAS, ROLES };

/* Operands of each direction: the library's name, ours, and whether it comes out. */
struct operand {
	int	  arg;
	enum role role;
	bool	  out;
};

#define OPERANDS 4

static const struct operand operands[DNNL_WAYS][OPERANDS] = {
	[DNNL_FORWARD] = { { DNNL_ARG_SRC, X, false }, { DNNL_ARG_WEIGHTS, HELD, false },
	    { DNNL_ARG_DST, Y, true }, { DNNL_ARG_BIAS, BIAS, false } },
	[DNNL_DATA] = { { DNNL_ARG_DIFF_DST, DY, false }, { DNNL_ARG_WEIGHTS, HELD, false },
	    { DNNL_ARG_DIFF_SRC, DX, true } },
	[DNNL_WEIGHT] = { { DNNL_ARG_SRC, X, false }, { DNNL_ARG_DIFF_DST, DY, false },
	    { DNNL_ARG_DIFF_WEIGHTS, DW, true }, { DNNL_ARG_DIFF_BIAS, DBIAS, true } },
};

/* An operand of a kernel that wants another layout than the one agreed. */
struct detour {
	dnnl_memory_t	 inner;		/* lies in scratch */
	dnnl_primitive_t reorder;
	size_t		 at;		/* bytes into scratch */
};

struct way {
	dnnl_primitive_t kernel;	/* NULL: none */
	uint32_t	 n;		/* operands in use */
	dnnl_exec_arg_t	 arg[OPERANDS + 1];
	struct detour	 detour[OPERANDS];	/* reorder NULL: none */
	dnnl_memory_t	 scratch;
	char		 name[96];
};

struct dnnl_mul {
	struct dnnl_dev	  *dev;
	struct dnnl_shape  shape;
	struct dnnl_pick_blocks blocks;
	dnnl_lib_desc	   md[ROLES];
	dnnl_memory_t	   mem[ROLES];
	dnnl_memory_t	   canon;		/* weights as they come from outside */
	dnnl_primitive_t   load;		/* NULL: held is canonical */
	struct way	   way[DNNL_WAYS];
	size_t		   scratch;
};

static size_t
round_up_to_64(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

/* A reorder from one layout to another; without memory of its own (in scratch) it needs none. */
static int
reorder_new(struct dnnl_dev *d, dnnl_lib_desc from, dnnl_lib_desc to, dnnl_primitive_t *p)
{
	dnnl_primitive_desc_t pd;
	dnnl_status_t e = dnnl_reorder_primitive_desc_create(&pd, from, d->engine, to, d->engine, NULL);

	if (e == dnnl_success) {
		e = dnnl_primitive_create(p, pd);
		dnnl_primitive_desc_destroy(pd);
	}
	return e == dnnl_success ? 0 : dnnl_dev_fail("reorder", e);
}

static int
mem_new(struct dnnl_dev *d, dnnl_lib_desc md, dnnl_memory_t *mem)
{
	dnnl_status_t e = dnnl_memory_create(mem, md, d->engine, DNNL_MEMORY_NONE);

	return e == dnnl_success ? 0 : dnnl_dev_fail("memory", e);
}

/* Joins one operand of a kernel to the agreed memory, over a reorder where the layouts differ. */
static int
operand_join(struct dnnl_mul *m, struct way *w, const struct operand *o, dnnl_lib_desc inner)
{
	struct detour *t = &w->detour[w->n];
	dnnl_lib_desc outer = m->md[o->role];
	int e;

	w->arg[w->n].arg = o->arg;
	w->arg[w->n].memory = m->mem[o->role];
	if (!dnnl_memory_desc_equal(inner, outer)) {
		if ((e = mem_new(m->dev, inner, &t->inner)) < 0 ||
		    (e = reorder_new(m->dev, o->out ? inner : outer, o->out ? outer : inner, &t->reorder)) < 0)
			return e;
		w->arg[w->n].memory = t->inner;
		t->at = m->scratch;	/* for now behind this kernel's own; see way_new */
		m->scratch += round_up_to_64(dnnl_memory_desc_get_size(inner));
		if (o->role != HELD && o->role != DW)
			strncat(w->name, "+reorder", sizeof(w->name) - strlen(w->name) - 1);
	}
	w->n++;
	return 0;
}

/* Makes one direction from its descriptor, which is taken. */
static int
way_new(struct dnnl_mul *m, enum dnnl_way way, dnnl_primitive_desc_t pd)
{
	struct way *w = &m->way[way];
	dnnl_lib_desc own = dnnl_pick_operand(pd, DNNL_ARG_SCRATCHPAD);
	size_t most = m->scratch;
	dnnl_status_t s;
	int e;

	snprintf(w->name, sizeof(w->name), "%s", dnnl_pick_name(pd));
	m->scratch = round_up_to_64(dnnl_memory_desc_get_size(own));
	e = mem_new(m->dev, own, &w->scratch);
	for (uint32_t i = 0; i < OPERANDS && e == 0; i++) {
		const struct operand *o = &operands[way][i];

		if (o->arg != 0 && (m->shape.bias || (o->role != BIAS && o->role != DBIAS)))
			e = operand_join(m, w, o, dnnl_pick_operand(pd, o->arg));
	}
	w->arg[w->n] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, w->scratch };
	if (e == 0 && (s = dnnl_primitive_create(&w->kernel, pd)) != dnnl_success)
		e = dnnl_dev_fail("kernel", s);
	dnnl_primitive_desc_destroy(pd);
	if (m->scratch < most)
		m->scratch = most;
	return e;
}

/* ------ the layer ------ */

/* The descriptors agreed with the caller; held weights lie as the forward kernel or `like` has them. */
static int
agree_descriptors(struct dnnl_mul *m, const struct dnnl_mul *like, const_dnnl_primitive_desc_t forward)
{
	int e = 0;

	m->md[X] = dnnl_pick_x(&m->shape, m->blocks.x);
	m->md[DX] = dnnl_pick_x(&m->shape, m->blocks.x);
	m->md[Y] = dnnl_pick_y(&m->shape, m->blocks.y);
	m->md[DY] = dnnl_pick_dy(&m->shape, m->blocks.y);
	m->md[HELD] = dnnl_lib_desc_clone(like ? like->md[HELD] : dnnl_pick_operand(forward, DNNL_ARG_WEIGHTS));
	m->md[DW] = dnnl_pick_canonical(&m->shape);
	m->md[BIAS] = dnnl_pick_vector(&m->shape);
	m->md[DBIAS] = dnnl_pick_vector(&m->shape);
	for (int r = 0; r < ROLES && e == 0; r++)
		e = m->md[r] != NULL ? mem_new(m->dev, m->md[r], &m->mem[r]) : err_nomem();
	if (e == 0)
		e = mem_new(m->dev, m->md[DW], &m->canon);
	if (e == 0 && !dnnl_memory_desc_equal(m->md[DW], m->md[HELD]))
		e = reorder_new(m->dev, m->md[DW], m->md[HELD], &m->load);
	return e;
}

static int
mul_make(struct dnnl_mul *m, const struct dnnl_mul *like)
{
	dnnl_primitive_desc_t forward, pd, hint = NULL;
	int e;

	if (like != NULL)
		m->blocks = like->blocks;
	else
		dnnl_pick_agree(m->dev, &m->shape, &m->blocks);
	if ((e = dnnl_pick(m->dev, &m->shape, m->blocks, DNNL_FORWARD, NULL, &forward)) < 0)
		return e;
	if (dnnl_primitive_desc_clone(&hint, forward) != dnnl_success) {
		dnnl_primitive_desc_destroy(forward);
		return err_nomem();
	}
	e = agree_descriptors(m, like, hint);
	if (e == 0)
		e = way_new(m, DNNL_FORWARD, forward);
	else
		dnnl_primitive_desc_destroy(forward);
	for (enum dnnl_way way = m->shape.data ? DNNL_DATA : DNNL_WEIGHT; way < DNNL_WAYS && e == 0; way++)
		if ((e = dnnl_pick(m->dev, &m->shape, m->blocks, way, hint, &pd)) == 0)
			e = way_new(m, way, pd);
	dnnl_primitive_desc_destroy(hint);
	return e;
}

int
dnnl_mul_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct dnnl_mul *like,
    struct dnnl_mul **mul)
{
	struct dnnl_mul *m = calloc(1, sizeof(*m));
	int e;

	if (m == NULL)
		return err_nomem();
	m->dev = dev;
	m->shape = *shape;
	if ((e = mul_make(m, like)) < 0) {
		dnnl_mul_free(m);
		return e;
	}
	*mul = m;
	return 0;
}

void
dnnl_mul_free(struct dnnl_mul *m)
{
	if (m == NULL)
		return;
	for (int i = 0; i < DNNL_WAYS; i++) {
		struct way *w = &m->way[i];

		for (uint32_t j = 0; j < OPERANDS; j++) {
			dnnl_primitive_destroy(w->detour[j].reorder);
			dnnl_memory_destroy(w->detour[j].inner);
		}
		dnnl_memory_destroy(w->scratch);
		dnnl_primitive_destroy(w->kernel);
	}
	for (int r = 0; r < ROLES; r++) {
		dnnl_memory_destroy(m->mem[r]);
		dnnl_lib_desc_free(m->md[r]);
	}
	dnnl_memory_destroy(m->canon);
	dnnl_primitive_destroy(m->load);
	free(m);
}

uint32_t
dnnl_mul_x_block(const struct dnnl_mul *m)
{
	return m->blocks.x;
}

uint32_t
dnnl_mul_y_block(const struct dnnl_mul *m)
{
	return m->blocks.y;
}

size_t
dnnl_mul_held(const struct dnnl_mul *m)
{
	return dnnl_memory_desc_get_size(m->md[HELD]);
}

size_t
dnnl_mul_scratch(const struct dnnl_mul *m)
{
	return m->scratch;
}

const char *
dnnl_mul_kernel(const struct dnnl_mul *m, enum dnnl_way way)
{
	return m->way[way].kernel ? m->way[way].name : "-";
}

int
dnnl_mul_bind(struct dnnl_mul *m, const struct dnnl_place *p)
{
	void *const at[ROLES] = { [X] = p->x, [Y] = p->y, [DX] = p->dx, [DY] = p->dy, [HELD] = p->held,
	    [BIAS] = p->bias, [DBIAS] = p->dbias };
	dnnl_status_t e = dnnl_success;

	for (int r = 0; r < ROLES && e == dnnl_success; r++)
		if (at[r] != NULL)
			e = dnnl_memory_set_data_handle(m->mem[r], at[r]);
	for (int i = 0; i < DNNL_WAYS && e == dnnl_success; i++) {
		struct way *w = &m->way[i];

		if (w->kernel == NULL)
			continue;
		e = dnnl_memory_set_data_handle(w->scratch, p->scratch);
		for (uint32_t j = 0; j < w->n && e == dnnl_success; j++)
			if (w->detour[j].reorder != NULL)
				e = dnnl_memory_set_data_handle(w->detour[j].inner,
				    (char *)p->scratch + w->detour[j].at);
	}
	return e == dnnl_success ? 0 : dnnl_dev_fail("bind", e);
}

static dnnl_status_t
reorder_run(struct dnnl_dev *d, dnnl_primitive_t p, dnnl_memory_t from, dnnl_memory_t to)
{
	const dnnl_exec_arg_t arg[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };

	return dnnl_primitive_execute(p, d->stream, 2, arg);
}

static int
way_run(struct dnnl_mul *m, enum dnnl_way way)
{
	struct way *w = &m->way[way];
	dnnl_status_t e = dnnl_success;

	for (uint32_t i = 0; i < w->n && e == dnnl_success; i++)
		if (w->detour[i].reorder != NULL && !operands[way][i].out)
			e = reorder_run(m->dev, w->detour[i].reorder, m->mem[operands[way][i].role],
			    w->detour[i].inner);
	if (e == dnnl_success)
		e = dnnl_primitive_execute(w->kernel, m->dev->stream, (int)w->n + 1, w->arg);
	for (uint32_t i = 0; i < w->n && e == dnnl_success; i++)
		if (w->detour[i].reorder != NULL && operands[way][i].out)
			e = reorder_run(m->dev, w->detour[i].reorder, w->detour[i].inner,
			    m->mem[operands[way][i].role]);
	return e == dnnl_success ? 0 : dnnl_dev_fail("run", e);
}

int
dnnl_mul_forward(struct dnnl_mul *m)
{
	return way_run(m, DNNL_FORWARD);
}

int
dnnl_mul_data(struct dnnl_mul *m)
{
	return way_run(m, DNNL_DATA);
}

int
dnnl_mul_weight(struct dnnl_mul *m, float *dw)
{
	dnnl_status_t e = dnnl_memory_set_data_handle(m->mem[DW], dw);

	return e == dnnl_success ? way_run(m, DNNL_WEIGHT) : dnnl_dev_fail("bind", e);
}

int
dnnl_mul_load(struct dnnl_mul *m, const float *w)
{
	void *held;
	dnnl_status_t e;

	if (m->load == NULL) {
		dnnl_memory_get_data_handle(m->mem[HELD], &held);
		memcpy(held, w, dnnl_memory_desc_get_size(m->md[HELD]));
		return 0;
	}
	/* The library's memory has no const; the reorder only reads it. */
	e = dnnl_memory_set_data_handle(m->canon, (void *)(uintptr_t)w);
	if (e == dnnl_success)
		e = reorder_run(m->dev, m->load, m->canon, m->mem[HELD]);
	return e == dnnl_success ? 0 : dnnl_dev_fail("load", e);
}
