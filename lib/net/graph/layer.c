/* layer - the functions that a net's script calls to add nodes to its graph. */
#include "net/graph/layer.h"
#include "base/err.h"
#include "net/graph/attr.h"
#include "net/graph/sandbox.h"
#include "net/graph/op.h"
#include "net/init.h"

#include <lauxlib.h>
#include <stdio.h>

#define HANDLE "node"	/* the type of a node's handle in messages */

struct layer {
	const char	 *name;
	struct graph_node like;		/* the op and the defaults of its attributes */
	const char	 *main;		/* attribute that may follow the nodes by position, or NULL */
	const char	 *fixed;	/* attribute that a script cannot set, or NULL */
	bool		  global;	/* the window is the whole input */
};

#define ACT(kind)	.op = GRAPH_ACT, .act = GRAPH_##kind
#define POOL(kind)	.op = GRAPH_POOL, .stride = GRAPH_BOTH(1), .pool = GRAPH_##kind

/*
 * Sources of the defaults.  Batch norm: eps of MXNet's inception-bn since v0.8 (1e-10 + 1e-5), momentum of all MXNet
 * nets since 2015-11-12.  Leaky: PyTorch (MXNet has 0.25).  LRN: Krizhevsky, Sutskever, Hinton, "ImageNet
 * classification with deep convolutional neural networks", 2012, with alpha over size.
 */
static const struct layer layers[] = {
	{ "conv", { .op = GRAPH_CONV, .stride = GRAPH_BOTH(1), .bias = true }, "k", NULL, false },
	{ "fc", { .op = GRAPH_FC, .bias = true }, "k", NULL, false },
	{ "bn", { .op = GRAPH_BN, .eps = 1e-5f, .momentum = 0.9f }, NULL, NULL, false },
	{ "act", { .op = GRAPH_ACT }, "act", NULL, false },
	{ "relu", { ACT(RELU) }, NULL, "act", false },
	{ "tanh", { ACT(TANH) }, NULL, "act", false },
	{ "sigmoid", { ACT(SIGMOID) }, NULL, "act", false },
	{ "scale", { ACT(LINEAR), .alpha = 1 }, "alpha", "act", false },
	{ "leaky", { ACT(LEAKY), .alpha = 0.01f }, "alpha", "act", false },
	{ "elu", { ACT(ELU), .alpha = 1 }, "alpha", "act", false },
	{ "gelu", { ACT(GELU) }, NULL, "act", false },
	{ "gelu_tanh", { ACT(GELU_TANH) }, NULL, "act", false },
	{ "swish", { ACT(SWISH) }, NULL, "act", false },
	{ "pool", { POOL(MAX) }, "pool", NULL, false },
	{ "maxpool", { POOL(MAX) }, NULL, "pool", false },
	{ "avgpool", { POOL(AVG) }, NULL, "pool", false },
	{ "globalmax", { POOL(MAX) }, NULL, "pool", true },
	{ "globalavg", { POOL(AVG) }, NULL, "pool", true },
	{ "concat", { .op = GRAPH_CONCAT }, NULL, NULL, false },
	{ "flatten", { .op = GRAPH_FLATTEN }, NULL, NULL, false },
	{ "add", { .op = GRAPH_ADD }, NULL, NULL, false },
	{ "mul", { .op = GRAPH_MUL }, NULL, NULL, false },
	{ "pad", { .op = GRAPH_PAD }, "pad", NULL, false },
	{ "lrn", { .op = GRAPH_LRN, .size = 5, .alpha = 1e-4f, .power = 0.75f, .knorm = 2 }, NULL, NULL, false },
	{ "dropout", { .op = GRAPH_DROPOUT, .drop = 0.5f }, "drop", NULL, false },
	{ "softmax", { .op = GRAPH_SOFTMAX }, NULL, NULL, false },
};

#define LAYERS (sizeof(layers) / sizeof(*layers))
_Static_assert(LAYERS <= LAYER_KINDS, "layer_net counts each kind");

bool
layer_node(lua_State *L, int idx, uint32_t *at)
{
	const uint32_t *handle = luaL_testudata(L, idx, HANDLE);

	if (handle != NULL)
		*at = *handle;
	return handle != NULL;
}

static int
push_handle(lua_State *L, uint32_t at)
{
	uint32_t *handle = lua_newuserdatauv(L, sizeof(*handle), 0);

	*handle = at;
	luaL_setmetatable(L, HANDLE);
	return 1;
}

/* The fields of a node that a script can read: x.c, x.h, x.w, x.name. */
static int
handle_index(lua_State *L)
{
	const struct layer_net *net = sandbox_mine(L);
	const uint32_t *at = luaL_checkudata(L, 1, HANDLE);
	const struct graph_node *n = &net->graph->node[*at];
	const char *key = luaL_checkstring(L, 2);

	if (strcmp(key, "name") == 0)
		lua_pushstring(L, n->name);
	else if (strcmp(key, "c") == 0)
		lua_pushinteger(L, n->c);
	else if (strcmp(key, "h") == 0)
		lua_pushinteger(L, n->h);
	else if (strcmp(key, "w") == 0)
		lua_pushinteger(L, n->w);
	else
		return luaL_error(L, "a node has c, h, w and name, not '%s'", key);
	return 1;
}

static int
handle_tostring(lua_State *L)
{
	lua_pushliteral(L, "name");
	return handle_index(L);
}

/* Whether a script may set the option: "kernel" stands for r and s. */
static bool
has_option(const struct layer *l, const char *key)
{
	const struct attr *a = attr_find(l->like.op, strcmp(key, "kernel") == 0 ? "r" : key);

	if (strcmp(key, "r") == 0 || strcmp(key, "s") == 0 || (l->global && strcmp(key, "name") != 0))
		return false;
	return strcmp(key, "name") == 0 || (a != NULL && (l->fixed == NULL || strcmp(l->fixed, key) != 0));
}

static int
unknown_option(lua_State *L, const struct layer *l, const char *key)
{
	luaL_Buffer b;

	luaL_buffinit(L, &b);
	luaL_addstring(&b, "name");
	for (const struct attr *a = attr_list; a->key != NULL; a++) {
		const char *option = strcmp(a->key, "r") == 0 ? "kernel" : a->key;

		if (attr_has(a, l->like.op) && has_option(l, option)) {
			luaL_addstring(&b, ", ");
			luaL_addstring(&b, option);
		}
	}
	luaL_pushresult(&b);
	return luaL_error(L, "%s: '%s' is not one of its options: %s", l->name, key, lua_tostring(L, -1));
}

/* Describes the top of the stack for a message: a number or text itself, else its type, never its address. */
static const char *
describe_value(lua_State *L)
{
	return lua_isstring(L, -1) ? lua_tostring(L, -1) : luaL_typename(L, -1);
}

/* Converts the top of the stack, 2 or {2, 1} (rows, columns), to side[2]. */
static void
read_pair(lua_State *L, const struct layer *l, const char *key, lua_Integer side[2])
{
	int whole[2];

	if (!lua_istable(L, -1)) {
		side[0] = side[1] = lua_tointegerx(L, -1, &whole[0]);
		if (!whole[0])
			luaL_error(L, "%s: %s is a whole number, not %s", l->name, key, describe_value(L));
		return;
	}
	if (luaL_len(L, -1) != 2)
		luaL_error(L, "%s: %s is a number or {rows, columns}", l->name, key);
	for (int i = 0; i < 2; i++) {
		lua_geti(L, -1, i + 1);
		side[i] = lua_tointegerx(L, -1, &whole[i]);
		if (!whole[i])
			luaL_error(L, "%s: %s is a whole number, not %s", l->name, key, describe_value(L));
		lua_pop(L, 1);
	}
}

/* Sets attribute key of n from the Lua value on the top of the stack. */
static void
set_attr(lua_State *L, const struct layer *l, struct graph_node *n, const char *key)
{
	const struct attr *a = attr_find(l->like.op, key);
	char text[2 * ATTR_TEXT];
	lua_Integer side[2];
	int whole;

	if (a->kind == ATTR_FLAG) {
		if (!lua_isboolean(L, -1))
			luaL_error(L, "%s: %s is true or false, not a %s", l->name, key, luaL_typename(L, -1));
		snprintf(text, sizeof(text), "%d", lua_toboolean(L, -1));
	} else if (a->kind == ATTR_COUNT) {
		lua_Integer v = lua_tointegerx(L, -1, &whole);

		if (!whole)
			luaL_error(L, "%s: %s is a whole number, not %s", l->name, key, describe_value(L));
		snprintf(text, sizeof(text), "%lld", (long long)v);
	} else if (a->kind == ATTR_PAIR) {
		read_pair(L, l, key, side);
		snprintf(text, sizeof(text), "%lldx%lld", (long long)side[0], (long long)side[1]);
	} else if (a->kind == ATTR_REAL) {
		lua_Number v = lua_tonumberx(L, -1, &whole);

		if (!whole)
			luaL_error(L, "%s: %s is a number, not %s", l->name, key, describe_value(L));
		snprintf(text, sizeof(text), "%.17g", (double)v);
	} else {
		if (lua_type(L, -1) != LUA_TSTRING)
			luaL_error(L, "%s: %s is a word, not a %s", l->name, key, luaL_typename(L, -1));
		snprintf(text, sizeof(text), "%s", lua_tostring(L, -1));
	}
	if (attr_set(a, n, text) < 0)
		luaL_error(L, "%s: %s", l->name, err_line());
}

static void
set_side(lua_State *L, const struct layer *l, struct graph_node *n, const char *key, lua_Integer side)
{
	char text[ATTR_TEXT];

	snprintf(text, sizeof(text), "%lld", (long long)side);
	if (attr_set(attr_find(l->like.op, key), n, text) < 0)
		luaL_error(L, "%s: %s", l->name, err_line());
}

static void
set_kernel(lua_State *L, const struct layer *l, struct graph_node *n)
{
	lua_Integer side[2];

	read_pair(L, l, "kernel", side);
	set_side(L, l, n, "r", side[0]);
	set_side(L, l, n, "s", side[1]);
}

/* Reads the positional values t[1], t[2], ...: nodes, then optionally the main attribute.  Returns their number. */
static lua_Integer
read_positions(lua_State *L, const struct layer *l, struct graph_node *n)
{
	for (lua_Integer i = 1; ; i++) {
		int type = lua_geti(L, 1, i);
		bool node = type != LUA_TNIL && layer_node(L, -1, &n->in[n->nin < OP_INS ? n->nin : 0]);

		if (type == LUA_TNIL) {
			lua_pop(L, 1);
			return i - 1;
		}
		if (node && n->nin == op_most_in(n->op))
			luaL_error(L, "%s: reads at most %d node%s", l->name, (int)n->nin, n->nin == 1 ? "" : "s");
		if (node && n->nin != (uint32_t)i - 1)
			luaL_error(L, "%s: nodes must come first", l->name);
		if (!node && (l->main == NULL || n->nin != (uint32_t)i - 1))
			luaL_error(L, "%s: value %d is a %s, not a node", l->name, (int)i, luaL_typename(L, -1));
		if (node)
			n->nin++;
		else
			set_attr(L, l, n, l->main);
		lua_pop(L, 1);
	}
}

static void
read_options(lua_State *L, const struct layer *l, struct graph_node *n, lua_Integer positions)
{
	for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {
		const char *key;

		if (lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 && lua_tointeger(L, -2) <= positions)
			continue;
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "%s: a value before the last is nil", l->name);
		key = lua_tostring(L, -2);
		if (!has_option(l, key))
			unknown_option(L, l, key);
		if (strcmp(key, "kernel") == 0)
			set_kernel(L, l, n);
		else if (strcmp(key, "name") != 0)
			set_attr(L, l, n, key);
		else if (lua_type(L, -1) != LUA_TSTRING || lua_rawlen(L, -1) >= GRAPH_NAME)
			luaL_error(L, "%s: a name is a text of at most %d bytes", l->name, GRAPH_NAME - 1);
		else
			snprintf(n->name, sizeof(n->name), "%s", lua_tostring(L, -1));
	}
}

/* Fails if a count without a default is not set: it is still 0. */
static void
check_given(lua_State *L, const struct layer *l, const struct graph_node *n)
{
	uint32_t v;

	for (const struct attr *a = attr_list; a->key != NULL; a++) {
		if (!attr_has(a, n->op) || (a->kind != ATTR_COUNT && a->kind != ATTR_PAIR) || a->lo < 1 || a->optional)
			continue;
		memcpy(&v, (const char *)n + a->at, sizeof(v));
		if (v == 0)
			luaL_error(L, "%s: %s is missing", l->name, strcmp(a->key, "r") == 0 ? "kernel" : a->key);
	}
}

/* Turns the arguments of f(a, b) into those of f{a, b}. */
static void
pack_arguments(lua_State *L)
{
	int n = lua_gettop(L);

	if (n == 1 && lua_istable(L, 1))
		return;
	lua_createtable(L, n, 0);
	lua_insert(L, 1);
	for (int i = n; i >= 1; i--)
		lua_seti(L, 1, i);
}

/* The caller's loss replaces that of the script; only softmax has label smoothing. */
static void
choose_loss(lua_State *L, const struct layer_net *net, struct graph_node *n)
{
	if (attr_set(attr_find(n->op, "loss"), n, net->loss) < 0)
		luaL_error(L, "--%s", err_line());
	if (n->loss != GRAPH_LOSS_SOFTMAX)
		n->smooth = 0;
}

static int
call_layer(lua_State *L)
{
	size_t kind = (size_t)lua_tointeger(L, lua_upvalueindex(1));
	const struct layer *l = &layers[kind];
	struct layer_net *net = sandbox_mine(L);
	struct graph_node n = l->like;
	uint32_t in[OP_INS], at;
	int e;

	n.in = in;
	pack_arguments(L);
	read_options(L, l, &n, read_positions(L, l, &n));
	if (n.op == GRAPH_SOFTMAX && net->loss != NULL)
		choose_loss(L, net, &n);
	if (n.nin == 0)
		return luaL_error(L, "%s: the first value must be a node", l->name);
	if (l->global) {
		n.r = net->graph->node[in[0]].h;
		n.s = net->graph->node[in[0]].w;
	}
	check_given(L, l, &n);
	if (n.name[0] == 0)
		snprintf(n.name, sizeof(n.name), "%s%u", l->name, net->made[kind]++);
	if ((e = graph_add(net->graph, &n, &at)) < 0) {
		net->nomem = e == ERR_NOMEM;
		return luaL_error(L, "%s", err_line());
	}
	return push_handle(L, at);
}

/* data(c, h, w): the shape of the images, unless the caller requests another. */
static int
call_data(lua_State *L)
{
	struct layer_net *net = sandbox_mine(L);
	uint32_t side[3] = { net->c, net->h, net->w };

	pack_arguments(L);
	if (net->graph != NULL)
		return luaL_error(L, "data: called twice");
	for (int i = 0; i < 3 && net->c == 0; i++) {
		lua_Integer v = lua_geti(L, 1, i + 1) == LUA_TNUMBER ? lua_tointeger(L, -1) : 0;

		if (v < 1 || v > GRAPH_FLOATS)
			return luaL_error(L, "data: needs channels, height and width");
		side[i] = (uint32_t)v;
	}
	if (!op_fits(side[0], side[1], side[2]))
		return luaL_error(L, "data: an image of more than %d numbers", (int)GRAPH_FLOATS);
	if ((net->graph = graph_new(side[0], side[1], side[2])) == NULL) {
		net->nomem = true;
		return luaL_error(L, "%s", err_line());
	}
	return push_handle(L, 0);
}

/* block(x): x and all earlier nodes without a block form one block. */
static int
call_block(lua_State *L)
{
	struct layer_net *net = sandbox_mine(L);
	uint32_t at;

	if (!layer_node(L, 1, &at))
		return luaL_error(L, "block: needs a node, not a %s", luaL_typename(L, 1));
	net->blocks++;
	for (uint32_t i = 0; i <= at; i++)
		if (net->graph->node[i].block == 0)
			net->graph->node[i].block = net->blocks;
	lua_settop(L, 1);
	return 1;
}

/* Converts the top of the stack, a number or one for each of three channels. */
static void
read_channels(lua_State *L, const char *key, float lo, float v[3])
{
	bool several = lua_istable(L, -1);
	int number;

	if (several && luaL_len(L, -1) != 3)
		luaL_error(L, "defaults: %s is a number or {red, green, blue}", key);
	for (int i = 0; i < 3; i++) {
		if (several)
			lua_geti(L, -1, i + 1);
		v[i] = (float)lua_tonumberx(L, -1, &number);
		if (!number || !(v[i] >= lo && v[i] <= 1e6f))
			luaL_error(L, "defaults: %s is a number from %f to 1000000, not %s", key, (double)lo,
			    describe_value(L));
		lua_pop(L, several);
	}
}

/* Sets one member from the Lua value on the top of the stack. */
static void
set_default(lua_State *L, struct graph_defaults *d, const char *key)
{
	int number = 1;

	if (strcmp(key, "mean") == 0) {
		read_channels(L, key, 0, d->mean);
	} else if (strcmp(key, "std") == 0) {
		read_channels(L, key, 1e-6f, d->std);
	} else if (strcmp(key, "lr") == 0) {
		d->rate = lua_tonumberx(L, -1, &number);
		if (!number || !(d->rate > 0 && d->rate <= 1000))
			luaL_error(L, "defaults: lr is a number above 0, not %s", describe_value(L));
	} else if (strcmp(key, "init") == 0) {
		const char *rule = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";

		if (init_check(rule) < 0)
			luaL_error(L, "defaults: init is a rule such as msra, not '%s'", describe_value(L));
		if (strlen(rule) >= GRAPH_INIT)
			luaL_error(L, "defaults: init has more than %d bytes", GRAPH_INIT - 1);
		snprintf(d->init, sizeof(d->init), "%s", rule);
	} else {
		luaL_error(L, "defaults: '%s' is none of init, lr, mean and std", key);
	}
}

/* defaults{init = "msra", lr = 0.1, mean = {r, g, b}, std = {r, g, b}}: of training, unless options set others. */
static int
call_defaults(lua_State *L)
{
	struct layer_net *net = sandbox_mine(L);

	if (net->graph == NULL || !lua_istable(L, 1))
		return luaL_error(L, "defaults: needs a table, and data() before it");
	for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			return luaL_error(L, "defaults: a value has no name");
		set_default(L, &net->graph->defaults, lua_tostring(L, -2));
	}
	return 0;
}

void
layer_open(lua_State *L)
{
	luaL_newmetatable(L, HANDLE);
	lua_pushcfunction(L, handle_index);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, handle_tostring);
	lua_setfield(L, -2, "__tostring");
	lua_pop(L, 1);
	lua_register(L, "data", call_data);
	lua_register(L, "block", call_block);
	lua_register(L, "defaults", call_defaults);
	for (size_t i = 0; i < LAYERS; i++) {
		lua_pushinteger(L, (lua_Integer)i);
		lua_pushcclosure(L, call_layer, 1);
		lua_setglobal(L, layers[i].name);
	}
}
