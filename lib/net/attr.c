/* attr - the attributes of a graph's nodes: which op has which, their words and bounds. */
#include "net/attr.h"
#include "base/err.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define OP(op)	(1u << GRAPH_##op)
#define AT(x)	offsetof(struct graph_node, x)
#define SIDE	65535	/* largest kernel, stride and padding: sums of a few stay far below 2^32 */

/* Words are stored as the enum whose values index them. */
_Static_assert(sizeof(enum graph_act) == sizeof(uint32_t), "enums and counts share code");
_Static_assert(sizeof(enum graph_pool) == sizeof(uint32_t), "enums and counts share code");

static const char *const acts[] = { "relu", "tanh", "sigmoid", NULL };
static const char *const pools[] = { "max", "avg", NULL };

const struct attr attr_list[] = {
	{ "c", ATTR_COUNT, AT(c), OP(DATA), 1, GRAPH_FLOATS, NULL },
	{ "h", ATTR_COUNT, AT(h), OP(DATA), 1, GRAPH_FLOATS, NULL },
	{ "w", ATTR_COUNT, AT(w), OP(DATA), 1, GRAPH_FLOATS, NULL },
	{ "act", ATTR_WORD, AT(act), OP(ACT), 0, 0, acts },
	{ "pool", ATTR_WORD, AT(pool), OP(POOL), 0, 0, pools },
	{ "k", ATTR_COUNT, AT(k), OP(CONV) | OP(FC), 1, GRAPH_FLOATS, NULL },
	{ "r", ATTR_COUNT, AT(r), OP(CONV) | OP(POOL), 1, SIDE, NULL },
	{ "s", ATTR_COUNT, AT(s), OP(CONV) | OP(POOL), 1, SIDE, NULL },
	{ "stride", ATTR_COUNT, AT(stride), OP(CONV) | OP(POOL), 1, SIDE, NULL },
	{ "pad", ATTR_COUNT, AT(pad), OP(CONV) | OP(POOL), 0, SIDE, NULL },
	{ "ceil", ATTR_FLAG, AT(ceil), OP(POOL), 0, 1, NULL },
	{ "bias", ATTR_FLAG, AT(bias), OP(CONV) | OP(FC), 0, 1, NULL },
	{ "fix_gamma", ATTR_FLAG, AT(fix_gamma), OP(BN), 0, 1, NULL },
	/* A channel that never varies is divided by sqrt(eps): it must not be 0. */
	{ "eps", ATTR_REAL, AT(eps), OP(BN), 1e-12, 1, NULL },
	{ "momentum", ATTR_REAL, AT(momentum), OP(BN), 0, 1, NULL },
	{ 0 }
};

bool
attr_has(const struct attr *a, enum graph_op op)
{
	return (a->ops >> op & 1) != 0;
}

const struct attr *
attr_find(enum graph_op op, const char *key)
{
	for (const struct attr *a = attr_list; a->key != NULL; a++)
		if (attr_has(a, op) && strcmp(a->key, key) == 0)
			return a;
	return NULL;
}

static int
set_word(const struct attr *a, char *field, const char *text)
{
	for (uint32_t v = 0; a->word[v] != NULL; v++)
		if (strcmp(a->word[v], text) == 0) {
			memcpy(field, &v, sizeof(v));
			return 0;
		}
	return err_fail(ERR_FORMAT, "'%.32s' is no such word", text);
}

int
attr_set(const struct attr *a, struct graph_node *n, const char *text)
{
	char *field = (char *)n + a->at;
	uint64_t u = 0;
	double d = 0;
	int e;

	if (a->kind == ATTR_WORD)
		e = set_word(a, field, text);
	else if (a->kind == ATTR_REAL)
		e = num_f64(text, a->lo, a->hi, &d);
	else
		e = num_u64(text, (uint64_t)a->lo, (uint64_t)a->hi, &u);
	if (e < 0) {
		err_within("%s", a->key);
		return e;
	}
	if (a->kind == ATTR_COUNT)
		memcpy(field, &(uint32_t){ (uint32_t)u }, sizeof(uint32_t));
	else if (a->kind == ATTR_FLAG)
		memcpy(field, &(bool){ u != 0 }, sizeof(bool));
	else if (a->kind == ATTR_REAL)
		memcpy(field, &(float){ (float)d }, sizeof(float));
	return 0;
}

/* The shortest text that gives the float back: 0.9, not 0.899999976. */
static void
real_text(float f, char text[ATTR_TEXT])
{
	for (int digits = 1; digits <= 9; digits++) {
		snprintf(text, ATTR_TEXT, "%.*g", digits, (double)f);
		if (strtof(text, NULL) == f)
			break;
	}
}

void
attr_text(const struct attr *a, const struct graph_node *n, char text[ATTR_TEXT])
{
	const char *field = (const char *)n + a->at;
	uint32_t u;
	float f;
	bool b;

	switch (a->kind) {
	case ATTR_COUNT:
		memcpy(&u, field, sizeof(u));
		snprintf(text, ATTR_TEXT, "%" PRIu32, u);
		break;
	case ATTR_WORD:
		memcpy(&u, field, sizeof(u));
		snprintf(text, ATTR_TEXT, "%s", a->word[u]);
		break;
	case ATTR_FLAG:
		memcpy(&b, field, sizeof(b));
		snprintf(text, ATTR_TEXT, "%d", b);
		break;
	case ATTR_REAL:
		memcpy(&f, field, sizeof(f));
		real_text(f, text);
		break;
	}
}

/* Attributes also come from C, without having passed attr_set(). */
static bool
in_bounds(const struct attr *a, const char *field)
{
	uint32_t u, words = 0;
	float f;

	switch (a->kind) {
	case ATTR_COUNT:
		memcpy(&u, field, sizeof(u));
		return u >= a->lo && u <= a->hi;
	case ATTR_WORD:
		while (a->word[words] != NULL)
			words++;
		memcpy(&u, field, sizeof(u));
		return u < words;
	case ATTR_REAL:
		memcpy(&f, field, sizeof(f));
		return f >= (float)a->lo && f <= (float)a->hi;
	case ATTR_FLAG:
		break;
	}
	return true;
}

int
attr_copy(struct graph_node *n, const struct graph_node *like)
{
	static const size_t size[] = {
		[ATTR_COUNT] = sizeof(uint32_t), [ATTR_FLAG] = sizeof(bool),
		[ATTR_REAL] = sizeof(float), [ATTR_WORD] = sizeof(uint32_t),
	};

	for (const struct attr *a = attr_list; a->key != NULL; a++) {
		if (!attr_has(a, n->op))
			continue;
		if (!in_bounds(a, (const char *)like + a->at))
			return a->kind == ATTR_WORD ? err_fail(ERR_LIMIT, "%s is no such word", a->key) :
			    err_fail(ERR_LIMIT, "%s is not in %.10g..%.10g", a->key, a->lo, a->hi);
		memcpy((char *)n + a->at, (const char *)like + a->at, size[a->kind]);
	}
	return 0;
}
