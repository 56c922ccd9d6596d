/*
 * dnn - convolutions by cuDNN, alone or with bias, sum and ReLU in one operation graph.
 *
 * The library proposes execution plans in the order of its own estimate: its heuristic mode A, then
 * its fallbacks. The first plan that is allowed is taken, or the fastest of the first few. The
 * proposals depend on the shape, the device and the library's version alone, and so do the bits.
 *
 * Engines that compile their kernels at run time take half a second for each shape.  They are allowed only
 * where kernels race, with --autotune, which is slow anyway.
 *
 * Source: the vendor's "cuDNN Graph API", backend descriptor types.
 */
#include "engine/cuda/device/dnn.h"
#include "engine/cuda/device/choose.h"
#include "engine/cuda/device/dnn_desc.h"
#include "engine/cuda/device/dnn_race.h"
#include "engine/cuda/device/device_in.h"
#include "engine/cuda/kernel/kernel.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

/* most bytes of scratch; fast f32 kernels convert layouts in it */
#define SCRATCH	((int64_t)1 << 30)
#define MOST	64			/* most proposals considered */

/* UID_VIRTUAL and later ones are not in memory */
enum { UID_X = 1, UID_W, UID_Y, UID_BIAS, UID_ADDEND, UID_VIRTUAL };

#define OPS	4	/* most operations of a graph */

struct dnn {
	struct device	*d;
	struct dnn_desc	 all;		/* the descriptors that the plan needs */
	cudnnBackendDescriptor_t graph, plan, pack;
	int64_t		 bytes;
	char		 engine[ENGINE_CHOICE];
	struct dnn_shape shape;
	bool		 any_order;	/* the plan adds in an order that changes */
	bool		 may_compile, compiled;	/* engines that compile at run time are allowed; the plan's is one */
};

/* The proposals of one heuristic mode, in the library's order. */
struct proposals {
	struct dnn_desc	 all;
	uint32_t	 n;
	cudnnBackendDescriptor_t config[MOST];
};

/* cuDNN's names for each direction. */
static const struct {
	cudnnBackendDescriptorType_t op;
	cudnnBackendAttributeName_t x, w, y, conv, alpha, beta;
} names[] = {
	[DNN_FORWARD] = {
		CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA },
	[DNN_DATA] = {
		CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA },
	[DNN_WEIGHT] = {
		CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA },
};

static cudnnDataType_t
get_dnn_type(int type)
{
	return type == KERNEL_F32 ? CUDNN_DATA_FLOAT : type == KERNEL_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

/* Adds the convolution, which writes y. */
static cudnnBackendDescriptor_t
add_convolution(struct dnn_desc *a, const struct dnn_shape *s, cudnnBackendDescriptor_t y)
{
	const float one = 1, zero = 0;
	cudnnBackendDescriptor_t x, w, conv, op;

	x = dnn_desc_tensor(a, UID_X, get_dnn_type(s->type), (uint32_t[]){ s->n, s->c, s->h, s->w });
	w = dnn_desc_tensor(a, UID_W, get_dnn_type(s->type), (uint32_t[]){ s->k, s->c / s->groups, s->r, s->s });
	conv = dnn_desc_conv(a, s->stride, s->pad, s->dilate);
	op = dnn_desc_new(a, names[s->way].op);
	dnn_desc_set(a, op, names[s->way].x, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
	dnn_desc_set(a, op, names[s->way].w, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &w);
	dnn_desc_set(a, op, names[s->way].y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
	dnn_desc_set(a, op, names[s->way].conv, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &conv);
	dnn_desc_set(a, op, names[s->way].alpha, CUDNN_TYPE_FLOAT, 1, &one);
	dnn_desc_set(a, op, names[s->way].beta, CUDNN_TYPE_FLOAT, 1, &zero);
	dnn_desc_ready(a, op);
	return op;
}

/*
 * Describes the operations and their graph: each reads the result of the one before, and the last
 * writes y.
 */
static void
describe_graph(struct dnn *c, const struct dnn_shape *s)
{
	const uint32_t dim[4] = { s->n, s->k, s->oh, s->ow }, after = (s->bias > 0) + (uint32_t)s->addend + s->relu;
	struct dnn_desc *a = &c->all;
	cudnnBackendDescriptor_t y[OPS], op[OPS], bias;
	uint32_t n = 0;

	for (uint32_t i = 0; i < after; i++)
		y[i] = dnn_desc_virtual(a, UID_VIRTUAL + (int64_t)i, dim);
	y[after] = dnn_desc_tensor(a, UID_Y, get_dnn_type(s->type), dim);
	op[n++] = add_convolution(a, s, y[0]);
	if (s->addend) {
		op[n] = dnn_desc_point(a, CUDNN_POINTWISE_ADD, y[n - 1],
		    dnn_desc_tensor(a, UID_ADDEND, get_dnn_type(s->type), dim), y[n]);
		n++;
	}
	if (s->bias > 0) {
		bias = dnn_desc_channels(a, UID_BIAS, get_dnn_type(s->type), s->k, s->bias);
		op[n] = dnn_desc_point(a, CUDNN_POINTWISE_ADD, y[n - 1], bias, y[n]);
		n++;
	}
	if (s->relu) {
		op[n] = dnn_desc_point(a, CUDNN_POINTWISE_RELU_FWD, y[n - 1], NULL, y[n]);
		n++;
	}
	c->graph = dnn_desc_new(a, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	dnn_desc_set(a, c->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, op);
	if (c->d->like == NULL)
		dnn_desc_set(a, c->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &c->d->dnn);
	dnn_desc_ready(a, c->graph);
}

/* Does the shape allow these numerical notes? */
static bool
do_notes_allow(const struct dnn_shape *s, const cudnnBackendNumericalNote_t *note, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		switch (note[i]) {
		case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
			if (!s->any_order)
				return false;
			break;
		case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
			if (s->type == KERNEL_F32)
				return false;
			break;
		case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
			if (s->type == KERNEL_F32 && !s->tf32)
				return false;
			break;
		case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
		/* large tiles lose digits: Lavin and Gray, CVPR 2016 */
		case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
			return false;
		default:
			break;
		}
	return true;
}

/* An engine's number and properties. */
struct engine_facts {
	int64_t	 number;
	bool	 any_order, compiled;
};

/* Finds the engine of a proposal.  Returns false if that fails or the engine is not allowed. */
static bool
find_engine(struct dnn_desc *a, const struct dnn *c, cudnnBackendDescriptor_t config, struct engine_facts *f)
{
	cudnnBackendNumericalNote_t note[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
	cudnnBackendBehaviorNote_t behavior[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
	cudnnBackendDescriptor_t engine = dnn_desc_new(a, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	int64_t notes, behaviors;

	dnn_desc_get(a, config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
	notes = dnn_desc_get(a, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
	    CUDNN_NUMERICAL_NOTE_TYPE_COUNT, note);
	behaviors = dnn_desc_get(a, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
	    CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, behavior);
	dnn_desc_get(a, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &f->number);
	f->any_order = f->compiled = false;
	for (int64_t i = 0; i < notes; i++)
		f->any_order |= note[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
	for (int64_t i = 0; i < behaviors; i++)
		f->compiled |= behavior[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
	return a->e == CUDNN_STATUS_SUCCESS && do_notes_allow(&c->shape, note, notes) &&
	    (!f->compiled || c->may_compile);
}

/* "57 2=1 10=3": an engine and its knobs. */
static void
name_dnn_engine(cudnnBackendDescriptor_t config, int64_t number, char name[ENGINE_CHOICE])
{
	cudnnBackendDescriptor_t knob[CUDNN_KNOB_TYPE_COUNTS];
	struct dnn_desc a = { .e = CUDNN_STATUS_SUCCESS };
	int64_t n, value;
	int at = snprintf(name, ENGINE_CHOICE, "%lld", (long long)number);
	cudnnBackendKnobType_t type;

	for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; i++)
		knob[i] = dnn_desc_new(&a, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
	n = dnn_desc_get(&a, config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
	    CUDNN_KNOB_TYPE_COUNTS, knob);
	for (int64_t i = 0; i < n && at < ENGINE_CHOICE; i++) {
		dnn_desc_get(&a, knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
		dnn_desc_get(&a, knob[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value);
		if (a.e == CUDNN_STATUS_SUCCESS)
			at += snprintf(name + at, (size_t)(ENGINE_CHOICE - at), " %d=%lld", (int)type,
			    (long long)value);
	}
	dnn_desc_free(&a);
}

/* Makes a plan of one proposal.  Returns false if that fails or the plan is not allowed. */
static bool
build_dnn_plan(struct dnn *c, cudnnBackendDescriptor_t config)
{
	struct dnn_desc a = { .e = CUDNN_STATUS_SUCCESS };
	cudnnBackendDescriptor_t plan;
	struct engine_facts f;
	int64_t bytes = 0;

	if (!find_engine(&a, c, config, &f)) {
		dnn_desc_free(&a);
		return false;
	}
	plan = dnn_desc_new(&a, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	if (c->d->like != NULL)
		dnn_desc_set(&a, plan, DNN_DESC_PLAN_DEVICE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &c->d->like);
	else
		dnn_desc_set(&a, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &c->d->dnn);
	dnn_desc_set(&a, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
	dnn_desc_ready(&a, plan);
	dnn_desc_get(&a, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
	if (a.e != CUDNN_STATUS_SUCCESS || bytes > SCRATCH) {
		dnn_desc_free(&a);
		return false;
	}
	c->plan = plan;
	c->bytes = bytes;
	c->any_order = f.any_order;
	c->compiled = f.compiled;
	name_dnn_engine(config, f.number, c->engine);
	dnn_desc_join(&c->all, &a);
	return true;
}

/* Asks for the proposals of a mode.  The caller frees p->all. */
static void
propose_dnn_plans(struct dnn *c, cudnnBackendHeurMode_t mode, struct proposals *p)
{
	struct dnn_desc *a = &p->all;
	cudnnBackendDescriptor_t heur;
	int64_t n;

	*p = (struct proposals){ .all.e = CUDNN_STATUS_SUCCESS };
	heur = dnn_desc_new(a, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
	dnn_desc_set(a, heur, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &c->graph);
	dnn_desc_set(a, heur, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
	if (c->d->like != NULL)
		dnn_desc_set(a, heur, DNN_DESC_HEUR_DEVICE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &c->d->like);
	dnn_desc_ready(a, heur);
	n = dnn_desc_get(a, heur, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, NULL);
	n = n < MOST ? n : MOST;
	for (int64_t i = 0; i < n; i++)
		p->config[i] = dnn_desc_new(a, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	if (n > 0)
		n = dnn_desc_get(a, heur, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, p->config);
	p->n = a->e == CUDNN_STATUS_SUCCESS ? (uint32_t)n : 0;
}

struct runner {
	const struct dnn       *c;
	const struct dnn_shape *s;
	cudnnBackendDescriptor_t config[CHOOSE_MOST];
};

static bool
race_dnn_plan(void *arg, uint32_t i, double *us)
{
	const struct runner *r = arg;
	struct dnn *one;
	bool ran;

	if (r->c->d->like != NULL || dnn_like(r->c, &one) < 0)
		return false;
	ran = build_dnn_plan(one, r->config[i]) && dnn_race(r->c->d, one, r->s, (size_t)one->bytes, us) == 0;
	dnn_close(one);
	return ran;
}

/* Takes the fastest of the first few proposals that are allowed. */
static bool
take_fastest(struct dnn *c, const struct dnn_shape *s, const struct engine_tune *tune, const struct proposals *p)
{
	struct runner r = { .c = c, .s = s };
	struct choose_candidates w = { .race = race_dnn_plan, .arg = &r };

	for (uint32_t i = 0; i < p->n && w.n < CHOOSE_MOST; i++) {
		struct dnn_desc a = { .e = CUDNN_STATUS_SUCCESS };
		struct engine_facts f;

		if (find_engine(&a, c, p->config[i], &f)) {
			name_dnn_engine(p->config[i], f.number, w.name[w.n]);
			r.config[w.n++] = p->config[i];
		}
		dnn_desc_free(&a);
	}
	return w.n > 0 && build_dnn_plan(c, r.config[choose_kernel(c->d, s, tune, &w)]);
}

/* Makes a plan of a mode's proposals.  Returns false if none works. */
static bool
choose_dnn_plan(struct dnn *c, const struct dnn_shape *s, const struct engine_tune *tune, cudnnBackendHeurMode_t mode)
{
	struct proposals p;
	bool got;

	propose_dnn_plans(c, mode, &p);
	got = tune->measure && take_fastest(c, s, tune, &p);
	for (uint32_t i = 0; i < p.n && !got; i++)
		got = build_dnn_plan(c, p.config[i]);
	if (got)
		dnn_desc_join(&c->all, &p.all);
	else
		dnn_desc_free(&p.all);
	return got;
}

static int
fail_dnn(const struct device *d, const char *what, cudnnStatus_t e)
{
	d->host->note(0, "GPU %d: cuDNN: %s: %s", d->number, what, cudnnGetErrorString(e));
	return e / 1000 == 3 ? ERR_NOTSUP : ERR_SYS;
}

int
dnn_open(struct device *d, const struct dnn_shape *shape, const struct engine_tune *tune, struct dnn **c,
    size_t *scratch)
{
	int e;

	if ((*c = calloc(1, sizeof(**c))) == NULL)
		return device_nomem(d->host);
	(*c)->d = d;
	(*c)->shape = *shape;
	(*c)->may_compile = tune->measure;
	describe_graph(*c, shape);
	if ((*c)->all.e != CUDNN_STATUS_SUCCESS) {
		e = fail_dnn(d, "a convolution", (*c)->all.e);
	} else if (!choose_dnn_plan(*c, shape, tune, CUDNN_HEUR_MODE_A) &&
	    !choose_dnn_plan(*c, shape, tune, CUDNN_HEUR_MODE_FALLBACK)) {
		d->host->note(0, "GPU %d: cuDNN has no kernel for it%s", d->number, shape->any_order ? "" :
		    " that adds in a fixed order");
		e = ERR_NOTSUP;
	} else {
		*scratch = (size_t)(*c)->bytes;
		return 0;
	}
	dnn_close(*c);
	*c = NULL;
	return e;
}

void
dnn_close(struct dnn *c)
{
	if (c == NULL)
		return;
	dnn_desc_free(&c->all);
	free(c);
}

int
dnn_like(const struct dnn *of, struct dnn **c)
{
	if ((*c = calloc(1, sizeof(**c))) == NULL)
		return device_nomem(of->d->host);
	**c = *of;
	(*c)->all.n = 0;
	(*c)->pack = NULL;
	return 0;
}

const struct dnn_shape *
dnn_get_shape(const struct dnn *c)
{
	return &c->shape;
}

int
dnn_bind(struct dnn *c, const struct dnn_places *at)
{
	int64_t uid[5] = { UID_X, UID_W, UID_Y }, n = 3;
	void *where[5] = { at->x, at->w, at->y }, *scratch = at->scratch;

	if (c->shape.bias > 0) {
		uid[n] = UID_BIAS;
		where[n++] = at->bias;
	}
	if (c->shape.addend) {
		uid[n] = UID_ADDEND;
		where[n++] = at->addend;
	}
	if (c->pack != NULL)
		dnn_desc_drop(&c->all, c->pack);
	c->pack = dnn_desc_new(&c->all, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	dnn_desc_set(&c->all, c->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, uid);
	dnn_desc_set(&c->all, c->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, where);
	dnn_desc_set(&c->all, c->pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch);
	dnn_desc_ready(&c->all, c->pack);
	return c->all.e == CUDNN_STATUS_SUCCESS ? 0 : fail_dnn(c->d, "a convolution's memory", c->all.e);
}

int
dnn_run(struct dnn *c)
{
	cudnnStatus_t e = cudnnBackendExecute(c->d->dnn, c->plan, c->pack);

	return e == CUDNN_STATUS_SUCCESS ? 0 : fail_dnn(c->d, "a convolution's run", e);
}

int
dnn_name(const struct dnn *c, struct buf *out)
{
	return c->d->host->put(out, "cuDNN engine %s, %s%s%lld bytes of scratch", c->engine,
	    c->any_order ? "sums in any order, " : "", c->compiled ? "compiled at run time, " : "",
	    (long long)c->bytes);
}

void
dnn_engine(const struct dnn *c, char text[ENGINE_CHOICE])
{
	snprintf(text, ENGINE_CHOICE, "cuDNN engine %.*s%s", (int)strcspn(c->engine, " "), c->engine,
	    c->compiled ? " compiled at run time" : "");
}
