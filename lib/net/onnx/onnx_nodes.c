/* onnx_nodes - converts a net's layers to the nodes of an ONNX graph. */
#include "net/onnx/onnx_in.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define INPUT	"data"

/* The form of a node's value.  tally's values have four dimensions; in ONNX those of full layers have two. */
enum {
	FLAT = 1,	/* [N,c], else [N,c,h,w] */
	OTHER = 2	/* a node converts it to the other form as well */
};

struct onnx {
	const struct graph *g;
	struct proto	 p;
	uint32_t	*as;		/* [n] the node whose value it has: dropout has its input's */
	uint8_t		*form;		/* [n] FLAT, OTHER */
};

/* A name within the model.  Names of nodes and arrays have no colon. */
struct text {
	char	 s[GRAPH_NAME + 32];
};

static struct text
name_part(const struct graph_node *n, const char *what)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%s:%s", n->name, what);
	return t;
}

static struct text
name_value(const struct onnx *o, uint32_t i)
{
	struct text t = { INPUT };

	return i == 0 ? t : name_part(&o->g->node[i], "0");
}

static struct text
name_array(const struct graph_array *a)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%s", a->name);
	return t;
}

static struct text
put_scalar(struct onnx *o, const struct graph_node *n, const char *what, float v)
{
	struct text t = name_part(n, what);

	onnx_scalar(&o->p, t.s, v);
	return t;
}

/* --- values of two and of four dimensions */

static struct text
flatten_value(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text out = name_part(n, "flat");

	if (o->form[i] & FLAT)
		return name_value(o, i);
	if (!(o->form[i] & OTHER)) {
		size_t at = onnx_begin(&o->p, "Flatten", out.s, ONNX_IN(name_value(o, i).s));

		onnx_int(&o->p, "axis", 1);
		onnx_end(&o->p, at);
	}
	o->form[i] |= OTHER;
	return out;
}

static struct text
reshape_value(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text out = name_part(n, "planes"), shape = name_part(n, "shape");

	if (!(o->form[i] & FLAT))
		return name_value(o, i);
	if (!(o->form[i] & OTHER)) {
		onnx_constants(&o->p, shape.s, (const int64_t[]){ 0, n->c, n->h, n->w }, 4);	/* 0: unchanged */
		onnx_plain(&o->p, "Reshape", out.s, ONNX_IN(name_value(o, i).s, shape.s));
	}
	o->form[i] |= OTHER;
	return out;
}

static uint32_t
get_input(const struct onnx *o, uint32_t i)
{
	return o->as[o->g->node[i].in[0]];
}

/* The input of an op on single elements or channels, whose output keeps the input's form. */
static struct text
keep_form(struct onnx *o, uint32_t i)
{
	uint32_t in = get_input(o, i);

	o->form[i] = o->form[in] & FLAT;
	return name_value(o, in);
}

/* --- layers */

static int
put_conv(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text x = reshape_value(o, get_input(o, i)), w = name_array(&o->g->w[n->weight]), b = { "" };
	size_t at;

	if (n->bias)
		b = name_array(&o->g->w[n->bias_at]);
	at = onnx_begin(&o->p, "Conv", name_value(o, i).s, n->bias ? ONNX_IN(x.s, w.s, b.s) : ONNX_IN(x.s, w.s));
	onnx_ints(&o->p, "kernel_shape", (const int64_t[]){ n->r, n->s }, 2);
	onnx_ints(&o->p, "strides", (const int64_t[]){ n->stride[0], n->stride[1] }, 2);
	onnx_ints(&o->p, "pads", (const int64_t[]){ n->pad[0], n->pad[1], n->pad[0], n->pad[1] }, 4);
	onnx_ints(&o->p, "dilations", (const int64_t[]){ n->dilate[0], n->dilate[1] }, 2);
	onnx_int(&o->p, "group", n->groups);
	onnx_end(&o->p, at);
	return 0;
}

static int
put_fc(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text x = flatten_value(o, get_input(o, i)), w = name_array(&o->g->w[n->weight]), b = { "" };
	size_t at;

	if (n->bias)
		b = name_array(&o->g->w[n->bias_at]);
	at = onnx_begin(&o->p, "Gemm", name_value(o, i).s, n->bias ? ONNX_IN(x.s, w.s, b.s) : ONNX_IN(x.s, w.s));
	onnx_int(&o->p, "transB", 1);
	onnx_end(&o->p, at);
	o->form[i] = FLAT;
	return 0;
}

static int
put_bn(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	const struct graph *g = o->g;
	struct text x = keep_form(o, i);
	size_t at = onnx_begin(&o->p, "BatchNormalization", name_value(o, i).s, ONNX_IN(x.s,
	    name_array(&g->w[n->gamma]).s, name_array(&g->w[n->beta]).s, name_array(&g->aux[n->mean]).s,
	    name_array(&g->aux[n->var]).s));

	onnx_float(&o->p, "epsilon", n->eps);
	onnx_end(&o->p, at);
	return 0;
}

/* GELU, x (1 + erf(x / sqrt 2)) / 2: opset 17 has no node for it. */
static void
put_gelu(struct onnx *o, uint32_t i, const char *x)
{
	const struct graph_node *n = &o->g->node[i];
	struct text a = name_part(n, "a"), b = name_part(n, "b"), c = name_part(n, "c"), d = name_part(n, "d");

	onnx_plain(&o->p, "Mul", a.s, ONNX_IN(x, put_scalar(o, n, "root", 0.70710678f).s));
	onnx_plain(&o->p, "Erf", b.s, ONNX_IN(a.s));
	onnx_plain(&o->p, "Add", c.s, ONNX_IN(b.s, put_scalar(o, n, "one", 1).s));
	onnx_plain(&o->p, "Mul", d.s, ONNX_IN(x, c.s));
	onnx_plain(&o->p, "Mul", name_value(o, i).s, ONNX_IN(d.s, put_scalar(o, n, "half", 0.5f).s));
}

/* x (1 + tanh(sqrt(2 / pi) x (1 + 0.044715 x^2))) / 2.  Source: Hendrycks, Gimpel, arXiv:1606.08415. */
static void
put_gelu_tanh(struct onnx *o, uint32_t i, const char *x)
{
	const struct graph_node *n = &o->g->node[i];
	struct text one = put_scalar(o, n, "one", 1), a = name_part(n, "a"), b = name_part(n, "b"),
	    c = name_part(n, "c"),
	    d = name_part(n, "d"), e = name_part(n, "e"), f = name_part(n, "f"), h = name_part(n, "g"),
	    k = name_part(n, "h");

	onnx_plain(&o->p, "Mul", a.s, ONNX_IN(x, x));
	onnx_plain(&o->p, "Mul", b.s, ONNX_IN(a.s, put_scalar(o, n, "cubic", 0.044715f).s));
	onnx_plain(&o->p, "Add", c.s, ONNX_IN(b.s, one.s));
	onnx_plain(&o->p, "Mul", d.s, ONNX_IN(x, c.s));
	onnx_plain(&o->p, "Mul", e.s, ONNX_IN(d.s, put_scalar(o, n, "root", 0.79788456f).s));
	onnx_plain(&o->p, "Tanh", f.s, ONNX_IN(e.s));
	onnx_plain(&o->p, "Add", h.s, ONNX_IN(f.s, one.s));
	onnx_plain(&o->p, "Mul", k.s, ONNX_IN(x, h.s));
	onnx_plain(&o->p, "Mul", name_value(o, i).s, ONNX_IN(k.s, put_scalar(o, n, "half", 0.5f).s));
}

static int
put_act(struct onnx *o, uint32_t i)
{
	static const struct { const char *type; bool alpha; } one[] = {
		[GRAPH_RELU] = { "Relu", false }, [GRAPH_TANH] = { "Tanh", false },
		    [GRAPH_SIGMOID] = { "Sigmoid", false },
		[GRAPH_LEAKY] = { "LeakyRelu", true }, [GRAPH_ELU] = { "Elu", true },
	};
	const struct graph_node *n = &o->g->node[i];
	struct text x = keep_form(o, i), out = name_value(o, i), gate = name_part(n, "gate");
	size_t at;

	switch (n->act) {
	case GRAPH_LINEAR:
		onnx_plain(&o->p, "Mul", out.s, ONNX_IN(x.s, put_scalar(o, n, "alpha", n->alpha).s));
		break;
	case GRAPH_GELU:
		put_gelu(o, i, x.s);
		break;
	case GRAPH_GELU_TANH:
		put_gelu_tanh(o, i, x.s);
		break;
	case GRAPH_SWISH:
		onnx_plain(&o->p, "Sigmoid", gate.s, ONNX_IN(x.s));
		onnx_plain(&o->p, "Mul", out.s, ONNX_IN(x.s, gate.s));
		break;
	default:
		at = onnx_begin(&o->p, one[n->act].type, out.s, ONNX_IN(x.s));
		if (one[n->act].alpha)
			onnx_float(&o->p, "alpha", n->alpha);
		onnx_end(&o->p, at);
	}
	return 0;
}

/* --- pools */

/* The padding at the end of a side that the last window needs. */
static int64_t
end_padding(uint32_t out, uint32_t stride, uint32_t size, uint32_t pad, uint32_t in)
{
	int64_t more = (int64_t)(out - 1) * stride + size - pad - in;

	return more > 0 ? more : 0;
}

/* A border of zeros, or of the image reflected. */
static void
put_pad(struct onnx *o, const struct graph_node *n, const char *x, const char *out, const char *mode)
{
	struct text pads = name_part(n, "pads");
	size_t at;

	onnx_constants(&o->p, pads.s, (const int64_t[]){ 0, 0, n->pad[0], n->pad[1], 0, 0, n->pad[0], n->pad[1] }, 8);
	at = onnx_begin(&o->p, "Pad", out, ONNX_IN(x, pads.s));
	onnx_string(&o->p, "mode", mode);
	onnx_end(&o->p, at);
}

/*
 * Padding expresses sizes that are rounded up, because versions of ONNX differ in the meaning of ceil_mode.  For a mean
 * over the padded image, a Pad node adds zeros that count as image.
 */
static int
put_pool(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i], *from = &o->g->node[get_input(o, i)];
	const char *type = n->pool == GRAPH_MAX ? "MaxPool" : "AveragePool";
	struct text x = reshape_value(o, get_input(o, i)), padded = name_part(n, "padded");
	int64_t pads[4] = { n->pad[0], n->pad[1], end_padding(n->h, n->stride[0], n->r, n->pad[0], from->h),
		end_padding(n->w, n->stride[1], n->s, n->pad[1], from->w) };
	bool inside = n->pool == GRAPH_AVG && n->divide != GRAPH_WINDOW;
	size_t at;

	if (n->pool == GRAPH_AVG && n->divide == GRAPH_PADDED && (pads[0] > 0 || pads[1] > 0)) {
		put_pad(o, n, x.s, padded.s, "constant");
		x = padded;
		pads[0] = pads[1] = 0;
		pads[2] = pads[2] > n->pad[0] ? pads[2] - n->pad[0] : 0;
		pads[3] = pads[3] > n->pad[1] ? pads[3] - n->pad[1] : 0;
	}
	at = onnx_begin(&o->p, type, name_value(o, i).s, ONNX_IN(x.s));
	onnx_ints(&o->p, "kernel_shape", (const int64_t[]){ n->r, n->s }, 2);
	onnx_ints(&o->p, "strides", (const int64_t[]){ n->stride[0], n->stride[1] }, 2);
	onnx_ints(&o->p, "pads", pads, 4);
	if (n->pool == GRAPH_AVG)
		onnx_int(&o->p, "count_include_pad", !inside);
	onnx_end(&o->p, at);
	return 0;
}

static int
put_border(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];

	put_pad(o, n, reshape_value(o, get_input(o, i)).s, name_value(o, i).s, n->reflect ? "reflect" : "constant");
	return 0;
}

/* --- layers of several inputs */

/* Lists the names of all inputs, in the form with the most dimensions among them, and sets the output's form. */
static const char **
list_inputs(struct onnx *o, uint32_t i, struct text **room)
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
		(*room)[k] = form & FLAT ? name_value(o, o->as[n->in[k]]) : reshape_value(o, o->as[n->in[k]]);
		names[k] = (*room)[k].s;
	}
	o->form[i] = form;
	return names;
}

static int
put_several(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text *room, sum = { "" };
	const char **in = list_inputs(o, i, &room);
	char number[16];
	size_t at;

	if (in == NULL)
		return err_nomem();
	if (n->op == GRAPH_MUL) {	/* ONNX multiplies two at a time */
		for (uint32_t k = 1; k < n->nin; k++) {
			struct text before = sum;

			snprintf(number, sizeof(number), "%u", k + 1 == n->nin ? 0 : k);
			sum = name_part(n, number);
			onnx_plain(&o->p, "Mul", sum.s, ONNX_IN(k == 1 ? in[0] : before.s, in[k]));
		}
		if (n->nin == 1)
			onnx_plain(&o->p, "Identity", name_value(o, i).s, in);
	} else {
		at = onnx_begin(&o->p, n->op == GRAPH_ADD ? "Sum" : "Concat", name_value(o, i).s, in);
		if (n->op == GRAPH_CONCAT)
			onnx_int(&o->p, "axis", 1);
		onnx_end(&o->p, at);
	}
	free(in);
	free(room);
	return 0;
}

static int
put_flatten(struct onnx *o, uint32_t i)
{
	uint32_t in = get_input(o, i);
	size_t at;

	if (o->form[in] & FLAT) {
		o->as[i] = in;
		return 0;
	}
	at = onnx_begin(&o->p, "Flatten", name_value(o, i).s, ONNX_IN(name_value(o, in).s));
	onnx_int(&o->p, "axis", 1);
	onnx_end(&o->p, at);
	o->form[i] = FLAT;
	return 0;
}

static int
put_lrn(struct onnx *o, uint32_t i)
{
	const struct graph_node *n = &o->g->node[i];
	struct text x = reshape_value(o, get_input(o, i));
	size_t at;

	/* For even sizes ONNX has the longer half after the channel, tally before it. */
	if (n->size % 2 == 0)
		return err_fail(ERR_NOTSUP, "%s: ONNX has no LRN over %u channels, an even number", n->name, n->size);
	at = onnx_begin(&o->p, "LRN", name_value(o, i).s, ONNX_IN(x.s));
	onnx_float(&o->p, "alpha", n->alpha);
	onnx_float(&o->p, "beta", n->power);
	onnx_float(&o->p, "bias", n->knorm);
	onnx_int(&o->p, "size", n->size);
	onnx_end(&o->p, at);
	return 0;
}

static int
pass_dropout(struct onnx *o, uint32_t i)
{
	o->as[i] = get_input(o, i);
	return 0;
}

static int
pass_data(struct onnx *o, uint32_t i)
{
	(void)o;
	(void)i;
	return 0;
}

/* The last node: its input, or what the loss makes of it, under the output's name. */
static void
put_loss(struct onnx *o, uint32_t i, const char *out, bool logits)
{
	struct text x = flatten_value(o, get_input(o, i));
	enum graph_loss loss = logits ? GRAPH_LOSS_SQUARED : o->g->node[i].loss;
	size_t at = onnx_begin(&o->p, loss == GRAPH_LOSS_SQUARED ? "Identity" : loss == GRAPH_LOSS_SIGMOID ?
	    "Sigmoid" : "Softmax", out, ONNX_IN(x.s));

	if (loss == GRAPH_LOSS_SOFTMAX)
		onnx_int(&o->p, "axis", 1);
	onnx_end(&o->p, at);
}

static int (*const layers[GRAPH_SOFTMAX])(struct onnx *o, uint32_t i) = {
	[GRAPH_DATA] = pass_data,
	[GRAPH_CONV] = put_conv,
	[GRAPH_FC] = put_fc,
	[GRAPH_BN] = put_bn,
	[GRAPH_ACT] = put_act,
	[GRAPH_POOL] = put_pool,
	[GRAPH_CONCAT] = put_several,
	[GRAPH_FLATTEN] = put_flatten,
	[GRAPH_ADD] = put_several,
	[GRAPH_MUL] = put_several,
	[GRAPH_PAD] = put_border,
	[GRAPH_LRN] = put_lrn,
	[GRAPH_DROPOUT] = pass_dropout,
};

int
onnx_nodes(const struct graph *g, bool logits, struct buf *out)
{
	const struct graph_node *x = &g->node[0];
	const char *last = logits ? "logits" : g->node[g->n - 1].loss == GRAPH_LOSS_SQUARED ? "values" :
	    "probabilities";
	struct onnx o = { .g = g, .p = { .b = *out }, .as = calloc(g->n, sizeof(*o.as)), .form = calloc(g->n, 1) };
	int e = o.as == NULL || o.form == NULL ? err_nomem() : 0;

	for (uint32_t i = 0; e == 0 && i + 1 < g->n; i++) {
		o.as[i] = i;
		e = layers[g->node[i].op](&o, i);
	}
	if (e == 0) {
		put_loss(&o, g->n - 1, last, logits);
		onnx_declare_io(&o.p, INPUT, (const uint32_t[]){ x->c, x->h, x->w }, last, g->classes);
		e = o.p.e;
	}
	*out = o.p.b;
	free(o.as);
	free(o.form);
	return e;
}
