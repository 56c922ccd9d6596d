/* graph_text - converts a graph to the text of net(5), and back. */
#include "base/err.h"
#include "base/hash.h"
#include "net/graph/attr.h"
#include "net/graph/graph.h"
#include "net/graph/op.h"

#include <stdio.h>

#define HEAD	"tally-net 1"
#define LINE	(OP_INS * GRAPH_NAME + 1024)	/* bytes of the longest node's line */

/* Writes a node's line without its newline.  Every line fits LINE, so this cannot fail. */
static size_t
format_node_line(const struct graph *g, const struct graph_node *n, char out[LINE])
{
	size_t len = (size_t)snprintf(out, LINE, "%s %s", op_name(n->op), n->name);
	char text[ATTR_TEXT];

	for (uint32_t i = 0; i < n->nin; i++)
		len += (size_t)snprintf(out + len, LINE - len, "%s%s", i == 0 ? " in=" : ",", g->node[n->in[i]].name);
	for (const struct attr *a = attr_list; a->key != NULL; a++)
		if (attr_has(a, n->op) && !attr_is_default(a, n)) {
			attr_text(a, n, text);
			len += (size_t)snprintf(out + len, LINE - len, " %s=%s", a->key, text);
		}
	return len;
}

int
graph_text(const struct graph *g, struct buf *out)
{
	char text[LINE];

	ERR_TRY(buf_put(out, HEAD "\n", sizeof(HEAD)));
	for (uint32_t i = 0; i < g->n; i++) {
		size_t len = format_node_line(g, &g->node[i], text);

		text[len] = '\n';
		ERR_TRY(buf_put(out, text, len + 1));
	}
	return 0;
}

uint64_t
graph_hash(const struct graph *g)
{
	uint64_t h = hash_update(HASH_START, HEAD "\n", sizeof(HEAD));
	char text[LINE];

	for (uint32_t i = 0; i < g->n; i++) {
		h = hash_update(h, text, format_node_line(g, &g->node[i], text));
		h = hash_update(h, "\n", 1);
	}
	return h;
}

static int
find_inputs(const struct graph *g, char *names, struct graph_node *n)
{
	char *save = NULL;
	uint32_t i;

	for (char *name = strtok_r(names, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
		/* Search backwards: most nodes read the previous one. */
		for (i = g->n; i > 0 && strcmp(g->node[i - 1].name, name) != 0; i--)
			;
		if (i == 0)
			return err_fail(ERR_FORMAT, "reads '%.64s', which is not an earlier node", name);
		if (n->nin == OP_INS)
			return err_fail(ERR_LIMIT, "has more than %d inputs", OP_INS);
		n->in[n->nin++] = i - 1;
	}
	return 0;
}

/* Reads KEY=VALUE; bit i of *seen says that attr_list[i] is set. */
static int
read_attr(const struct graph *g, char *word, struct graph_node *n, uint64_t *seen)
{
	const struct attr *a;
	char *value = strchr(word, '=');

	if (value == NULL)
		return err_fail(ERR_FORMAT, "'%.64s' is not KEY=VALUE", word);
	*value++ = 0;
	if (strcmp(word, "in") == 0 && n->op != GRAPH_DATA && n->nin == 0)
		return find_inputs(g, value, n);
	if ((a = attr_find(n->op, word)) == NULL || (*seen >> (a - attr_list) & 1) != 0)
		return err_fail(ERR_FORMAT, "'%.64s' is not an attribute of %s, or is repeated", word, op_name(n->op));
	*seen |= (uint64_t)1 << (a - attr_list);
	return attr_set(a, n, value);
}

/* Parses a line into n; n->in has space for OP_INS. */
static int
read_node(const struct graph *g, char *text, struct graph_node *n)
{
	char *save = NULL, *word = strtok_r(text, " ", &save);
	uint64_t seen = 0;
	int e = 0;

	if (word == NULL || (n->op = op_find(word)) == GRAPH_OPS)
		return err_fail(ERR_FORMAT, "'%.64s' is not a kind of layer", word == NULL ? "" : word);
	if ((g == NULL) != (n->op == GRAPH_DATA))
		return err_fail(ERR_FORMAT, "the first node, and only it, must be the data");
	if ((word = strtok_r(NULL, " ", &save)) == NULL || strlen(word) >= GRAPH_NAME)
		return err_fail(ERR_FORMAT, "has no name of at most %d bytes", GRAPH_NAME - 1);
	memcpy(n->name, word, strlen(word) + 1);
	attr_defaults(n);
	while (e == 0 && (word = strtok_r(NULL, " ", &save)) != NULL)
		e = read_attr(g, word, n, &seen);
	if (e < 0)
		return e;
	for (const struct attr *a = attr_list; a->key != NULL; a++)
		if (attr_has(a, n->op) && !a->optional && (seen >> (a - attr_list) & 1) == 0)
			return err_fail(ERR_FORMAT, "'%s' has no %s", n->name, a->key);
	return 0;
}

/* Creates the graph from the first node, and adds the others to it. */
static int
add_node_line(struct graph **g, char *text)
{
	uint32_t in[OP_INS], at;
	struct graph_node n = { .in = in };

	ERR_TRY(read_node(*g, text, &n));
	if (*g != NULL)
		return graph_add(*g, &n, &at);
	if (strcmp(n.name, "data") != 0)
		return err_fail(ERR_FORMAT, "the data node must have the name 'data'");
	if (!op_fits(n.c, n.h, n.w))
		return err_fail(ERR_LIMIT, "an image of %ux%ux%u is too large", n.c, n.h, n.w);
	return (*g = graph_new(n.c, n.h, n.w)) == NULL ? ERR_NOMEM : 0;
}

static int
read_line(struct graph **g, const char *text, size_t n, size_t number)
{
	char copy[LINE];

	if (n >= LINE)
		return err_fail(ERR_LIMIT, "is longer than %d bytes", LINE - 1);
	if (memchr(text, 0, n) != NULL)
		return err_fail(ERR_FORMAT, "holds a zero byte");
	memcpy(copy, text, n);
	copy[n] = 0;
	if (number > 1)
		return add_node_line(g, copy);
	return strcmp(copy, HEAD) == 0 ? 0 : err_fail(ERR_FORMAT, "is not '%s'", HEAD);
}

int
graph_parse(const char *text, size_t n, struct graph **g)
{
	size_t number = 0;
	int e = 0;

	*g = NULL;
	while (e == 0 && n > 0) {
		const char *end = memchr(text, '\n', n);
		size_t len = end == NULL ? n : (size_t)(end - text);

		number++;
		e = end == NULL ? err_fail(ERR_FORMAT, "ends without a newline") : read_line(g, text, len, number);
		text += len + (end != NULL);
		n -= len + (end != NULL);
	}
	if (e == 0 && (*g == NULL || (*g)->classes == 0))
		e = err_fail(ERR_FORMAT, "no loss follows");
	if (e < 0) {
		err_within("line %zu", number);
		graph_free(*g);
		*g = NULL;
	}
	return e;
}
