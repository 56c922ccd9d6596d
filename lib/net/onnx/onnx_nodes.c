/* onnx_nodes - a net's layers into the nodes of a graph of ONNX. */
#include "net/onnx/onnx_in.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define INPUT	"data"

/* What a node's value is: ours have four dimensions, a full layer's of ONNX and what comes of it two. */
enum {
	FLAT = 1,	/* it is [N,c] */
	OTHER = 2	/* it was made the other of [N,c] and [N,c,h,w] as well */
};

struct onnx {
	const struct graph *g;
	struct proto	 p;
	uint32_t	*as;		/* [n] the node whose value it is: dropout hands its input on */
	uint8_t		*form;		/* [n] */
};

/* A name within the model; nodes' and arrays' have no colon. */
struct text {
	char	 s[GRAPH_NAME + 32];
};

static struct text
part(const struct graph_node *n, const char *what)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%s:%s", n->name, what);
	return t;
}

static struct text
value(const struct onnx *o, uint32_t i)
{
	struct text t = { INPUT };

	return i == 0 ? t : part(&o->g->node[i], "0");
}

static struct text
array(const struct graph_array *a)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%s", a->name);
	return t;
}

static struct text
scalar(struct onnx *o, const struct graph_node *n, const char *what, float v)
{
	struct text t = part(n, what);

	onnx_scalar(&o->p, t.s, v);
	return t;
}

/* --- values of two and of four dimensions */

static struct text
flat(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text out = part(n, "flat");

	if (o->form[i] & FLAT)
		return value(o, i);
	if (!(o->form[i] & OTHER)) {
		size_t at = onnx_begin(&o->p, "Flatten", out.s, ONNX_IN(value(o, i).s));

		onnx_whole(&o->p, "axis", 1);
		onnx_end(&o->p, at);
	}
	o->form[i] |= OTHER;
	return out;
}

static struct text
planes(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text out = part(n, "planes"), shape = part(n, "shape");

	if (!(o->form[i] & FLAT))
		return value(o, i);
	if (!(o->form[i] & OTHER)) {
		onnx_constants(&o->p, shape.s, (const int64_t[]){ 0, n->c, n->h, n->w }, 4);	/* 0: as it is */
		onnx_plain(&o->p, "Reshape", out.s, ONNX_IN(value(o, i).s, shape.s));
	}
	o->form[i] |= OTHER;
	return out;
}

static uint32_t
input(const struct onnx *o, uint32_t i)
{
	return o->as[o->g->node[i].in[0]];
}

/* What it reads, of which each number, or each channel, is looked at by itself: two dimensions stay two. */
static struct text
kept(struct onnx *o, uint32_t i)
{
	uint32_t in = input(o, i);

	o->form[i] = o->form[in] & FLAT;
	return value(o, in);
}

/* --- layers */

static int
conv(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text x = planes(o, input(o, i)), w = array(&o->g->w[n->weight]), b = { "" };
	size_t at;

	if (n->bias)
		b = array(&o->g->w[n->bias_at]);
	at = onnx_begin(&o->p, "Conv", value(o, i).s, n->bias ? ONNX_IN(x.s, w.s, b.s) : ONNX_IN(x.s, w.s));
	onnx_wholes(&o->p, "kernel_shape", (const int64_t[]){ n->r, n->s }, 2);
	onnx_wholes(&o->p, "strides", (const int64_t[]){ n->stride[0], n->stride[1] }, 2);
	onnx_wholes(&o->p, "pads", (const int64_t[]){ n->pad[0], n->pad[1], n->pad[0], n->pad[1] }, 4);
	onnx_wholes(&o->p, "dilations", (const int64_t[]){ n->dilate[0], n->dilate[1] }, 2);
	onnx_whole(&o->p, "group", n->groups);
	onnx_end(&o->p, at);
	return 0;
}

static int
fc(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text x = flat(o, input(o, i)), w = array(&o->g->w[n->weight]), b = { "" };
	size_t at;

	if (n->bias)
		b = array(&o->g->w[n->bias_at]);
	at = onnx_begin(&o->p, "Gemm", value(o, i).s, n->bias ? ONNX_IN(x.s, w.s, b.s) : ONNX_IN(x.s, w.s));
	onnx_whole(&o->p, "transB", 1);
	onnx_end(&o->p, at);
	o->form[i] = FLAT;
	return 0;
}

static int
bn(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	const struct graph *g = o->g;
	struct text x = kept(o, i);
	size_t at = onnx_begin(&o->p, "BatchNormalization", value(o, i).s, ONNX_IN(x.s, array(&g->w[n->gamma]).s, array(&g->w[n->beta]).s,
	    array(&g->aux[n->mean]).s, array(&g->aux[n->var]).s));

	onnx_real(&o->p, "epsilon", n->eps);
	onnx_end(&o->p, at);
	return 0;
}

/* x P(Z <= x) by the error function, for which opset 17 has no one node: x (1 + erf(x / sqrt 2)) / 2. */
static void
gelu(struct onnx *o, uint32_t i, const char *x)
{
	const struct graph_node *n = &o->g->node[i];
	struct text a = part(n, "a"), b = part(n, "b"), c = part(n, "c"), d = part(n, "d");

	onnx_plain(&o->p, "Mul", a.s, ONNX_IN(x, scalar(o, n, "root", 0.70710678f).s));
	onnx_plain(&o->p, "Erf", b.s, ONNX_IN(a.s));
	onnx_plain(&o->p, "Add", c.s, ONNX_IN(b.s, scalar(o, n, "one", 1).s));
	onnx_plain(&o->p, "Mul", d.s, ONNX_IN(x, c.s));
	onnx_plain(&o->p, "Mul", value(o, i).s, ONNX_IN(d.s, scalar(o, n, "half", 0.5f).s));
}

/* x (1 + tanh(sqrt(2 / pi) x (1 + 0.044715 x^2))) / 2.  Source: Hendrycks, Gimpel, arXiv:1606.08415. */
static void
gelu_tanh(struct onnx *o, uint32_t i, const char *x)
{
	const struct graph_node *n = &o->g->node[i];
	struct text one = scalar(o, n, "one", 1), a = part(n, "a"), b = part(n, "b"), c = part(n, "c"), d = part(n, "d"),
	    e = part(n, "e"), f = part(n, "f"), h = part(n, "g"), k = part(n, "h");

	onnx_plain(&o->p, "Mul", a.s, ONNX_IN(x, x));
	onnx_plain(&o->p, "Mul", b.s, ONNX_IN(a.s, scalar(o, n, "cubic", 0.044715f).s));
	onnx_plain(&o->p, "Add", c.s, ONNX_IN(b.s, one.s));
	onnx_plain(&o->p, "Mul", d.s, ONNX_IN(x, c.s));
	onnx_plain(&o->p, "Mul", e.s, ONNX_IN(d.s, scalar(o, n, "root", 0.79788456f).s));
	onnx_plain(&o->p, "Tanh", f.s, ONNX_IN(e.s));
	onnx_plain(&o->p, "Add", h.s, ONNX_IN(f.s, one.s));
	onnx_plain(&o->p, "Mul", k.s, ONNX_IN(x, h.s));
	onnx_plain(&o->p, "Mul", value(o, i).s, ONNX_IN(k.s, scalar(o, n, "half", 0.5f).s));
}

static int
act(struct onnx *o, uint32_t i)
{
	static const struct { const char *type; bool alpha; } one[] = {
		[GRAPH_RELU] = { "Relu", false }, [GRAPH_TANH] = { "Tanh", false }, [GRAPH_SIGMOID] = { "Sigmoid", false },
		[GRAPH_LEAKY] = { "LeakyRelu", true }, [GRAPH_ELU] = { "Elu", true },
	};
	const struct graph_node *n = &o->g->node[i];
	struct text x = kept(o, i), out = value(o, i), gate = part(n, "gate");
	size_t at;

	switch (n->act) {
	case GRAPH_LINEAR:
		onnx_plain(&o->p, "Mul", out.s, ONNX_IN(x.s, scalar(o, n, "alpha", n->alpha).s));
		break;
	case GRAPH_GELU:
		gelu(o, i, x.s);
		break;
	case GRAPH_GELU_TANH:
		gelu_tanh(o, i, x.s);
		break;
	case GRAPH_SWISH:
		onnx_plain(&o->p, "Sigmoid", gate.s, ONNX_IN(x.s));
		onnx_plain(&o->p, "Mul", out.s, ONNX_IN(x.s, gate.s));
		break;
	default:
		at = onnx_begin(&o->p, one[n->act].type, out.s, ONNX_IN(x.s));
		if (one[n->act].alpha)
			onnx_real(&o->p, "alpha", n->alpha);
		onnx_end(&o->p, at);
	}
	return 0;
}

/* --- pools */

/* How far the last window of a side hangs over its end. */
static int64_t
behind(uint32_t out, uint32_t stride, uint32_t size, uint32_t pad, uint32_t in)
{
	int64_t more = (int64_t)(out - 1) * stride + size - pad - in;

	return more > 0 ? more : 0;
}

/* A border of zeros, or of the picture reflected. */
static void
pad(struct onnx *o, const struct graph_node *n, const char *x, const char *out, const char *mode)
{
	struct text pads = part(n, "pads");
	size_t at;

	onnx_constants(&o->p, pads.s, (const int64_t[]){ 0, 0, n->pad[0], n->pad[1], 0, 0, n->pad[0], n->pad[1] }, 8);
	at = onnx_begin(&o->p, "Pad", out, ONNX_IN(x, pads.s));
	onnx_word(&o->p, "mode", mode);
	onnx_end(&o->p, at);
}

/*
 * Sizes rounded up are said by padding, as ceil_mode means other things in other versions.  A mean that divides by what is
 * within the padded picture gets zeros that count as picture.
 */
static int
pool(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i], *from = &o->g->node[input(o, i)];
	const char *type = n->pool == GRAPH_MAX ? "MaxPool" : "AveragePool";
	struct text x = planes(o, input(o, i)), padded = part(n, "padded");
	int64_t pads[4] = { n->pad[0], n->pad[1], behind(n->h, n->stride[0], n->r, n->pad[0], from->h),
		behind(n->w, n->stride[1], n->s, n->pad[1], from->w) };
	bool inside = n->pool == GRAPH_AVG && n->divide != GRAPH_WINDOW;
	size_t at;

	if (n->pool == GRAPH_AVG && n->divide == GRAPH_PADDED && (pads[0] > 0 || pads[1] > 0)) {
		pad(o, n, x.s, padded.s, "constant");
		x = padded;
		pads[0] = pads[1] = 0;
		pads[2] = pads[2] > n->pad[0] ? pads[2] - n->pad[0] : 0;
		pads[3] = pads[3] > n->pad[1] ? pads[3] - n->pad[1] : 0;
	}
	at = onnx_begin(&o->p, type, value(o, i).s, ONNX_IN(x.s));
	onnx_wholes(&o->p, "kernel_shape", (const int64_t[]){ n->r, n->s }, 2);
	onnx_wholes(&o->p, "strides", (const int64_t[]){ n->stride[0], n->stride[1] }, 2);
	onnx_wholes(&o->p, "pads", pads, 4);
	if (n->pool == GRAPH_AVG)
		onnx_whole(&o->p, "count_include_pad", !inside);
	onnx_end(&o->p, at);
	return 0;
}

static int
border(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];

	pad(o, n, planes(o, input(o, i)).s, value(o, i).s, n->reflect ? "reflect" : "constant");
	return 0;
}

/* --- layers of several inputs */

/* All inputs, with as many dimensions as the one that has most, at names [nin]; and the form of the output. */
static const char **
inputs(struct onnx *o, uint32_t i, struct text **room)
{
	const struct graph_node *n = &o->g->node[i];
	const char **names = calloc(n->nin + 1, sizeof(*names));
	uint8_t form = FLAT;

	*room = calloc(n->nin, sizeof(**room));
	if (names == NULL || *room == NULL) {
		free(names);
		free(*room);
		return NULL;
	}
	for (uint32_t k = 0; k < n->nin; k++)
		form &= o->form[o->as[n->in[k]]];
	for (uint32_t k = 0; k < n->nin; k++) {
		(*room)[k] = form & FLAT ? value(o, o->as[n->in[k]]) : planes(o, o->as[n->in[k]]);
		names[k] = (*room)[k].s;
	}
	o->form[i] = form;
	return names;
}

static int
several(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text *room, sum = { "" };
	const char **in = inputs(o, i, &room);
	char number[16];
	size_t at;

	if (in == NULL)
		return err_nomem();
	if (n->op == GRAPH_MUL) {	/* of two at a time */
		for (uint32_t k = 1; k < n->nin; k++) {
			struct text before = sum;

			snprintf(number, sizeof(number), "%u", k + 1 == n->nin ? 0 : k);
			sum = part(n, number);
			onnx_plain(&o->p, "Mul", sum.s, ONNX_IN(k == 1 ? in[0] : before.s, in[k]));
		}
		if (n->nin == 1)
			onnx_plain(&o->p, "Identity", value(o, i).s, in);
	} else {
		at = onnx_begin(&o->p, n->op == GRAPH_ADD ? "Sum" : "Concat", value(o, i).s, in);
		if (n->op == GRAPH_CONCAT)
			onnx_whole(&o->p, "axis", 1);
		onnx_end(&o->p, at);
	}
	free(in);
	free(room);
	return 0;
}

static int
flatten(struct onnx *o, uint32_t i)
{
	uint32_t in = input(o, i);
	size_t at;

	if (o->form[in] & FLAT) {
		o->as[i] = in;
		return 0;
	}
	at = onnx_begin(&o->p, "Flatten", value(o, i).s, ONNX_IN(value(o, in).s));
	onnx_whole(&o->p, "axis", 1);
	onnx_end(&o->p, at);
	o->form[i] = FLAT;
	return 0;
}

static int
lrn(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text x = planes(o, input(o, i));
	size_t at;

	/* ONNX has the longer half behind the channel, we have it before. */
	if (n->size % 2 == 0)
		return err_fail(ERR_NOTSUP, "%s: ONNX has no LRN over %u channels, an even number", n->name, n->size);
	at = onnx_begin(&o->p, "LRN", value(o, i).s, ONNX_IN(x.s));
	onnx_real(&o->p, "alpha", n->alpha);
	onnx_real(&o->p, "beta", n->power);
	onnx_real(&o->p, "bias", n->knorm);
	onnx_whole(&o->p, "size", n->size);
	onnx_end(&o->p, at);
	return 0;
}

static int
dropout(struct onnx *o, uint32_t i)
{
	o->as[i] = input(o, i);
	return 0;
}

static int
data(struct onnx *o, uint32_t i)
{
	(void)o;
	(void)i;
	return 0;
}

/* The last node: its input, or the softmax of that, under the output's name. */
static void
loss(struct onnx *o, uint32_t i, const char *out, bool logits)
{
	struct text x = flat(o, input(o, i));
	size_t at = onnx_begin(&o->p, logits ? "Identity" : "Softmax", out, ONNX_IN(x.s));

	if (!logits)
		onnx_whole(&o->p, "axis", 1);
	onnx_end(&o->p, at);
}

static int (*const layers[GRAPH_SOFTMAX])(struct onnx *o, uint32_t i) = {
	[GRAPH_DATA] = data, [GRAPH_CONV] = conv, [GRAPH_FC] = fc, [GRAPH_BN] = bn, [GRAPH_ACT] = act, [GRAPH_POOL] = pool,
	[GRAPH_CONCAT] = several, [GRAPH_FLATTEN] = flatten, [GRAPH_ADD] = several, [GRAPH_MUL] = several, [GRAPH_PAD] = border,
	[GRAPH_LRN] = lrn, [GRAPH_DROPOUT] = dropout,
};

int
onnx_nodes(const struct graph *g, bool logits, struct buf *out)
{
	const struct graph_node *x = &g->node[0];
	const char *last = logits ? "logits" : "probabilities";
	struct onnx o = { .g = g, .p = { .b = *out }, .as = calloc(g->n, sizeof(*o.as)), .form = calloc(g->n, 1) };
	int e = o.as == NULL || o.form == NULL ? err_nomem() : 0;

	for (uint32_t i = 0; e == 0 && i + 1 < g->n; i++) {
		o.as[i] = i;
		e = layers[g->node[i].op](&o, i);
	}
	if (e == 0) {
		loss(&o, g->n - 1, last, logits);
		onnx_outside(&o.p, INPUT, (const uint32_t[]){ x->c, x->h, x->w }, last, g->classes);
		e = o.p.e;
	}
	*out = o.p.b;
	free(o.as);
	free(o.form);
	return e;
}
