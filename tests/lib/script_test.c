/* script_test - the nets that come along, what scripts may do, and what they may not. */
#include "base/err.h"
#include "net/graph/sandbox.h"
#include "net/graph/script.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/tally.XXXXXX", file[64];

static void
write_script(const char *text)
{
	FILE *f = fopen(file, "w");

	fputs(text, f);
	fclose(f);
}

/* Runs text as a script for pictures of its own shape. */
static int
run(const char *text, struct graph **g)
{
	write_script(text);
	return script_run(file, 0, 0, 0, 0, NULL, 0, g);
}

static size_t
largest(const struct graph *g)
{
	size_t most = 0;

	for (uint32_t i = 0; i < g->nw; i++)
		most = g->w[i].count > most ? g->w[i].count : most;
	return most;
}

static const struct graph_node *
node(const struct graph *g, const char *name)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (strcmp(g->node[i].name, name) == 0)
			return &g->node[i];
	return NULL;
}

static void
defaults(void)
{
	static const char *const wrong[] = {
		"init = 'xavier'", "init = 7", "lr = 0", "lr = 'fast'", "std = 0", "std = {1, 2}", "mean = -1", "rate = 1", "5",
	};
	static const char *const net[] = { "mlp", "lenet", "inception", "inception-bn", "googlenet", "resnet", "vgg",
	    "alexnet", "fast" };
	struct graph *g;
	char text[200];

	is(run("x = data(3, 8, 8) defaults{init = 'normal:0.01', lr = 0.5, mean = {1, 2, 3}, std = 4}\n"
	    "return softmax{fc{flatten(x), 2}}", &g), 0, "a script sets defaults of training");
	if (g == NULL)
		return;
	is_str(g->defaults.init, "normal:0.01", "the script sets the rule for first weights");
	ok(g->defaults.rate == 0.5 && g->defaults.mean[0] == 1 && g->defaults.mean[2] == 3 && g->defaults.std[1] == 4,
	    "the script sets the rate, the mean and the deviation");
	graph_free(g);
	is(run("x = data(3, 8, 8) return softmax{fc{flatten(x), 2}}", &g), 0, "a script without defaults");
	ok(g->defaults.init[0] == 0 && g->defaults.rate == 0 && g->defaults.std[0] == 0, "a script without defaults leaves zeros");
	graph_free(g);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(text, sizeof(text), "x = data(3, 8, 8) defaults{%s} return softmax{fc{flatten(x), 2}}", wrong[i]);
		ok(run(text, &g) == ERR_FORMAT && strstr(err_line(), "defaults: ") != NULL, "defaults{%s}: %s", wrong[i],
		    err_line());
	}
	is(run("defaults{lr = 1}", &g), ERR_FORMAT, "defaults before data(): %s", err_line());
	for (size_t i = 0; i < sizeof(net) / sizeof(*net); i++) {
		if (!ok(script_run(net[i], 0, 0, 0, 0, NULL, 0, &g) == 0, "%s", net[i]))
			continue;
		ok(g->defaults.init[0] != 0 && g->defaults.rate > 0 && g->defaults.std[0] > 0, "%s sets all defaults", net[i]);
		graph_free(g);
	}
}

/* The counts of the nets' sources. */
static void
nets(void)
{
	static const struct {
		const char *net, *variant;
		size_t weights, arrays, aux;
		double macs;		/* millions */
	} want[] = {
		{ "mlp", NULL, 109386, 6, 0, 0.1 },
		{ "lenet", NULL, 431080, 8, 0, 2.3 },
		{ "lenet", "bn", 10986, 10, 128, 0.1 },
		{ "inception", NULL, 1652826, 78, 3424, 204.2 },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct script_opt variant = { "variant", want[i].variant };
		struct graph *g;
		int e = script_run(want[i].net, 0, 0, 0, 0, &variant, want[i].variant != NULL, &g);

		ok(e == 0, "%s is there (%s)", want[i].net, e == 0 ? "" : err_line());
		if (e < 0)
			continue;
		is(g->P, want[i].weights, "%s: weights", want[i].net);
		is(g->nw, want[i].arrays, "%s: arrays", want[i].net);
		is(g->A, want[i].aux, "%s: running statistics", want[i].net);
		near((double)graph_macs(g) * 1e-6, want[i].macs, 0.05, "%s: million multiply-adds", want[i].net);
		is(g->classes, 10, "%s: classes", want[i].net);
		graph_free(g);
	}
}

static void
inception(void)
{
	static const struct { const char *name; uint32_t c, side; } block[] = {
		{ "conv1_relu", 96, 28 }, { "in3a", 64, 28 }, { "in3b", 80, 28 }, { "in3c", 160, 14 }, { "in4a", 160, 14 },
		{ "in4b", 160, 14 }, { "in4c", 160, 14 }, { "in4d", 144, 14 }, { "in4e", 240, 7 }, { "in5a", 336, 7 },
		{ "in5b", 336, 7 }, { "pool", 336, 1 }, { "fc1", 10, 1 },
	};
	struct graph *g;

	if (!ok(script_run("inception", 0, 0, 0, 0, NULL, 0, &g) == 0, "inception"))
		return;
	for (size_t i = 0; i < sizeof(block) / sizeof(*block); i++) {
		const struct graph_node *n = node(g, block[i].name);

		ok(n != NULL && n->c == block[i].c && n->h == block[i].side && n->w == block[i].side, "%s is %ux%ux%u",
		    block[i].name, block[i].c, block[i].side, block[i].side);
	}
	is(largest(g), 483840, "the largest array of the net is known");
	is_str(g->w[0].name, "conv1_weight", "arrays are named by node");
	is_str(g->aux[1].name, "conv1_bn_moving_var", "arrays are named by their role");
	ok(node(g, "in3c_pool")->ceil && node(g, "in3c_pool")->pad[0] == 0, "the pool that halves is the one of 2015");
	near(node(g, "conv1_bn")->eps, 1e-5, 1e-10, "eps");
	graph_free(g);
}

/* The caller's shape and classes stand above the script's. */
static void
asked(void)
{
	struct graph *g, *again;

	is(script_run("mlp", 3, 32, 32, 100, NULL, 0, &g), 0, "mlp is made for other images");
	ok(g->node[0].c == 3 && g->node[0].h == 32 && g->classes == 100, "the net has the shape and classes of these images");
	is(script_run("mlp", 3, 32, 32, 100, NULL, 0, &again), 0, "the same script runs again");
	ok(graph_hash(g) == graph_hash(again), "the same script gives the same graph");
	graph_free(g);
	graph_free(again);
	is(script_run("inception", 3, 32, 32, 10, NULL, 0, &g), 0, "inception on 32x32: %s", err_line());
	ok(node(g, "pool")->h == 1, "pools all of what is left");
	graph_free(g);
	is(script_run("lenet", 1, 3, 3, 10, NULL, 0, &g), ERR_FORMAT, "lenet on 3x3: %s", err_line());
	ok(strstr(err_line(), "lenet.lua:") != NULL && strstr(err_line(), "conv1: a kernel") != NULL, "names line and node");
	is(script_run("mlp", 1, 0, 28, 10, NULL, 0, &g), ERR_ARG, "pictures of no height");
	is(run("return softmax(fc{flatten(data(1, 2, 2)), 10})", &g), 0, "a net of ten classes");
	graph_free(g);
	is(script_run(file, 0, 0, 0, 7, NULL, 0, &g), ERR_FORMAT, "refused where seven are asked for: %s", err_line());
}

static void
options(void)
{
	const struct script_opt two[] = { { "depth", "3" }, { "deep", "1" } };
	struct script_opt many[SCRIPT_OPTS + 1];
	struct graph *g;

	write_script("local x = data(1, 4, 4)\n"
	    "for i = 1, tonumber(opt.depth) do x = conv{x, 2, kernel = 3, pad = 1} end\n"
	    "if opt.none ~= nil then error('not nil') end\n"
	    "return softmax(fc{x, 2})\n");
	is(script_run(file, 0, 0, 0, 0, two, 1, &g), 0, "an option given is read: %s", err_line());
	is(g->n, 6, "an option makes the net deeper");
	is_str(g->node[3].name, "conv2", "nodes without a name get the layer's and a number");
	graph_free(g);
	is(script_run(file, 0, 0, 0, 0, two, 2, &g), ERR_ARG, "an option that the script never reads is refused");
	ok(strstr(err_line(), "'deep'") != NULL, "the message names the option: %s", err_line());
	for (int i = 0; i <= SCRIPT_OPTS; i++)
		many[i] = two[0];
	is(script_run(file, 0, 0, 0, 0, many, SCRIPT_OPTS, &g), 0, "as many options as there may be are accepted");
	graph_free(g);
	is(script_run(file, 0, 0, 0, 0, many, SCRIPT_OPTS + 1, &g), ERR_LIMIT, "one option more is refused");
}

static void
where(void)
{
	char text[512], was[256];
	struct graph *g;

	is(script_run("nosuchnet", 0, 0, 0, 0, NULL, 0, &g), ERR_SYS, "a net that does not exist is refused: %s", err_line());
	snprintf(text, sizeof(text), "%s/gone.lua", dir);
	is(script_run(text, 0, 0, 0, 0, NULL, 0, &g), ERR_SYS, "a script that does not exist is refused: %s", err_line());
	ok(strncmp(err_line(), dir, strlen(dir)) == 0, "the line names the missing script");
	snprintf(text, sizeof(text), "mkdir %s/nets && mv %s %s/nets/own.lua", dir, file, dir);
	run("return softmax(fc{data(1, 2, 2), 3})", &g);
	graph_free(g);
	snprintf(was, sizeof(was), "%s", getenv("TALLY_SHARE") != NULL ? getenv("TALLY_SHARE") : "share");
	setenv("TALLY_SHARE", dir, 1);
	ok(system(text) == 0 && script_run("own", 0, 0, 0, 0, NULL, 0, &g) == 0, "a net of $TALLY_SHARE/nets");
	graph_free(g);
	setenv("TALLY_SHARE", was, 1);
}

/* Each script is wrong in one way; the line must name the file's line and hold the words. */
static void
wrong(void)
{
	static const struct { const char *text, *line; } no[] = {
		{ "return 1 +\n", ":2: unexpected symbol" },
		{ "\n\nfoo()\n", ":3: attempt to call a nil value (global 'foo')" },
		{ "return nil\n", "returns a nil, not the last node" },
		{ "return data(1,2,2)\n", "is not the loss" },
		{ "local x = fc{data(1,2,2), 2}\nsoftmax(x)\nreturn x\n", "is not the loss" },
		{ "data(1,2,2)\ndata(1,2,2)\n", ":2: data: called twice" },
		{ "data(1,2)\n", ":1: data: needs channels" },
		{ "data(1,2,'x')\n", ":1: data: needs channels" },
		{ "data(99999,99999,99999)\n", ":1: data: an image" },
		{ "conv{3}\n", ":1: conv: the first value must be a node" },
		{ "fc{'x', 3}\n", ":1: fc: k is a whole number, not x" },
		{ "x = data(1,9,9)\nconv{x, 3, kernal = 3}\n",
		    ":2: conv: 'kernal' is not one of its options: name, k, kernel, stride, pad, dilate, groups, bias, begin" },
		{ "x = data(1,9,9)\nconv{x, 3}\n", ":2: conv: kernel is missing" },
		{ "x = data(1,9,9)\nconv{x, kernel = 3}\n", ":2: conv: k is missing" },
		{ "x = data(1,9,9)\nconv{x, 3, kernel = {3}}\n", ":2: conv: kernel is a number or" },
		{ "x = data(1,9,9)\nconv{x, 3, kernel = 2.5}\n", ":2: conv: kernel is a whole number" },
		{ "x = data(1,9,9)\nconv{x, 3, kernel = 3, bias = 0}\n", ":2: conv: bias is true or false" },
		{ "x = data(1,9,9)\nconv{x, -3, kernel = 3}\n", ":2: conv: k: '-3'" },
		{ "x = data(1,9,9)\nconv{x, 3, kernel = 3, name = 7}\n", ":2: conv: a name is a text" },
		{ "x = data(1,9,9)\nconv{x, 3, 4, kernel = 3}\n", ":2: conv: value 3 is a number, not a node" },
		{ "x = data(1,9,9)\nrelu{x, x}\n", ":2: relu: reads at most 1 node" },
		{ "x = data(1,9,9)\nrelu{x, act = 'tanh'}\n", ":2: relu: 'act' is not one of its options" },
		{ "x = data(1,9,9)\nact{x, 'snake'}\n", ":2: act: act: 'snake'" },
		{ "x = data(1,9,9)\nglobalavg{x, kernel = 3}\n", ":2: globalavg: 'kernel' is not one of its options: name" },
		{ "x = data(1,9,9)\nadd{x, conv{x, 2, kernel = 1}}\n", ":2: add0: 'data' is 1x9x9 but 'conv0' is 2x9x9" },
		{ "x = data(1,9,9)\nconcat{x, 3}\n", ":2: concat: value 2 is a number, not a node" },
		{ "x = data(1,9,9)\nconcat{x, nil, x}\n", ":2: concat: a value before the last is nil" },
		{ "x = data(1,9,9)\nbn{x, eps = 'small'}\n", ":2: bn: eps is a number" },
		{ "x = data(1,9,9)\nbn{x, name = 'a b'}\n", ":2: the name 'a b'" },
		{ "x = data(1,9,9)\nrelu(fc)\n", ":2: relu: value 1 is a function" },
		{ "x = data(1,9,9)\nx.c = 3\n", ":2: attempt to index a node value" },
		{ "x = data(1,9,9)\ny = x.depth\n", ":2: a node has c, h, w and name, not 'depth'" },
		{ "opt.depth = 3\n", ":1: opt is read-only" },
		{ "error({})\n", "raises a table" },
		{ "\x1bLua\x54", "attempt to load a binary chunk" },
	};

	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		struct graph *g;
		int e = run(no[i].text, &g);

		ok(e == ERR_FORMAT && g == NULL && strncmp(err_line(), file, strlen(file)) == 0 &&
		    strstr(err_line(), no[i].line) != NULL, "wrong script: %s", err_line());
	}
}

static void
write_part(const char *name, const char *text)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.lua", dir, name);
	if ((f = fopen(path, "w")) == NULL)
		return;
	fputs(text, f);
	fclose(f);
}

/* Files beside the script. */
static void
parts(void)
{
	static const struct { const char *text, *says; } no[] = {
		{ "require('none')\n", "none.lua: open: No such file" },
		{ "require('../net')\n", "'../net': a name has only" },
		{ "require('.hidden')\n", "'.hidden': a name has only" },
		{ "require('')\n", "'': a name has only" },
		{ "require(require)\n", "string expected" },
		{ "require('wrong')\n", "wrong.lua:2: attempt to" },
		{ "require('syntax')\n", "syntax.lua:1:" },
		{ "require('empty')\n", "empty.lua returns nothing" },
		{ "require('round')\n", "'round' requires itself" },
		{ "require('code')\n", "attempt to load a binary chunk" },
		{ "for i = 1, 9 do require('p' .. i) end\n", "more than 8 files" },
	};
	struct graph *g = NULL;
	char name[16];

	write_part("twice", "n = (n or 0) + 1\nreturn { fc = function(x) return fc{x, n, name = 'shared'} end }\n");
	write_part("wrong", "local x\nx.y = 3\n");
	write_part("syntax", "x = = 3\n");
	write_part("empty", "local x = 3\n");
	write_part("round", "return require('round')\n");
	write_part("code", "\x1bLua\x54");
	for (int i = 1; i <= 9; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		write_part(name, "return {}\n");
	}
	ok(run("local a, b = require 'twice', require 'twice'\nreturn softmax(b.fc(data(1, 2, 2)))\n", &g) == 0 &&
	    g->P == 5 && node(g, "shared") != NULL, "a file beside the script is run, once (%s)", err_line());
	graph_free(g);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		ok(run(no[i].text, &g) == ERR_FORMAT && strncmp(err_line(), file, strlen(file)) == 0 &&
		    strstr(err_line(), no[i].says) != NULL, "no part: %s", err_line());
}

static void
sandbox(void)
{
	static const char *const gone[] = { "io", "os", "load", "loadstring", "loadfile", "dofile", "debug",
	    "package", "coroutine", "collectgarbage", "setmetatable", "getmetatable", "rawset", "next", "pairs", "print",
	    "xpcall", "_G", "utf8", "string.dump", "string.rep", "string.find", "string.gsub", "string.gmatch",
	    "string.match", "string.pack", "table.sort", "table.move", "table.insert", "table.remove", "math.random",
	    "('').rep", "('').dump" };
	struct graph *g;
	char text[128];
	int left = 0;

	for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++) {
		snprintf(text, sizeof(text), "error(tostring(%s))", gone[i]);
		run(text, &g);
		if (strstr(err_line(), ": nil") == NULL) {
			printf("# %s: %s\n", gone[i], err_line());
			left++;
		}
	}
	is(left, 0, "nothing unsafe is in a script's reach");
	is(run("assert(tostring({}) == 'table' and tostring(ipairs) == 'function' and tostring(1.5) == '1.5')\n"
	    "assert(not pcall(string.format, '%p', 'x') and not pcall(string.format, '%%%-9p', 'x') and "
	    "not pcall(string.format, '\\0%p', 'x'))\n"
	    "assert(not pcall(string.format, '%s', {}) and not pcall(string.format, 'x%'))\n"
	    "assert(('%%p%s%5.1f'):format(data(1, 2, 2), 2) == '%pdata  2.0')\nerror('end')", &g), ERR_FORMAT,
	    "a script that formats addresses fails");
	ok(strstr(err_line(), ":5: end") != NULL, "addresses are out of a script's reach: %s", err_line());
	is(run("local t = {1, 2}\nfor i, v in ipairs(t) do t[i] = math.max(v, 2) end\n"
	    "local s = table.concat(t, ',') .. ('%d'):format(3)\nassert(s == '2,23' and select('#', table.unpack(t)) == 2)\n"
	    "assert(not pcall(error, 'x'))\nlocal x = data(1, 2, 2)\nassert(x.c == 1 and x.name == 'data')\n"
	    "return softmax{fc(x, 3), name = 'loss'}", &g), 0, "what is left works: %s", err_line());
	graph_free(g);
}

/* Each of these would run, or grow, for ever. */
static void
bounds(void)
{
	static const char *const no[] = {
		"while true do end",
		"while true do pcall(function() while true do end end) end",
		"local function f() pcall(f) return f() end f()",
		"local function f() local ok = pcall(f) while true do end end f()",
		"local t = {} while true do t[#t + 1] = {} end",
		"local s = 'x' while true do s = s .. s end",
		"local s = 'x' while true do pcall(function() s = s .. s end) end",
		"local s = 'x' for i = 1, 19 do s = s .. s end while true do local u = s:upper() end",
		"local s = 'x' for i = 1, 19 do s = s .. s end while true do pcall(s.upper, s) end",
		"local function f() return f() + 1 end f()",
		"local x = data(1, 1, 1) while true do x = relu(x) end",
		"local x = data(1, 1, 1) while true do pcall(relu, x) end",
		"local t = {} for i = 1, 1e9 do t[i] = i end",
		"for i = 1, 1e18 do string.format('%99.99f', 1e300) end",
	};

	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		struct graph *g;
		int e = run(no[i], &g);

		ok((e == ERR_LIMIT || e == ERR_FORMAT) && g == NULL, "bound: %s: %s", no[i], err_line());
	}
}

static void
long_source(void)
{
	struct graph *g;
	char *text = malloc(100001);

	memset(text, ' ', 100000);
	text[100000] = 0;
	is(run(text, &g), ERR_LIMIT, "a long source: %s", err_line());
	memset(text, '(', 60000);
	text[60000] = 0;
	is(run(text, &g), ERR_FORMAT, "a deep one: %.60s", err_line());
	free(text);
}

int
main(void)
{
	char rm[64];

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(file, sizeof(file), "%s/net.lua", dir);
	nets();
	defaults();
	inception();
	asked();
	options();
	where();
	wrong();
	parts();
	sandbox();
	bounds();
	long_source();
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	return system(rm) != 0 || done();
}
