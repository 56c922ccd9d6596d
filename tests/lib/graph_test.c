/* graph_test - shapes, offsets, counts, limits, and the text there and back. */
#include "base/err.h"
#include "net/graph/graph.h"
#include "tap.h"

#include <stdlib.h>

/* Adds a node that reads node `from`, or the last one when it is negative. */
static int
add_to(struct graph *g, int from, struct graph_node n, const char *name)
{
	uint32_t in = from < 0 ? g->n - 1 : (uint32_t)from, at;

	snprintf(n.name, sizeof(n.name), "%s", name);
	n.in = &in;
	n.nin = 1;
	return graph_add(g, &n, &at);
}

static int
add(struct graph *g, struct graph_node n, const char *name)
{
	return add_to(g, -1, n, name);
}

static int
join(struct graph *g, uint32_t a, uint32_t b, const char *name)
{
	uint32_t in[] = { a, b }, at;
	struct graph_node n = { .op = GRAPH_CONCAT, .in = in, .nin = 2 };

	snprintf(n.name, sizeof(n.name), "%s", name);
	return graph_add(g, &n, &at);
}

static const struct graph_node relu = { .op = GRAPH_ACT, .act = GRAPH_RELU };
static const struct graph_node loss = { .op = GRAPH_SOFTMAX };
static const struct graph_node flat = { .op = GRAPH_FLATTEN };
static const struct graph_node bn = { .op = GRAPH_BN, .eps = 1e-5f, .momentum = 0.9f };

static struct graph_node
conv(uint32_t k, uint32_t side, uint32_t stride, uint32_t pad)
{
	return (struct graph_node){ .op = GRAPH_CONV, .k = k, .r = side, .s = side, .stride = GRAPH_BOTH(stride), .pad = GRAPH_BOTH(pad),
	    .bias = true };
}

static struct graph_node
pool(uint32_t r, uint32_t s, uint32_t stride, uint32_t pad, bool ceil)
{
	return (struct graph_node){ .op = GRAPH_POOL, .r = r, .s = s, .stride = GRAPH_BOTH(stride), .pad = GRAPH_BOTH(pad), .ceil = ceil };
}

static struct graph_node
fc(uint32_t k)
{
	return (struct graph_node){ .op = GRAPH_FC, .k = k, .bias = true };
}

/* Every op once, two branches joined. */
static struct graph *
small(void)
{
	struct graph_node odd = bn;
	struct graph *g = graph_new(3, 8, 9);
	int e = add(g, conv(4, 3, 1, 1), "c1");

	odd.eps = 0.118782856f;	/* eight digits give another float */
	e |= add(g, odd, "c1_bn");
	e |= add(g, conv(5, 3, 2, 1), "a");
	e |= add_to(g, 2, pool(3, 2, 2, 0, true), "b");
	e |= join(g, 3, 4, "ab");
	e |= add(g, relu, "r");
	e |= add(g, pool(4, 2, 1, 0, false), "p");
	e |= add(g, flat, "flat");
	e |= add(g, fc(10), "fc1");
	e |= add(g, loss, "softmax");
	ok(e == 0, "a net of every op is made (%s)", err_line());
	return g;
}

static void
shapes(const struct graph *g)
{
	is(g->node[3].h * 100 + g->node[3].w, 405, "conv 3x3 stride 2 pad 1 makes 8x9 to 4x5");
	is(g->node[4].h * 100 + g->node[4].w, 405, "pool 3x2 stride 2 by the ceil rule makes 8x9 to 4x5");
	is(g->node[5].c, 9, "concat adds the channels up");
	is(g->node[7].h * 100 + g->node[7].w, 104, "pool 4x2 stride 1 makes 4x5 to 1x4");
	is(g->node[8].c, 9 * 4, "flatten");
	is(g->classes, 10, "the loss says how many classes");
	is(g->P, 4 * 28 + 8 + 5 * 37 + 10 * 37, "weights counted");
	is(g->A, 8, "running statistics counted");
	is(graph_macs(g), 4 * 27 * 72 + 5 * 36 * 20 + 360, "multiply-adds counted");
}

static void
arrays(const struct graph *g)
{
	static const char *const names[] = { "c1_weight", "c1_bias", "c1_bn_gamma", "c1_bn_beta", "a_weight", "a_bias",
	    "fc1_weight", "fc1_bias" };
	size_t first = 0;
	uint32_t good = 0;

	for (uint32_t i = 0; i < g->nw; i++) {
		good += strcmp(g->w[i].name, names[i]) == 0 && g->w[i].first == first;
		first += g->w[i].count;
	}
	ok(good == 8 && g->nw == 8 && first == g->P, "learned arrays by node, then weight bias gamma beta, without gaps");
	is_str(g->aux[1].name, "c1_bn_moving_var", "the variance stands behind the mean");
	is(g->aux[1].first, 4, "the variance has its offset");
	is(g->w[4].ndim * 10000 + g->w[4].dim[0] * 1000 + g->w[4].dim[1] * 100 + g->w[4].dim[2] * 10 + g->w[4].dim[3],
	    45433, "a conv's weight is [K, C, R, S]");
	is(g->w[6].ndim * 1000 + g->w[6].dim[1], 2036, "an fc's is [K, C*H*W]");
	is(g->node[3].bias_at, 5, "a node knows its arrays");
	is(g->node[3].gamma, -1, "a node without an array has no place for it");
}

/* One side pooled by the ceil rule, the other being one where windows come out even; what graph_add said. */
static int
pooled(uint32_t in, uint32_t k, uint32_t s, uint32_t p, bool turned, uint32_t *out)
{
	uint32_t even = k + 10 * s - 2 * p;
	struct graph *g = turned ? graph_new(1, even, in) : graph_new(1, in, even);
	int e = add(g, pool(k, k, s, p, true), "p");

	if (e == 0)
		*out = turned ? g->node[1].w : g->node[1].h;
	graph_free(g);
	return e;
}

/* The ceil rule against the formula of caffe and PyTorch, which mxnet's of 2015 is where no window is padding alone. */
static void
pool_sizes(bool turned)
{
	int bad = 0, tried = 0, refused = 0, same = 0;

	for (int in = 1; in < 12; in++)
		for (int k = 1; k < 6; k++)
			for (int s = 1; s < 6; s++)
				for (int p = 0; p < k; p++, tried++) {
					int a = in + 2 * p - k + s - 1, b = in + 2 * p - 1;
					int mxnet = (a < b ? a : b) / s + 1, want = (in + 2 * p - k + s - 1) / s + 1;
					bool none = k > in + 2 * p;
					uint32_t out = 0;
					int e = pooled((uint32_t)in, (uint32_t)k, (uint32_t)s, (uint32_t)p, turned, &out);

					want -= (want - 1) * s >= in + p;
					refused += e == ERR_FORMAT;
					same += e == 0 && out == (uint32_t)mxnet;
					bad += none ? e != ERR_FORMAT : e != 0 || out != (uint32_t)want;
				}
	ok(bad == 0 && tried > 500, "the ceil rule gives the sizes of caffe and PyTorch");
	ok(same > 500, "the ceil rule gives the sizes of MXNet of 2015");
	ok(refused > 10, "kernels that do not fit are refused");
}

static void
text(const struct graph *g)
{
	struct buf a = { 0 }, b = { 0 };
	struct graph *back = NULL;
	int e = graph_text(g, &a);

	ok(e == 0 && graph_parse((char *)a.p, a.n, &back) == 0, "the text of a graph is read back (%s)", err_line());
	if (back != NULL) {
		ok(graph_text(back, &b) == 0 && a.n == b.n && memcmp(a.p, b.p, a.n) == 0, "a graph that was read back has the same text");
		ok(graph_hash(g) == graph_hash(back), "a graph that was read back has the same hash");
		is(back->P + 1000 * back->A, g->P + 1000 * g->A, "a graph that was read back has the same arrays");
		ok(memcmp(&g->node[2].eps, &back->node[2].eps, sizeof(float)) == 0, "floats come back to the bit");
	}
	buf_terminate(&a);
	ok(strstr((char *)a.p, "\npool b in=c1_bn pool=max r=3 s=2 stride=2 pad=0 ceil=1\n") != NULL,
	    "a line says layer, name, inputs, attributes");
	graph_free(back);
	buf_free(&a);
	buf_free(&b);
}

/* Attributes that are in the text only where they are not the default. */
static void
later(void)
{
	static const char full[] = "tally-net 1\ndata data c=4 h=9 w=8\n"
	    "conv a in=data k=6 r=3 s=2 stride=2x1 pad=1x0 dilate=1x2 groups=2 bias=1\n"
	    "conv b in=data k=6 r=1 s=1 stride=2x1 pad=0 bias=0 begin=identity\n"
	    "act c in=a act=leaky alpha=0.25\n"
	    "pool p in=b pool=avg r=2 s=2 stride=1 pad=0 ceil=1 divide=inside\n"
	    "pad d in=p pad=1x0 reflect=1\n"
	    "lrn l in=c size=5 alpha=0.0001 power=0.75 knorm=2\n"
	    "dropout e in=l drop=0.5\nfc i in=e k=3 bias=1\nfc j in=d k=3 bias=0\nadd k in=i,j,i\nmul m in=k,j\n"
	    "softmax s in=m smooth=0.1\n";
	static const char said[] = "tally-net 1\ndata data c=2 h=4 w=4\n"
	    "conv a in=data k=2 r=1 s=1 stride=1x1 pad=0x0 dilate=1 groups=1 bias=1 begin=rule\nact b in=a act=relu alpha=0\n"
	    "fc f in=b k=2 bias=1\nsoftmax s in=f smooth=0\n";
	static const char unsaid[] = "tally-net 1\ndata data c=2 h=4 w=4\n"
	    "conv a in=data k=2 r=1 s=1 stride=1 pad=0 bias=1\nact b in=a act=relu\nfc f in=b k=2 bias=1\nsoftmax s in=f\n";
	struct buf t = { 0 };
	struct graph *g = NULL;

	if (ok(graph_parse(full, sizeof(full) - 1, &g) == 0, "all attributes are read (%s)", err_line()))
		ok(graph_text(g, &t) == 0 && t.n == sizeof(full) - 1 && memcmp(t.p, full, t.n) == 0, "all attributes are written");
	ok(g != NULL && g->node[1].h == 5 && g->node[1].w == 6 && g->w[0].dim[1] == 2, "dilation and groups count");
	graph_free(g);
	t.n = 0;
	if (ok(graph_parse(said, sizeof(said) - 1, &g) == 0, "defaults may be written out (%s)", err_line()))
		ok(graph_text(g, &t) == 0 && t.n == sizeof(unsaid) - 1 && memcmp(t.p, unsaid, t.n) == 0, "defaults are not written");
	graph_free(g);
	buf_free(&t);
}

static void
hashes(void)
{
	struct buf t = { 0 };
	uint64_t h = 0xcbf29ce484222325u;
	struct graph *g = small(), *other = NULL;
	char *at;

	graph_text(g, &t);
	buf_terminate(&t);
	for (size_t i = 0; i < t.n; i++)
		h = (h ^ t.p[i]) * 0x100000001b3u;
	ok(graph_hash(g) == h, "the hash is FNV-1a of the text");
	at = strstr((char *)t.p, "momentum=0.9");
	ok(at != NULL, "fractions are written short");
	if (at != NULL)
		memcpy(at, "momentum=0.8", 12);
	ok(graph_parse((char *)t.p, t.n, &other) == 0 && graph_hash(other) != h, "one attribute changes the hash");
	graph_free(g);
	graph_free(other);
	buf_free(&t);
}

/* Nodes that cannot be: the line names the node, and the graph is as it was. */
static void
refused(void)
{
	static const struct { const char *what; int e; struct graph_node n; } no[] = {
		{ "kernel larger than the picture", ERR_FORMAT,
		    { .op = GRAPH_CONV, .k = 1, .r = 9, .s = 9, .stride = GRAPH_BOTH(1) } },
		{ "stride 0", ERR_LIMIT, { .op = GRAPH_CONV, .k = 1, .r = 1, .s = 1 } },
		{ "no channels", ERR_LIMIT, { .op = GRAPH_CONV, .r = 1, .s = 1, .stride = GRAPH_BOTH(1) } },
		{ "too many weights", ERR_LIMIT, { .op = GRAPH_FC, .k = GRAPH_FLOATS / 2 } },
		{ "too many outputs", ERR_LIMIT, { .op = GRAPH_CONV, .k = GRAPH_FLOATS, .r = 1, .s = 1, .stride = GRAPH_BOTH(1) } },
		{ "padding of a pool not below its kernel", ERR_FORMAT,
		    { .op = GRAPH_POOL, .r = 2, .s = 2, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(2) } },
		{ "eps 0", ERR_LIMIT, { .op = GRAPH_BN, .momentum = 0.9f } },
		{ "loss over a picture", ERR_FORMAT, { .op = GRAPH_SOFTMAX } },
		{ "groups that do not divide the channels", ERR_FORMAT,
		    { .op = GRAPH_CONV, .k = 4, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .groups = 2 } },
		{ "taps too far apart", ERR_FORMAT,
		    { .op = GRAPH_CONV, .k = 4, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .dilate = { 1, 4 } } },
		{ "a picture too small to be reflected", ERR_FORMAT,
		    { .op = GRAPH_PAD, .pad = { 2, 8 }, .reflect = true } },
		{ "everything dropped", ERR_LIMIT, { .op = GRAPH_DROPOUT, .drop = 1 } },
		{ "an activation that is none", ERR_LIMIT, { .op = GRAPH_ACT, .act = 9 } },
	};
	struct graph *g = graph_new(3, 8, 8);
	uint64_t h = graph_hash(g);

	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		is(add(g, no[i].n, "odd"), no[i].e, "refused: %s", no[i].what);
		ok(strncmp(err_line(), "odd: ", 5) == 0, "the message names the node: %s", err_line());
	}
	is(add(g, relu, "a b"), ERR_FORMAT, "refused: a blank in a name");
	is(add(g, relu, ""), ERR_FORMAT, "refused: no name");
	is(add(g, relu, "data"), ERR_FORMAT, "refused: a name taken");
	ok(g->n == 1 && g->P == 0 && graph_hash(g) == h, "a refused node leaves the graph as it was");
	is(add_to(g, 7, relu, "x"), ERR_FORMAT, "a node that reads a later one is refused");
	is(add(g, relu, "dead") | add_to(g, 0, fc(10), "fc"), 0, "a branch that nobody reads is added");
	is(add(g, loss, "softmax"), ERR_FORMAT, "a loss beside an unread branch is refused");
	ok(strstr(err_line(), "'dead'") != NULL, "the message names the node: %s", err_line());
	graph_free(g);
}

static void
many(void)
{
	struct graph *g = graph_new(1, 1, 1);
	char name[16];
	int e = 0;

	while (e == 0 && g->n < 2 * GRAPH_NODES) {
		snprintf(name, sizeof(name), "n%u", g->n);
		e = add(g, bn, name);
	}
	ok(e == ERR_LIMIT && g->n == GRAPH_NODES, "there are at most %d nodes", GRAPH_NODES);
	is(g->w[g->nw - 1].first + 1, g->P, "the arrays of the most nodes are contiguous");
	graph_free(g);
}

#define HEAD "tally-net 1\n"
#define DATA HEAD "data data c=1 h=4 w=4\n"

static void
foreign(void)
{
	static const struct { const char *text; int e; const char *line; } no[] = {
		{ "", ERR_FORMAT, "line 0" },
		{ "tally-net 2\n", ERR_FORMAT, "line 1" },
		{ HEAD, ERR_FORMAT, "line 1" },
		{ HEAD "fc f in=data k=1 bias=1\n", ERR_FORMAT, "line 2" },
		{ HEAD "data data c=1 h=0 w=4\n", ERR_LIMIT, "line 2" },
		{ HEAD "data data c=99999 h=99999 w=99999\n", ERR_LIMIT, "line 2" },
		{ HEAD "data data c=1 h=4\n", ERR_FORMAT, "line 2" },
		{ HEAD "data dada c=1 h=4 w=4\n", ERR_FORMAT, "line 2" },
		{ DATA, ERR_FORMAT, "line 2: no loss" },
		{ DATA "fc f in=data k=1 bias=1\nsoftmax s in=f", ERR_FORMAT, "line 4" },
		{ DATA "data data c=1 h=4 w=4\n", ERR_FORMAT, "line 3" },
		{ DATA "fc f in=date k=1 bias=1\n", ERR_FORMAT, "line 3" },
		{ DATA "fc f k=1 bias=1\n", ERR_FORMAT, "line 3: f:" },
		{ DATA "fc f in=data k=1 k=2 bias=1\n", ERR_FORMAT, "line 3" },
		{ DATA "fc f in=data k=1\n", ERR_FORMAT, "line 3: 'f' has no bias" },
		{ DATA "fc f in=data k=-1 bias=1\n", ERR_FORMAT, "line 3: k:" },
		{ DATA "fc f in=data k=1 bias=2\n", ERR_LIMIT, "line 3: bias:" },
		{ DATA "fc f in=data,data k=1 bias=1\n", ERR_FORMAT, "line 3: f:" },
		{ DATA "fc f in=data k=1 bias=1 depth=2\n", ERR_FORMAT, "line 3: 'depth'" },
		{ DATA "act a in=data act=snake\n", ERR_FORMAT, "line 3: act:" },
		{ DATA "bn b in=data fix_gamma=0 eps=nan momentum=0.9\n", ERR_FORMAT, "line 3: eps:" },
		{ DATA "pad p in=data pad=1x2x3\n", ERR_FORMAT, "line 3: pad:" },
		{ DATA "pad p in=data pad=x2\n", ERR_FORMAT, "line 3: pad:" },
		{ DATA "pad p in=data pad=1 reflect=2\n", ERR_LIMIT, "line 3: reflect:" },
		{ DATA "conv c in=data k=1 r=1 s=1 stride=1 pad=0 groups=0 bias=0\n", ERR_LIMIT, "line 3: groups:" },
		{ DATA "lstm f in=data\n", ERR_FORMAT, "line 3: 'lstm'" },
		{ DATA "fc\n", ERR_FORMAT, "line 3" },
		{ DATA "\n", ERR_FORMAT, "line 3" },
		{ DATA "fc f in=data k=1 bias=1\nsoftmax s in=f\nact a in=f act=relu\n", ERR_FORMAT, "line 5: a:" },
	};
	struct graph *g;
	char *text;

	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		size_t n = strlen(no[i].text);
		int e = graph_parse(no[i].text, n, &g);

		ok(e == no[i].e && g == NULL && strncmp(err_line(), no[i].line, strlen(no[i].line)) == 0,
		    "foreign text %zu: %s", i, err_line());
	}
	is(graph_parse(HEAD "data\0data c=1\n", sizeof(HEAD) + 13, &g), ERR_FORMAT, "a zero byte: %s", err_line());
	text = malloc(100000);
	memset(text, 'a', 100000);
	text[99999] = '\n';
	is(graph_parse(text, 100000, &g), ERR_LIMIT, "a long line: %s", err_line());
	free(text);
}

static void
print(const struct graph *g)
{
	struct buf b = { 0 };
	size_t lines = 0;

	ok(graph_print(g, &b) == 0 && buf_terminate(&b) == 0, "printed for people");
	for (size_t i = 0; i < b.n; i++)
		lines += b.p[i] == '\n';
	is(lines, g->n + 2, "a printed graph has a head, a line for each node and a line of totals");
	ok(strstr((char *)b.p, "\n675 weights in 8 arrays, 8 running statistics, ") != NULL,
	    "the totals count weights, arrays and statistics");
	buf_free(&b);
}

int
main(void)
{
	struct graph *g = small();

	shapes(g);
	arrays(g);
	pool_sizes(false);
	pool_sizes(true);
	text(g);
	hashes();
	later();
	refused();
	many();
	foreign();
	print(g);
	graph_free(g);
	graph_free(NULL);
	return done();
}
