/* script - runs a net's Lua script and returns its graph. */
#include "net/graph/script.h"
#include "base/err.h"
#include "base/io.h"
#include "base/datadir.h"
#include "base/nearest.h"
#include "net/graph/sandbox.h"
#include "net/graph/layer.h"
#include "net/graph/op.h"

#include <dirent.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define SOURCE_MOST	65536	/* bytes of a script */

struct run {
	struct layer_net net;		/* must be first: layer functions get it from sandbox_mine() */
	uint32_t	 classes;
	const struct script_opt *opt;
	uint32_t	 nopt;
	uint64_t	 read;		/* bit i: the script asked for opt[i] */
	char		 asked[SCRIPT_OPTS][NEAREST_MOST];	/* names that the script asked for */
	uint32_t	 nasked;
	uint32_t	 last;		/* the node that the script returned */
	const char	*path;		/* path of the script */
	struct buf	 part[SCRIPT_PARTS];	/* files required; kept here because a Lua error is a longjmp */
	uint32_t	 nparts;
};

/* Notes a name for messages; those that are too long or too many are left out. */
static void
note_asked(struct run *run, const char *key)
{
	for (uint32_t i = 0; i < run->nasked; i++)
		if (strcmp(run->asked[i], key) == 0)
			return;
	if (run->nasked < SCRIPT_OPTS && strlen(key) < NEAREST_MOST)
		memcpy(run->asked[run->nasked++], key, strlen(key) + 1);
}

/* opt.KEY: the option's text (the last one if it is repeated) or nil. */
static int
read_option(lua_State *L)
{
	struct run *run = sandbox_mine(L);
	const char *key = luaL_checkstring(L, 2), *value = NULL;

	note_asked(run, key);
	for (uint32_t i = 0; i < run->nopt; i++)
		if (strcmp(run->opt[i].key, key) == 0) {
			run->read |= (uint64_t)1 << i;
			value = run->opt[i].value;
		}
	lua_pushstring(L, value);	/* nil for NULL */
	return 1;
}

static int
refuse_option_change(lua_State *L)
{
	return luaL_error(L, "opt is read-only");
}

static int
read_part(struct run *run, const char *name)
{
	const char *slash = strrchr(run->path, '/');
	size_t folder = slash == NULL ? 0 : (size_t)(slash - run->path) + 1;
	char path[PATH_MAX];

	if (name[0] == 0 || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] != 0)
		return err_fail(ERR_FORMAT, "'%.64s': a name has only lower-case letters, digits, '_' and '-'", name);
	if (run->nparts == SCRIPT_PARTS)
		return err_fail(ERR_LIMIT, "more than %d files", SCRIPT_PARTS);
	if (snprintf(path, sizeof(path), "%.*s%s.lua", (int)folder, run->path, name) >= (int)sizeof(path))
		return err_fail(ERR_LIMIT, "a path of more than %d bytes", PATH_MAX);
	return err_wrap(io_slurp(path, SOURCE_MOST, &run->part[run->nparts]), "%s", path);
}

/* require(name): the result of name.lua in the script's folder.  Upvalue 1 caches results; false means running. */
static int
require_part(lua_State *L)
{
	struct run *run = sandbox_mine(L);
	const char *name = luaL_checkstring(L, 1);
	const struct buf *text = &run->part[run->nparts < SCRIPT_PARTS ? run->nparts : 0];

	lua_settop(L, 1);
	if (lua_getfield(L, lua_upvalueindex(1), name) != LUA_TNIL)
		return lua_toboolean(L, -1) ? 1 : luaL_error(L, "require: '%s' requires itself", name);
	if (read_part(run, name) < 0)
		return luaL_error(L, "require: %s", err_line());
	run->nparts++;
	lua_pushboolean(L, false);
	lua_setfield(L, lua_upvalueindex(1), name);
	lua_pushfstring(L, "@%s.lua", name);
	if (luaL_loadbufferx(L, (const char *)text->p, text->n, lua_tostring(L, -1), "t") != LUA_OK)
		return lua_error(L);
	lua_call(L, 0, 1);
	if (!lua_toboolean(L, -1))
		return luaL_error(L, "require: %s.lua returns nothing", name);
	lua_pushvalue(L, -1);
	lua_setfield(L, lua_upvalueindex(1), name);
	return 1;
}

static void
push_count(lua_State *L, const char *key, uint32_t n)
{
	if (n == 0)
		return;
	lua_pushinteger(L, n);
	lua_setfield(L, -2, key);
}

static int
setup_script_globals(lua_State *L)
{
	static const luaL_Reg meta[] = { { "__index", read_option }, { "__newindex", refuse_option_change },
		{ NULL, NULL } };
	const struct run *run = sandbox_mine(L);

	layer_open(L);
	lua_newtable(L);
	push_count(L, "c", run->net.c);
	push_count(L, "h", run->net.h);
	push_count(L, "w", run->net.w);
	push_count(L, "classes", run->classes);
	lua_setglobal(L, "input");
	/* An empty table that notes what is read: an option that the script never reads is an error. */
	lua_newtable(L);
	luaL_newlib(L, meta);
	lua_setmetatable(L, -2);
	lua_setglobal(L, "opt");
	lua_newtable(L);
	lua_pushcclosure(L, require_part, 1);
	lua_setglobal(L, "require");
	return 0;
}

static int
finish_script(lua_State *L)
{
	struct run *run = sandbox_mine(L);

	if (!layer_node(L, -1, &run->last))
		return luaL_error(L, "returns a %s, not the last node", luaL_typename(L, -1));
	return 0;
}

/* An option that the script never read: names the one that is near, or all. */
static int
refuse_option(const struct run *run, const char *key)
{
	struct nearest near = { .word = key };
	struct buf list = { 0 };
	int e = 0;

	for (uint32_t i = 0; i < run->nasked && e == 0; i++) {
		nearest_try(&near, run->asked[i]);
		e = buf_put_fmt(&list, "%s--%s", i > 0 ? ", " : "", run->asked[i]);
	}
	if (e == 0 && (e = buf_terminate(&list)) == 0) {
		if (near.best != NULL)
			e = err_fail(ERR_ARG, "this net has no option '%s'; did you mean --%s?", key, near.best);
		else
			e = err_fail(ERR_ARG, "this net has no option '%s'%s%s", key,
			    run->nasked > 0 ? "; it has " : "", (char *)list.p);
	}
	buf_free(&list);
	return e;
}

/* Checks the result of the whole script. */
static int
check_script_result(const struct run *run)
{
	const struct graph *g = run->net.graph;

	for (uint32_t i = 0; i < run->nopt; i++)
		if ((run->read >> i & 1) == 0)
			return refuse_option(run, run->opt[i].key);
	if (g->classes == 0 || run->last != g->n - 1)
		return err_fail(ERR_FORMAT, "the node returned is not the loss");
	if (run->classes != 0 && g->classes != run->classes)
		return err_fail(ERR_FORMAT, "has %u classes instead of %u", g->classes, run->classes);
	return 0;
}

static int
is_script(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && n < NEAREST_MOST && strcmp(d->d_name + n - 4, ".lua") == 0 &&
	    strcmp(d->d_name, "parts.lua") != 0;
}

/* The number in a name such as resnet-50 of a net called resnet; NULL: the name is another. */
static const char *
parse_layers(const char *name, const char *net)
{
	size_t n = strlen(net);
	const char *layers;

	if (strncasecmp(name, net, n) != 0)
		return NULL;
	layers = name + n + (name[n] == '-' || name[n] == '_');
	return *layers != 0 && layers[strspn(layers, "0123456789")] == 0 ? layers : NULL;
}

/* Whether a net of the folder has an option --layers, which the comments of its script describe.  Or an error. */
static int
takes_layers(const char *folder, const char *net)
{
	char path[PATH_MAX + 300];
	struct buf text = { 0 };
	int e;

	snprintf(path, sizeof(path), "%s/%.255s.lua", folder, net);
	if ((e = io_slurp(path, SOURCE_MOST, &text)) == 0)
		e = memmem(text.p, text.n, "--layers", strlen("--layers")) != NULL;
	buf_free(&text);
	return e;
}

/* The error if there is no net of this name: names the one that is near, or all. */
static int
refuse_name(const char *name)
{
	struct nearest near = { .word = name };
	struct dirent **d = NULL;
	struct buf list = { 0 };
	char path[PATH_MAX];
	const char *layers = NULL, *of = NULL;
	int takes, e = datadir_find("nets", path), n = e == 0 ? scandir(path, &d, is_script, alphasort) : 0;

	for (int i = 0; i < n && e == 0; i++) {
		d[i]->d_name[strlen(d[i]->d_name) - 4] = 0;
		nearest_try(&near, d[i]->d_name);
		if (layers == NULL && (layers = parse_layers(name, d[i]->d_name)) != NULL) {
			of = d[i]->d_name;
			if ((takes = takes_layers(path, of)) < 0)
				e = takes;
			if (takes <= 0)
				layers = NULL;
		}
		if (e == 0)
			e = buf_put_fmt(&list, "%s%s", i > 0 ? ", " : "", d[i]->d_name);
	}
	if (e == 0 && n > 0 && (e = buf_terminate(&list)) == 0) {
		if (layers != NULL)
			e = err_fail(ERR_SYS, "%s: no such net; did you mean %s with --layers %s?", name, of, layers);
		else if (near.best != NULL)
			e = err_fail(ERR_SYS, "%s: no such net; did you mean %s?", name, near.best);
		else
			e = err_fail(ERR_SYS, "%s: no such net; there are %s, and paths of scripts", name,
			    (char *)list.p);
	}
	for (int i = 0; i < n; i++)
		free(d[i]);
	free(d);
	buf_free(&list);
	return e < 0 ? e : err_fail(ERR_SYS, "%s: no such net", name);
}

static int
locate_script(const char *name, char path[PATH_MAX])
{
	char rel[PATH_MAX + sizeof("nets/.lua")];
	size_t n = strlen(name);

	if (n >= PATH_MAX)
		return err_fail(ERR_LIMIT, "a name of %zu bytes", n);
	if (strchr(name, '/') != NULL || (n >= 4 && strcmp(name + n - 4, ".lua") == 0)) {
		memcpy(path, name, n + 1);
		return 0;
	}
	snprintf(rel, sizeof(rel), "nets/%s.lua", name);
	return datadir_find(rel, path) < 0 ? refuse_name(name) : 0;
}

/* --loss: an option of every net, which the layer of the loss reads. */
static void
take_loss(struct run *run)
{
	for (uint32_t i = 0; i < run->nopt; i++)
		if (strcmp(run->opt[i].key, "loss") == 0) {
			run->read |= (uint64_t)1 << i;
			run->net.loss = run->opt[i].value;
		}
}

static int
run_file(struct run *run, const char *path)
{
	struct buf text = { 0 };
	struct sandbox box = { 0 };
	int e = err_wrap(io_slurp(path, SOURCE_MOST, &text), "%s", path);

	run->path = path;
	if (e == 0 && (e = sandbox_open(&box, run)) == 0 &&
	    (e = sandbox_run(&box, path, (const char *)text.p, text.n, setup_script_globals,
	    finish_script)) < 0 && run->net.nomem)
		e = ERR_NOMEM;
	if (e == 0)
		e = err_wrap(check_script_result(run), "%s", path);
	sandbox_close(&box);
	for (uint32_t i = 0; i < run->nparts; i++)
		buf_free(&run->part[i]);
	buf_free(&text);
	return e;
}

int
script_opt_take(struct script_opt *opt, uint32_t *n, char *text)
{
	char *value = strchr(text, '=');

	if (value == NULL || value == text)
		return err_fail(ERR_ARG, "'%.64s' is not KEY=VALUE", text);
	if (*n == SCRIPT_OPTS)
		return err_fail(ERR_LIMIT, "more than %d options of a net", SCRIPT_OPTS);
	*value++ = 0;
	opt[(*n)++] = (struct script_opt){ text, value };
	return 0;
}

int
script_run(const char *name, uint32_t c, uint32_t h, uint32_t w, uint32_t classes, const struct script_opt *opt,
	uint32_t nopt, struct graph **g)
{
	struct run run = { .net = { .c = c, .h = h, .w = w }, .classes = classes, .opt = opt, .nopt = nopt };
	char path[PATH_MAX];
	int e;

	*g = NULL;
	if (nopt > SCRIPT_OPTS)
		return err_fail(ERR_LIMIT, "%s: more than %d options", name, SCRIPT_OPTS);
	if ((c != 0 || h != 0 || w != 0) && !op_fits(c, h, w))
		return err_fail(ERR_ARG, "--shape: %ux%ux%u is not from 1 to %u numbers; choose a smaller one", c, h,
		    w, GRAPH_FLOATS);
	take_loss(&run);
	if ((e = locate_script(name, path)) == 0 && (e = run_file(&run, path)) == 0)
		*g = run.net.graph;
	else
		graph_free(run.net.graph);
	return e;
}
