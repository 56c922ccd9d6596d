/*
 * onnx_test - models of small nets, taken apart by a reader of Protocol Buffers of its own: every node, attribute and
 * number.  What they compute is compared with onnxruntime in tests/peers/onnx.t.
 */
#include "base/err.h"
#include "net/onnx/onnx.h"
#include "pics.h"
#include "tap.h"

#include <inttypes.h>

/* --- the reader */

struct msg {
	const uint8_t *p, *end;
};

/* The next field: its value v, or what it holds; false at the end.  A fault ends the test. */
static bool
field(struct msg *m, uint32_t *number, uint64_t *v, struct msg *in)
{
	uint64_t word[2] = { 0 };
	int words = 1;

	if (m->p == m->end)
		return false;
	for (int i = 0; i < words; i++)
		for (int shift = 0, more = 1; more; shift += 7) {
			if (m->p == m->end || shift > 63) {
				printf("Bail out! a varint without an end\n");
				exit(1);
			}
			more = *m->p >> 7;
			word[i] |= (uint64_t)(*m->p++ & 0x7f) << shift;
			if (!more && i == 0 && (word[0] & 7) != 5)
				words = 2;
		}
	*number = (uint32_t)(word[0] >> 3);
	*v = (word[0] & 7) == 5 ? le_get32(m->p) : word[1];
	*in = (struct msg){ m->p, m->p };
	if ((word[0] & 7) == 5)
		m->p += 4;
	if ((word[0] & 7) == 2) {
		if (word[1] > (uint64_t)(m->end - m->p)) {
			printf("Bail out! a field beyond its message\n");
			exit(1);
		}
		in->end = m->p += word[1];
	}
	return true;
}

static void
put_text(struct buf *b, struct msg in)
{
	buf_put(b, in.p, (size_t)(in.end - in.p));
}

static float
float_of(uint64_t bits)
{
	uint8_t word[4];

	le_put32(word, (uint32_t)bits);
	return le_getf32(word);
}

/* " name=value": a type that does not go with what is there is said. */
static void
put_attribute(struct buf *b, struct msg m)
{
	struct buf value = { 0 };
	struct msg in;
	uint32_t number;
	uint64_t v, type = 0, have = 0;

	buf_put_fmt(b, " ");
	while (field(&m, &number, &v, &in))
		switch (number) {
		case 1:	put_text(b, in); break;
		case 2:	buf_put_fmt(&value, "%g", (double)float_of(v)); have = 1; break;
		case 3:	buf_put_fmt(&value, "%" PRId64, (int64_t)v); have = 2; break;
		case 4:	put_text(&value, in); have = 3; break;
		case 8:	buf_put_fmt(&value, "%s%" PRId64, value.n > 0 ? "," : "", (int64_t)v); have = 7; break;
		case 20: type = v; break;
		default: buf_put_fmt(b, "?%u", number);
		}
	buf_put_fmt(b, "=%.*s%s", (int)value.n, (char *)value.p, have == type ? "" : "!");
	buf_free(&value);
}

/* "Type in,in -> out attributes" */
static void
put_node(struct buf *b, struct msg m)
{
	struct buf ins = { 0 }, out = { 0 }, attributes = { 0 };
	struct msg in;
	uint32_t number;
	uint64_t v;

	while (field(&m, &number, &v, &in))
		switch (number) {
		case 1:	buf_put_fmt(&ins, "%s", ins.n > 0 ? "," : " "); put_text(&ins, in); break;
		case 2:	put_text(&out, in); break;
		case 3:	break;
		case 4:	put_text(b, in); break;
		case 5:	put_attribute(&attributes, in); break;
		default: buf_put_fmt(b, "?%u", number);
		}
	buf_put_fmt(b, "%.*s -> %.*s%.*s\n", (int)ins.n, (char *)ins.p, (int)out.n, (char *)out.p, (int)attributes.n,
	    (char *)attributes.p);
	buf_free(&ins);
	buf_free(&out);
	buf_free(&attributes);
}

/* "name [dims] = numbers" */
static void
put_tensor(struct buf *b, struct msg m)
{
	struct buf dims = { 0 }, numbers = { 0 };
	struct msg in;
	uint32_t number;
	uint64_t v, type = 0, have = 0;

	while (field(&m, &number, &v, &in))
		switch (number) {
		case 1:	buf_put_fmt(&dims, "%s%" PRIu64, dims.n > 0 ? "," : "", v); break;
		case 2:	type = v; break;
		case 4:	buf_put_fmt(&numbers, " %g", (double)float_of(v)); have = 1; break;
		case 7:	buf_put_fmt(&numbers, " %" PRId64, (int64_t)v); have = 7; break;
		case 8:	put_text(b, in); break;
		case 9:
			for (have = 1; in.p < in.end; in.p += 4)
				buf_put_fmt(&numbers, " %g", (double)le_getf32(in.p));
			break;
		default: buf_put_fmt(b, "?%u", number);
		}
	buf_put_fmt(b, " [%.*s] =%.*s%s\n", (int)dims.n, (char *)dims.p, (int)numbers.n, (char *)numbers.p,
	    have == type ? "" : "!");
	buf_free(&dims);
	buf_free(&numbers);
}

/* "name [dims]" of f32 */
static void
put_value(struct buf *b, struct msg m)
{
	struct msg in, dim, shape = { 0 };
	uint32_t number;
	uint64_t v;

	while (field(&m, &number, &v, &in))
		if (number == 1)
			put_text(b, in);
		else if (number == 2 && field(&in, &number, &v, &dim) && number == 1)
			while (field(&dim, &number, &v, &in)) {
				if (number == 1 && v != 1)
					buf_put_fmt(b, "!");
				if (number == 2)
					shape = in;
			}
	buf_put_fmt(b, " [");
	for (const char *between = ""; field(&shape, &number, &v, &in); between = ",") {
		buf_put_fmt(b, "%s", between);
		while (field(&in, &number, &v, &dim))
			if (number == 1)
				buf_put_fmt(b, "%" PRIu64, v);
			else
				put_text(b, dim);
	}
	buf_put_fmt(b, "]\n");
}

static void
put_model(struct buf *b, struct msg m)
{
	struct msg in, one;
	uint32_t number;
	uint64_t v;

	while (field(&m, &number, &v, &in))
		if (number == 1)
			buf_put_fmt(b, "ir %" PRIu64 "\n", v);
		else if (number == 8)
			while (field(&in, &number, &v, &one))
				buf_put_fmt(b, "opset %" PRIu64 "\n", v);
		else if (number == 7)
			while (field(&in, &number, &v, &one))
				switch (number) {
				case 1:	 put_node(b, one); break;
				case 2:	 break;
				case 5:	 put_tensor(b, one); break;
				case 11: buf_put_fmt(b, "in "); put_value(b, one); break;
				case 12: buf_put_fmt(b, "out "); put_value(b, one); break;
				default: buf_put_fmt(b, "?%u\n", number);
				}
}

/* --- the nets */

/* Element i of array a of the net is 1, 2, 3 ...; statistics are negative. */
static int
give(void *arg, const struct graph_array *a, size_t first, size_t n, float *to)
{
	*(size_t *)arg += n;
	for (size_t i = 0; i < n; i++)
		to[i] = (float)(first + i + 1) * (a->role == GRAPH_MEAN || a->role == GRAPH_VAR ? -1 : 1);
	return 0;
}

static struct graph *
graph(const char *text)
{
	struct graph *g;

	if (graph_parse(text, strlen(text), &g) < 0) {
		printf("Bail out! %s\n", err_line());
		exit(1);
	}
	return g;
}

static void
model(const char *net, bool logits, const char *want, const char *what)
{
	const char *path = pics_path("net.onnx");
	struct buf b = { 0 }, text = { 0 };
	struct graph *g = graph(net);
	size_t given = 0;

	is(onnx_write(g, logits, give, &given, path), 0, "%s: written: %s", what, err_line());
	if (io_slurp(path, 1 << 20, &b) == 0)
		put_model(&text, (struct msg){ b.p, b.p + b.n });
	buf_terminate(&text);
	is_str((const char *)text.p, want, "%s", what);
	buf_free(&b);
	buf_free(&text);
	graph_free(g);
}

static const char small[] =
	"tally-net 1\n"
	"data data c=1 h=3 w=3\n"
	"conv c in=data k=2 r=2 s=1 stride=1x2 pad=1x0 bias=1\n"
	"bn b in=c fix_gamma=1 eps=0.5 momentum=0.9\n"
	"act r in=b act=leaky alpha=0.25\n"
	"dropout d in=r drop=0.5\n"
	"pool p in=d pool=avg r=3 s=2 stride=2 pad=1 ceil=1 divide=inside\n"
	"fc f in=p k=2 bias=0\n"
	"softmax s in=f\n";
static const char small_onnx[] =
	"ir 8\nopset 17\n"
	"Conv data,c_weight,c_bias -> c:0 kernel_shape=2,1 strides=1,2 pads=1,0,1,0 dilations=1,1 group=1\n"
	"BatchNormalization c:0,b_gamma,b_beta,b_moving_mean,b_moving_var -> b:0 epsilon=0.5\n"
	"LeakyRelu b:0 -> r:0 alpha=0.25\n"
	"AveragePool r:0 -> p:0 kernel_shape=3,2 strides=2,2 pads=1,1,2,1 count_include_pad=0\n"
	"Flatten p:0 -> p:flat axis=1\n"
	"Gemm p:flat,f_weight -> f:0 transB=1\n"
	"Softmax f:0 -> probabilities axis=1\n"
	"in data [N,1,3,3]\nout probabilities [N,2]\n"
	"c_weight [2,1,2,1] = 1 2 3 4\nc_bias [2] = 1 2\n"
	"b_gamma [2] = 1 1\nb_beta [2] = 1 2\n"
	"f_weight [2,12] = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24\n"
	"b_moving_mean [2] = -1 -2\nb_moving_var [2] = -1 -2\n";

/* Numbers for each class and planes meet: a full layer's output is made planes, once, and both forms of one node. */
static const char forms[] =
	"tally-net 1\n"
	"data data c=2 h=1 w=1\n"
	"fc f in=data k=2 bias=1\n"
	"mul m in=f,data,f\n"
	"conv c in=f k=2 r=1 s=1 stride=1 pad=0 bias=0\n"
	"add a in=f,m,c\n"
	"flatten g in=a\n"
	"flatten h in=g\n"
	"act w in=h act=linear alpha=0.5\n"
	"pad p in=w pad=1x0 reflect=0\n"
	"pool q in=p pool=max r=3 s=1 stride=1 pad=0 ceil=0\n"
	"concat o in=q,f\n"
	"softmax s in=o\n";
static const char forms_onnx[] =
	"ir 8\nopset 17\n"
	"Flatten data -> data:flat axis=1\n"
	"Gemm data:flat,f_weight,f_bias -> f:0 transB=1\n"
	"f:shape [4] = 0 2 1 1\n"
	"Reshape f:0,f:shape -> f:planes\n"
	"Mul f:planes,data -> m:1\n"
	"Mul m:1,f:planes -> m:0\n"
	"Conv f:planes,c_weight -> c:0 kernel_shape=1,1 strides=1,1 pads=0,0,0,0 dilations=1,1 group=1\n"
	"Sum f:planes,m:0,c:0 -> a:0\n"
	"Flatten a:0 -> g:0 axis=1\n"
	"w:alpha [] = 0.5\n"
	"Mul g:0,w:alpha -> w:0\n"
	"w:shape [4] = 0 2 1 1\n"
	"Reshape w:0,w:shape -> w:planes\n"
	"p:pads [8] = 0 0 1 0 0 0 1 0\n"
	"Pad w:planes,p:pads -> p:0 mode=constant\n"
	"MaxPool p:0 -> q:0 kernel_shape=3,1 strides=1,1 pads=0,0,0,0\n"
	"Concat q:0,f:planes -> o:0 axis=1\n"
	"Flatten o:0 -> o:flat axis=1\n"
	"Identity o:flat -> logits\n"
	"in data [N,2,1,1]\nout logits [N,4]\n"
	"f_weight [2,2] = 1 2 3 4\nf_bias [2] = 1 2\nc_weight [2,2,1,1] = 1 2 3 4\n";

static void
refused(void)
{
	struct graph *even = graph("tally-net 1\ndata data c=4 h=1 w=1\nlrn l in=data size=4 alpha=1 power=1 knorm=1\nsoftmax s in=l\n");
	struct graph *huge = graph("tally-net 1\ndata data c=65536 h=1 w=1\nfc f in=data k=8200 bias=0\nsoftmax s in=f\n");
	const char *path = pics_path("no.onnx");
	size_t given = 0;

	is(onnx_write(even, false, give, &given, path), ERR_NOTSUP, "a layer that ONNX lacks is refused: %s", err_line());
	is(onnx_write(huge, false, give, &given, path), ERR_LIMIT, "a model of more than 2 GB is refused: %s", err_line());
	is(given, 0, "a model is refused before an array is read");
	ok(access(path, F_OK) < 0, "a refused model is not written");
	graph_free(even);
	graph_free(huge);
}

int
main(void)
{
	model(small, false, small_onnx, "a small net");
	model(forms, true, forms_onnx, "values of two and four dimensions");
	refused();
	pics_clean();
	return done();
}
