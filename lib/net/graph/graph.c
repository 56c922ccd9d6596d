/* graph - a net as a flat list of layers over one array of weights. */
#include "net/graph/graph.h"
#include "base/err.h"
#include "net/graph/attr.h"
#include "net/graph/op.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_ARRAYS 4	/* arrays of one node in w */

struct graph *
graph_new(uint32_t c, uint32_t h, uint32_t w)
{
	struct graph *g = calloc(1, sizeof(*g));

	assert(op_fits(c, h, w));
	if (g == NULL || (g->node = calloc(1, sizeof(*g->node))) == NULL) {
		err_note_memory();
		graph_free(g);
		return NULL;
	}
	g->node[0] = (struct graph_node){ .op = GRAPH_DATA, .name = "data", .c = c, .h = h, .w = w,
	    .weight = -1, .bias_at = -1, .gamma = -1, .beta = -1, .mean = -1, .var = -1 };
	g->n = 1;
	return g;
}

void
graph_free(struct graph *g)
{
	if (g == NULL)
		return;
	for (uint32_t i = 0; i < g->n; i++)
		free(g->node[i].in);
	free(g->node);
	free(g->w);
	free(g->aux);
	free(g);
}

/* Grows an array of n elements by `more`; the array may move. */
static int
reserve_elements(void *array, uint32_t n, uint32_t more, size_t size)
{
	void **p = array, *moved;
	uint32_t cap = 1;

	while (cap < n)
		cap *= 2;
	if (n > 0 && n + more <= cap)
		return 0;
	while (cap < n + more)
		cap *= 2;
	if ((moved = realloc(*p, cap * size)) == NULL)
		return err_nomem();
	*p = moved;
	return 0;
}

static int
check_name(const struct graph *g, const char *name)
{
	static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	size_t n = strnlen(name, GRAPH_NAME);

	if (n == 0 || n == GRAPH_NAME)
		return err_fail(ERR_FORMAT, "the node name '%.*s' does not have 1 to %d bytes", GRAPH_NAME, name,
		    GRAPH_NAME - 1);
	if (name[strspn(name, fine)] != 0)
		return err_fail(ERR_FORMAT, "the name '%s' has bytes other than letters, digits, '_', '-', '.'", name);
	for (uint32_t i = 0; i < g->n; i++)
		if (strcmp(g->node[i].name, name) == 0)
			return err_fail(ERR_FORMAT, "'%s' names two nodes", name);
	return 0;
}

static int
check_inputs(const struct graph *g, const struct graph_node *like)
{
	uint32_t most = op_most_in(like->op);

	if (like->nin == 0 || like->nin > most)
		return err_fail(ERR_FORMAT, "reads %u nodes, not %s", like->nin, most > 1 ? "one or more" : "one");
	for (uint32_t i = 0; i < like->nin; i++)
		if (like->in[i] >= g->n)
			return err_fail(ERR_FORMAT, "reads node %u, which is not before it", like->in[i]);
	return 0;
}

/* Fails if the output of a node is not read: engines would compute it, and it would get no gradient. */
static int
check_read(const struct graph *g, uint32_t last)
{
	bool read[GRAPH_NODES] = { false };

	read[last] = true;
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t k = 0; k < g->node[i].nin; k++)
			read[g->node[i].in[k]] = true;
	for (uint32_t i = 0; i < g->n; i++)
		if (!read[i])
			return err_fail(ERR_FORMAT, "nothing reads '%s'", g->node[i].name);
	return 0;
}

/* Appends an array of the next node to list; dim ends at the first 0. */
static int32_t
append_graph_array(const struct graph *g, const struct graph_node *n, struct graph_array *list, uint32_t *count,
    size_t *total,
	enum graph_role role, const uint32_t dim[4])
{
	static const char *const tail[] = {
		[GRAPH_WEIGHT] = "weight", [GRAPH_BIAS] = "bias", [GRAPH_GAMMA] = "gamma", [GRAPH_BETA] = "beta",
		[GRAPH_MEAN] = "moving_mean", [GRAPH_VAR] = "moving_var",
	};
	struct graph_array *a = &list[*count];

	*a = (struct graph_array){ .role = role, .node = g->n, .first = *total, .count = 1 };
	snprintf(a->name, sizeof(a->name), "%s_%s", n->name, tail[role]);
	while (a->ndim < 4 && dim[a->ndim] > 0) {
		a->dim[a->ndim] = dim[a->ndim];
		a->count *= dim[a->ndim++];
	}
	*total += a->count;
	return (int32_t)(*count)++;
}

/* The weights that n adds to P: at most about 2^61, as k, c*h*w and c are at most 2^30. */
static uint64_t
count_node_weights(const struct graph_node *n, const struct graph_node *from)
{
	uint64_t each;

	switch (n->op) {
	case GRAPH_CONV:
		/* r and s fit the padded input, which may be larger than the limit: divide first. */
		each = (uint64_t)n->r * n->s;
		return each > GRAPH_FLOATS / from->c ? UINT64_MAX : n->k * (each * (from->c / n->groups) + n->bias);
	case GRAPH_FC:
		return n->k * ((uint64_t)from->c * from->h * from->w + n->bias);
	case GRAPH_BN:
		return 2 * (uint64_t)n->c;
	default:
		return 0;
	}
}

/* Appends the learned arrays and the running statistics of n. */
static void
place_node_arrays(struct graph *g, struct graph_node *n, const struct graph_node *from)
{
	const uint32_t conv[4] = { n->k, n->op == GRAPH_CONV ? from->c / n->groups : 0, n->r, n->s };
	const uint32_t fc[4] = { n->k, from->c * from->h * from->w }, out[4] = { n->c };

	n->weight = n->bias_at = n->gamma = n->beta = n->mean = n->var = -1;
	if (n->op == GRAPH_CONV || n->op == GRAPH_FC)
		n->weight = append_graph_array(g, n, g->w, &g->nw, &g->P, GRAPH_WEIGHT,
		    n->op == GRAPH_CONV ? conv : fc);
	if (n->bias)
		n->bias_at = append_graph_array(g, n, g->w, &g->nw, &g->P, GRAPH_BIAS, out);
	if (n->op == GRAPH_BN) {
		n->gamma = append_graph_array(g, n, g->w, &g->nw, &g->P, GRAPH_GAMMA, out);
		n->beta = append_graph_array(g, n, g->w, &g->nw, &g->P, GRAPH_BETA, out);
		n->mean = append_graph_array(g, n, g->aux, &g->naux, &g->A, GRAPH_MEAN, out);
		n->var = append_graph_array(g, n, g->aux, &g->naux, &g->A, GRAPH_VAR, out);
	}
}

/* Checks the new node and computes everything but its arrays; does not change g. */
static int
check_node(const struct graph *g, const struct graph_node *like, struct graph_node *n)
{
	ERR_TRY(check_inputs(g, like));
	ERR_TRY(attr_copy(n, like));
	n->in = like->in;
	n->nin = like->nin;
	ERR_TRY(op_shape(g, n));
	if (n->op == GRAPH_SOFTMAX)
		ERR_TRY(check_read(g, n->in[0]));
	if (count_node_weights(n, &g->node[n->in[0]]) > GRAPH_FLOATS - g->P)
		return err_fail(ERR_LIMIT, "brings the net over %u weights", GRAPH_FLOATS);
	return 0;
}

int
graph_add(struct graph *g, const struct graph_node *like, uint32_t *at)
{
	struct graph_node n = { .op = like->op };
	uint32_t *in;
	int e;

	assert(like->op > GRAPH_DATA && like->op < GRAPH_OPS);
	if (g->n == GRAPH_NODES)
		return err_fail(ERR_LIMIT, "a net of more than %d nodes", GRAPH_NODES);
	ERR_TRY(check_name(g, like->name));
	memcpy(n.name, like->name, strlen(like->name) + 1);
	e = g->classes > 0 ? err_fail(ERR_FORMAT, "comes after the loss") : check_node(g, like, &n);
	ERR_TRY(err_wrap(e, "%s", n.name));
	if (reserve_elements(&g->node, g->n, 1, sizeof(*g->node)) < 0 ||
	    reserve_elements(&g->w, g->nw, MOST_ARRAYS, sizeof(*g->w)) < 0 ||
	    reserve_elements(&g->aux, g->naux, MOST_ARRAYS, sizeof(*g->aux)) < 0 ||
	    (in = malloc(n.nin * sizeof(*in))) == NULL)
		return err_nomem();
	memcpy(in, n.in, n.nin * sizeof(*in));
	n.in = in;
	place_node_arrays(g, &n, &g->node[in[0]]);
	if (n.op == GRAPH_SOFTMAX)
		g->classes = n.c;
	*at = g->n;
	g->node[g->n++] = n;
	return 0;
}
