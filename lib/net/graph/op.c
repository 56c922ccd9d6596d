/* op - the kinds of layer: their names, numbers of inputs and output shapes. */
#include "net/graph/op.h"
#include "base/err.h"

static const struct graph_node *
get_first_input(const struct graph *g, const struct graph_node *n)
{
	return &g->node[n->in[0]];
}

bool
op_fits(uint64_t c, uint64_t h, uint64_t w)
{
	const uint64_t most = GRAPH_FLOATS;

	return c > 0 && h > 0 && w > 0 && c <= most && h <= most / c && w <= most / (c * h);
}

/* Computes the number of windows of a kernel of size k along the rows (d 0) or columns (d 1) of the input. */
static int
count_windows(uint32_t in, uint64_t k, const struct graph_node *n, int d, uint32_t *out)
{
	uint32_t all = in + 2 * n->pad[d], past;

	if (n->op == GRAPH_CONV)
		k = (k - 1) * n->dilate[d] + 1;
	if (k > all)
		return err_fail(ERR_FORMAT, "a kernel of %llu does not fit a side of %u padded by %u",
		    (unsigned long long)k, in, n->pad[d]);
	past = all - (uint32_t)k;
	/*
	 * The last window may extend beyond the padding, but it starts before the padding at the end: as in Caffe,
	 * PyTorch and, without padding, MXNet.
	 */
	if (n->op == GRAPH_POOL && n->ceil) {
		past += n->stride[d] - 1;
		past = past < in + n->pad[d] - 1 ? past : in + n->pad[d] - 1;
	}
	*out = past / n->stride[d] + 1;
	return 0;
}

static int
infer_window_sides(const struct graph *g, struct graph_node *n)
{
	ERR_TRY(count_windows(get_first_input(g, n)->h, n->r, n, 0, &n->h));
	return count_windows(get_first_input(g, n)->w, n->s, n, 1, &n->w);
}

static int
infer_same(const struct graph *g, struct graph_node *n)
{
	n->c = get_first_input(g, n)->c;
	n->h = get_first_input(g, n)->h;
	n->w = get_first_input(g, n)->w;
	return 0;
}

/* Only the data can be whitened, and the time to find eigenvectors grows with the cube of the patch. */
static int
check_whitening(const struct graph *g, const struct graph_node *n)
{
	const struct graph_node *from = get_first_input(g, n);
	const uint64_t most = 192;

	if (n->op != GRAPH_CONV || from->op != GRAPH_DATA || n->groups != 1 || n->dilate[0] != 1 || n->dilate[1] != 1)
		return err_fail(ERR_FORMAT, "only a first convolution without groups or dilation can whiten");
	if ((uint64_t)from->c * n->r > most || (uint64_t)from->c * n->r * n->s > most)
		return err_fail(ERR_LIMIT, "whitens patches of more than %llu numbers", (unsigned long long)most);
	return 0;
}

static int
infer_conv(const struct graph *g, struct graph_node *n)
{
	uint32_t c = get_first_input(g, n)->c;

	if (c % n->groups != 0 || n->k % n->groups != 0)
		return err_fail(ERR_FORMAT, "%u channels in and %u out do not divide into %u groups", c, n->k,
		    n->groups);
	n->c = n->k;
	return infer_window_sides(g, n);
}

/* Padding is below the kernel's size, so that no window holds padding only: it would have no maximum. */
static int
infer_pool(const struct graph *g, struct graph_node *n)
{
	if (n->pad[0] >= n->r || n->pad[1] >= n->s)
		return err_fail(ERR_FORMAT, "padding %ux%u is not below the kernel's %ux%u", n->pad[0], n->pad[1], n->r,
		    n->s);
	n->c = get_first_input(g, n)->c;
	return infer_window_sides(g, n);
}

static int
infer_pad(const struct graph *g, struct graph_node *n)
{
	const struct graph_node *from = get_first_input(g, n);

	if (n->reflect && (n->pad[0] >= from->h || n->pad[1] >= from->w))
		return err_fail(ERR_FORMAT, "'%s' of %ux%u cannot be reflected over %ux%u", from->name, from->h,
		    from->w,
		    n->pad[0], n->pad[1]);
	n->c = from->c;
	if (!op_fits(n->c, (uint64_t)from->h + 2 * n->pad[0], (uint64_t)from->w + 2 * n->pad[1]))
		return err_fail(ERR_LIMIT, "gives more than %u floats", GRAPH_FLOATS);
	n->h = from->h + 2 * n->pad[0];
	n->w = from->w + 2 * n->pad[1];
	return 0;
}

/* Sums and products: all inputs must have the same shape. */
static int
infer_sum(const struct graph *g, struct graph_node *n)
{
	infer_same(g, n);
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct graph_node *from = &g->node[n->in[i]];

		if (from->c != n->c || from->h != n->h || from->w != n->w)
			return err_fail(ERR_FORMAT, "'%s' is %ux%ux%u but '%s' is %ux%ux%u",
			    get_first_input(g, n)->name, n->c, n->h, n->w, from->name, from->c, from->h,
			    from->w);
	}
	return 0;
}

static int
infer_fc(const struct graph *g, struct graph_node *n)
{
	(void)g;
	n->c = n->k;
	n->h = n->w = 1;
	return 0;
}

static int
infer_concat(const struct graph *g, struct graph_node *n)
{
	uint64_t c = 0;

	infer_same(g, n);
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct graph_node *from = &g->node[n->in[i]];

		if (from->h != n->h || from->w != n->w)
			return err_fail(ERR_FORMAT, "'%s' is %ux%u but '%s' is %ux%u", get_first_input(g, n)->name,
			    n->h, n->w, from->name, from->h, from->w);
		c += from->c;
	}
	if (!op_fits(c, n->h, n->w))
		return err_fail(ERR_LIMIT, "gives more than %u floats", GRAPH_FLOATS);
	n->c = (uint32_t)c;
	return 0;
}

static int
infer_flatten(const struct graph *g, struct graph_node *n)
{
	const struct graph_node *from = get_first_input(g, n);

	n->c = from->c * from->h * from->w;
	n->h = n->w = 1;
	return 0;
}

static int
infer_softmax(const struct graph *g, struct graph_node *n)
{
	infer_same(g, n);
	if (n->h != 1 || n->w != 1)
		return err_fail(ERR_FORMAT, "'%s' is %ux%ux%u, not one number per class", get_first_input(g, n)->name,
		    n->c, n->h, n->w);
	if (n->loss != GRAPH_LOSS_SOFTMAX && n->smooth > 0)
		return err_fail(ERR_FORMAT, "smooth is for the loss softmax");
	return 0;
}

static const struct {
	const char *name;
	uint32_t    most_in;
	int	  (*shape)(const struct graph *g, struct graph_node *n);
} ops[GRAPH_OPS] = {
	[GRAPH_DATA] = { "data", 0, NULL },
	[GRAPH_CONV] = { "conv", 1, infer_conv },
	[GRAPH_FC] = { "fc", 1, infer_fc },
	[GRAPH_BN] = { "bn", 1, infer_same },
	[GRAPH_ACT] = { "act", 1, infer_same },
	[GRAPH_POOL] = { "pool", 1, infer_pool },
	[GRAPH_CONCAT] = { "concat", OP_INS, infer_concat },
	[GRAPH_FLATTEN] = { "flatten", 1, infer_flatten },
	[GRAPH_ADD] = { "add", OP_INS, infer_sum },
	[GRAPH_MUL] = { "mul", OP_INS, infer_sum },
	[GRAPH_PAD] = { "pad", 1, infer_pad },
	[GRAPH_LRN] = { "lrn", 1, infer_same },
	[GRAPH_DROPOUT] = { "dropout", 1, infer_same },
	[GRAPH_SOFTMAX] = { "softmax", 1, infer_softmax },
};

const char *
op_name(enum graph_op op)
{
	return ops[op].name;
}

enum graph_op
op_find(const char *name)
{
	enum graph_op op = 0;

	while (op < GRAPH_OPS && strcmp(ops[op].name, name) != 0)
		op++;
	return op;
}

uint32_t
op_most_in(enum graph_op op)
{
	return ops[op].most_in;
}

int
op_shape(const struct graph *g, struct graph_node *n)
{
	int e = ops[n->op].shape(g, n);

	if (e == 0 && n->begin == GRAPH_WHITEN)
		e = check_whitening(g, n);
	if (e == 0 && !op_fits(n->c, n->h, n->w))
		e = err_fail(ERR_LIMIT, "gives more than %u floats", GRAPH_FLOATS);
	return e;
}
