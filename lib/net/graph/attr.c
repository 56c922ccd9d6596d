/* attr - the attributes of a graph's nodes: their ops, values and bounds. */
#include "net/graph/attr.h"
#include "base/err.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define OP(op)	(1u << GRAPH_##op)
#define AT(x)	offsetof(struct graph_node, x)
#define SIDE	65535	/* largest kernel, stride and padding: sums of them do not overflow 32 bits */

/* Words are stored as the enum whose values index them. */
_Static_assert(sizeof(enum graph_act) == sizeof(uint32_t), "enums and counts share code");
_Static_assert(sizeof(enum graph_pool) == sizeof(uint32_t), "enums and counts share code");
_Static_assert(sizeof(enum graph_divide) == sizeof(uint32_t), "enums and counts share code");
_Static_assert(sizeof(enum graph_loss) == sizeof(uint32_t), "enums and counts share code");
_Static_assert(sizeof(enum graph_begin) == sizeof(uint32_t), "enums and counts share code");

static const char *const acts[] = { "relu", "tanh", "sigmoid", "linear", "leaky", "elu", "gelu", "gelu_tanh", "swish",
    NULL };
static const char *const pools[] = { "max", "avg", NULL };
static const char *const divides[] = { "window", "padded", "inside", NULL };
static const char *const losses[] = { "softmax", "sigmoid", "squared", NULL };
static const char *const begins[] = { "rule", "identity", "whiten", NULL };

const struct attr attr_list[] = {
	{ "c", ATTR_COUNT, AT(c), OP(DATA), 1, GRAPH_FLOATS, NULL, false, 0 },
	{ "h", ATTR_COUNT, AT(h), OP(DATA), 1, GRAPH_FLOATS, NULL, false, 0 },
	{ "w", ATTR_COUNT, AT(w), OP(DATA), 1, GRAPH_FLOATS, NULL, false, 0 },
	{ "act", ATTR_WORD, AT(act), OP(ACT), 0, 0, acts, false, 0 },
	{ "pool", ATTR_WORD, AT(pool), OP(POOL), 0, 0, pools, false, 0 },
	{ "k", ATTR_COUNT, AT(k), OP(CONV) | OP(FC), 1, GRAPH_FLOATS, NULL, false, 0 },
	{ "r", ATTR_COUNT, AT(r), OP(CONV) | OP(POOL), 1, SIDE, NULL, false, 0 },
	{ "s", ATTR_COUNT, AT(s), OP(CONV) | OP(POOL), 1, SIDE, NULL, false, 0 },
	{ "stride", ATTR_PAIR, AT(stride), OP(CONV) | OP(POOL), 1, SIDE, NULL, false, 0 },
	{ "pad", ATTR_PAIR, AT(pad), OP(CONV) | OP(POOL) | OP(PAD), 0, SIDE, NULL, false, 0 },
	{ "dilate", ATTR_PAIR, AT(dilate), OP(CONV), 1, SIDE, NULL, true, 1 },
	{ "groups", ATTR_COUNT, AT(groups), OP(CONV), 1, GRAPH_FLOATS, NULL, true, 1 },
	{ "ceil", ATTR_FLAG, AT(ceil), OP(POOL), 0, 1, NULL, false, 0 },
	{ "divide", ATTR_WORD, AT(divide), OP(POOL), 0, 0, divides, true, GRAPH_WINDOW },
	{ "bias", ATTR_FLAG, AT(bias), OP(CONV) | OP(FC), 0, 1, NULL, false, 0 },
	{ "begin", ATTR_WORD, AT(begin), OP(CONV) | OP(FC), 0, 0, begins, true, GRAPH_BY_RULE },
	{ "fix_gamma", ATTR_FLAG, AT(fix_gamma), OP(BN), 0, 1, NULL, false, 0 },
	/* A channel that never varies is divided by sqrt(eps): it must not be 0. */
	{ "eps", ATTR_REAL, AT(eps), OP(BN), 1e-12, 1, NULL, false, 0 },
	{ "momentum", ATTR_REAL, AT(momentum), OP(BN), 0, 1, NULL, false, 0 },
	{ "reflect", ATTR_FLAG, AT(reflect), OP(PAD), 0, 1, NULL, true, false },
	{ "alpha", ATTR_REAL, AT(alpha), OP(ACT), -1e6, 1e6, NULL, true, 0 },
	{ "size", ATTR_COUNT, AT(size), OP(LRN), 1, SIDE, NULL, false, 0 },
	{ "alpha", ATTR_REAL, AT(alpha), OP(LRN), 0, 1e6, NULL, false, 0 },
	{ "power", ATTR_REAL, AT(power), OP(LRN), 0, 16, NULL, false, 0 },
	/* A power of knorm is a divisor. */
	{ "knorm", ATTR_REAL, AT(knorm), OP(LRN), 1e-6, 1e6, NULL, false, 0 },
	{ "drop", ATTR_REAL, AT(drop), OP(DROPOUT), 0, 0.999, NULL, false, 0 },
	{ "smooth", ATTR_REAL, AT(smooth), OP(SOFTMAX), 0, 1, NULL, true, 0 },
	{ "loss", ATTR_WORD, AT(loss), OP(SOFTMAX), 0, 0, losses, true, GRAPH_LOSS_SOFTMAX },
	{ 0 }
};

static const size_t attr_size[] = {
	[ATTR_COUNT] = sizeof(uint32_t), [ATTR_PAIR] = sizeof(uint32_t[2]), [ATTR_FLAG] = sizeof(bool),
	[ATTR_REAL] = sizeof(float), [ATTR_WORD] = sizeof(uint32_t),
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
	char words[160] = "";

	for (uint32_t v = 0; a->word[v] != NULL; v++) {
		size_t n = strlen(words);

		if (strcmp(a->word[v], text) == 0) {
			memcpy(field, &v, sizeof(v));
			return 0;
		}
		snprintf(words + n, sizeof(words) - n, "%s%s", v > 0 ? ", " : "", a->word[v]);
	}
	return err_fail(ERR_FORMAT, "'%.32s' is not one of %s", text, words);
}

/* N, or NxM: rows and columns. */
static int
set_pair(const struct attr *a, char *field, const char *text)
{
	char first[ATTR_TEXT];
	const char *x = strchr(text, 'x');
	size_t n = x != NULL ? (size_t)(x - text) : strlen(text);
	uint64_t u[2];

	if (n >= sizeof(first))
		return err_fail(ERR_FORMAT, "'%.32s' is not a number", text);
	memcpy(first, text, n);
	first[n] = 0;
	ERR_TRY(num_u64(first, (uint64_t)a->lo, (uint64_t)a->hi, &u[0]));
	u[1] = u[0];
	if (x != NULL)
		ERR_TRY(num_u64(x + 1, (uint64_t)a->lo, (uint64_t)a->hi, &u[1]));
	memcpy(field, &(uint32_t[2]){ (uint32_t)u[0], (uint32_t)u[1] }, sizeof(uint32_t[2]));
	return 0;
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
	else if (a->kind == ATTR_PAIR)
		e = set_pair(a, field, text);
	else if (a->kind == ATTR_REAL)
		e = num_f64(text, a->lo, a->hi, &d);
	else
		e = num_u64(text, (uint64_t)a->lo, (uint64_t)a->hi, &u);
	ERR_TRY(err_wrap(e, "%s", a->key));
	if (a->kind == ATTR_COUNT)
		memcpy(field, &(uint32_t){ (uint32_t)u }, sizeof(uint32_t));
	else if (a->kind == ATTR_FLAG)
		memcpy(field, &(bool){ u != 0 }, sizeof(bool));
	else if (a->kind == ATTR_REAL)
		memcpy(field, &(float){ (float)d }, sizeof(float));
	return 0;
}

/* The shortest text that restores the float: 0.9, not 0.899999976. */
static void
format_real(float f, char text[ATTR_TEXT])
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
	uint32_t u, pair[2];
	float f;
	bool b;

	switch (a->kind) {
	case ATTR_PAIR:
		memcpy(pair, field, sizeof(pair));
		if (pair[0] == pair[1])
			snprintf(text, ATTR_TEXT, "%" PRIu32, pair[0]);
		else
			snprintf(text, ATTR_TEXT, "%" PRIu32 "x%" PRIu32, pair[0], pair[1]);
		break;
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
		format_real(f, text);
		break;
	}
}

/* Checks attributes that C code sets without attr_set(). */
static bool
check_bounds(const struct attr *a, const char *field)
{
	uint32_t u, pair[2], words = 0;
	float f;

	switch (a->kind) {
	case ATTR_PAIR:
		memcpy(pair, field, sizeof(pair));
		return pair[0] >= a->lo && pair[0] <= a->hi && pair[1] >= a->lo && pair[1] <= a->hi;
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

/* Whether a count or pair is 0 and must not be: C code omitted it. */
static bool
is_left_out(const struct attr *a, const char *field)
{
	static const uint32_t none[2];

	return a->optional && a->lo > 0 && (a->kind == ATTR_COUNT || a->kind == ATTR_PAIR) &&
	    memcmp(field, none, a->kind == ATTR_PAIR ? sizeof(none) : sizeof(none[0])) == 0;
}

static void
set_default(const struct attr *a, char *field)
{
	switch (a->kind) {
	case ATTR_COUNT:
	case ATTR_WORD:
		memcpy(field, &a->dflt, sizeof(a->dflt));
		break;
	case ATTR_PAIR:
		memcpy(field, &(uint32_t[2])GRAPH_BOTH(a->dflt), sizeof(uint32_t[2]));
		break;
	case ATTR_FLAG:
		memcpy(field, &(bool){ a->dflt != 0 }, sizeof(bool));
		break;
	case ATTR_REAL:
		memcpy(field, &(float){ 0 }, sizeof(float));
		break;
	}
}

bool
attr_is_default(const struct attr *a, const struct graph_node *n)
{
	struct graph_node plain = *n;

	if (!a->optional)
		return false;
	set_default(a, (char *)&plain + a->at);
	return memcmp((const char *)&plain + a->at, (const char *)n + a->at, attr_size[a->kind]) == 0;
}

void
attr_defaults(struct graph_node *n)
{
	for (const struct attr *a = attr_list; a->key != NULL; a++)
		if (a->optional && attr_has(a, n->op))
			set_default(a, (char *)n + a->at);
}

int
attr_copy(struct graph_node *n, const struct graph_node *like)
{
	for (const struct attr *a = attr_list; a->key != NULL; a++) {
		if (!attr_has(a, n->op))
			continue;
		if (is_left_out(a, (const char *)like + a->at)) {
			set_default(a, (char *)n + a->at);
			continue;
		}
		if (!check_bounds(a, (const char *)like + a->at))
			return a->kind == ATTR_WORD ? err_fail(ERR_LIMIT, "%s is no such word", a->key) :
			    err_fail(ERR_LIMIT, "%s is not in %.10g..%.10g", a->key, a->lo, a->hi);
		memcpy((char *)n + a->at, (const char *)like + a->at, attr_size[a->kind]);
	}
	return 0;
}
