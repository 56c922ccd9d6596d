/* sandbox - a Lua state with bounded time and memory and without access to the outside. */
#include "net/graph/sandbox.h"
#include "base/err.h"
#include "base/io.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#define STRIDE	1000			/* instructions between two checks of the budget */
#define REFUSAL	((size_t)64 << 10)	/* turnover of a refused allocation: Lua then collects all garbage */

/*
 * The functions that remain of Lua's libraries.  Besides the unsafe ones, missing are functions that can run long in
 * one call (patterns, rep, sort, move, insert), finalizers (setmetatable: hooks do not run during __gc), and functions
 * that show the order of keys (next, pairs).
 */
static const char *const base_keep[] = { "assert", "error", "ipairs", "math", "pcall", "select", "string", "table",
    "tonumber", "tostring", "type", NULL };
static const char *const math_keep[] = { "abs", "ceil", "exp", "floor", "fmod", "huge", "log", "max", "maxinteger",
    "min", "mininteger", "modf", "pi", "sqrt", "tointeger", "type", "ult", NULL };
static const char *const string_keep[] = { "byte", "char", "format", "len", "lower", "reverse", "sub", "upper", NULL };
static const char *const table_keep[] = { "concat", "pack", "unpack", NULL };

/* The hook.  Once the budget is used up it raises an error at every instruction, so that no pcall continues. */
static void
check_budget(lua_State *L, lua_Debug *at)
{
	void *box;
	struct sandbox *b = (lua_getallocf(L, &box), box);

	b->steps += STRIDE;
	if (b->steps < SANDBOX_STEPS && !b->over)
		return;
	b->over = true;
	lua_sethook(L, check_budget, LUA_MASKCOUNT, 1);
	lua_getinfo(L, "Sl", at);
	lua_pushfstring(L, "%s:%d: needs more steps or memory than a net may", at->short_src, at->currentline);
	lua_error(L);
}

static void *
alloc_limited(void *box, void *p, size_t old, size_t n)
{
	struct sandbox *b = box;
	bool text = p == NULL && old == LUA_TSTRING;	/* for a new object `old` is its type */
	size_t more;
	void *q;

	old = p == NULL ? 0 : old;
	more = n > old ? n - old : 0;
	if (n == 0) {
		free(p);
		b->held -= old;
		return NULL;
	}
	if (more > 0 && ((text && more > SANDBOX_STRING) || more > SANDBOX_MEMORY - b->held ||
	    more > SANDBOX_TURNOVER - b->turned)) {
		more = more > REFUSAL ? more : REFUSAL;
		if (more > SANDBOX_TURNOVER - b->turned)
			b->over = true;
		else
			b->turned += more;
		if (b->over && b->lua != NULL)
			lua_sethook(b->lua, check_budget, LUA_MASKCOUNT, 1);
		return NULL;
	}
	if ((q = realloc(p, n)) == NULL) {
		b->nomem = more > 0;
		return more > 0 ? NULL : p;	/* Lua requires that shrinking succeeds */
	}
	b->held += n - old;	/* wraps back when n < old */
	b->turned += more;
	return q;
}

/* Removes all keys except those of keep from the table on top of the stack. */
static void
prune_table(lua_State *L, const char *const *keep)
{
	for (lua_pushnil(L); lua_next(L, -2) != 0; ) {
		const char *key = lua_tostring(L, -2);
		size_t i = 0;

		while (keep[i] != NULL && strcmp(keep[i], key) != 0)
			i++;
		lua_pop(L, 1);
		if (keep[i] == NULL) {
			lua_pushvalue(L, -1);
			lua_pushnil(L);
			lua_rawset(L, -4);
		}
	}
	lua_pop(L, 1);
}

static void
open_libs(lua_State *L)
{
	static const struct {
		const char *name;
		lua_CFunction open;
		const char *const *keep;
	} libs[] = {
		{ LUA_MATHLIBNAME, luaopen_math, math_keep },
		/* Pruned and not copied, because strings find their methods in this table. */
		{ LUA_STRLIBNAME, luaopen_string, string_keep },
		{ LUA_TABLIBNAME, luaopen_table, table_keep },
		{ LUA_GNAME, luaopen_base, base_keep },
	};

	for (size_t i = 0; i < sizeof(libs) / sizeof(*libs); i++) {
		luaL_requiref(L, libs[i].name, libs[i].open, 1);
		prune_table(L, libs[i].keep);
	}
}

/* tostring() without addresses: a script must give the same graph in every run. */
static int
convert_tostring(lua_State *L)
{
	luaL_checkany(L, 1);
	if (lua_istable(L, 1) || lua_isfunction(L, 1))
		lua_pushstring(L, luaL_typename(L, 1));
	else
		luaL_tolstring(L, 1, NULL);
	return 1;
}

/* string.format() without addresses: no %p, and no tables or functions for %s. */
static int
format_plainly(lua_State *L)
{
	int n = lua_gettop(L);
	size_t bytes;
	const char *text = luaL_checklstring(L, 1, &bytes);

	if (strlen(text) != bytes)
		return luaL_error(L, "format: the text holds a zero byte");
	for (const char *p = strchr(text, '%'); p != NULL && p[1] != 0; p = strchr(p + 1, '%')) {
		p += 1 + strspn(p + 1, "-+ #.0123456789");
		if (*p == 'p')
			return luaL_error(L, "format: %%p is not supported");
		if (*p == 0)
			break;
	}
	for (int i = 2; i <= n; i++)
		if (lua_istable(L, i) || lua_isfunction(L, i))
			return luaL_error(L, "format: value %d is a %s", i, luaL_typename(L, i));
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, n, 1);
	return 1;
}

static void
hide_addresses(lua_State *L)
{
	lua_register(L, "tostring", convert_tostring);
	lua_getglobal(L, LUA_STRLIBNAME);
	lua_getfield(L, -1, "format");
	lua_pushcclosure(L, format_plainly, 1);
	lua_setfield(L, -2, "format");
}

struct sandbox_job {
	const char   *base, *text;	/* base: the file's name without folders, as Lua cuts names after 59 bytes */
	size_t	      n;
	lua_CFunction setup, finish;
};

/* Runs, within pcall, everything that can raise an error. */
static int
run_protected(lua_State *L)
{
	const struct sandbox_job *job = lua_touserdata(L, 1);

	open_libs(L);
	hide_addresses(L);
	job->setup(L);
	lua_settop(L, 0);
	lua_pushfstring(L, "@%s", job->base);
	/* "t": source only, because Lua does not verify bytecode. */
	if (luaL_loadbufferx(L, job->text, job->n, lua_tostring(L, 1), "t") != LUA_OK)
		return lua_error(L);
	lua_call(L, 0, 1);
	job->finish(L);
	return 0;
}

int
sandbox_open(struct sandbox *b, void *mine)
{
	*b = (struct sandbox){ 0 };
	if ((b->lua = lua_newstate(alloc_limited, b)) == NULL)
		return err_nomem();
	*(void **)lua_getextraspace(b->lua) = mine;
	lua_sethook(b->lua, check_budget, LUA_MASKCOUNT, STRIDE);
	return 0;
}

void
sandbox_close(struct sandbox *b)
{
	if (b->lua != NULL)
		lua_close(b->lua);
	*b = (struct sandbox){ 0 };
}

void *
sandbox_mine(lua_State *L)
{
	return *(void **)lua_getextraspace(L);
}

/* Reports Lua's message with the full name in front: not every message has its place. */
static int
report_lua_error(struct sandbox *b, const char *name, const char *base)
{
	int code = b->over ? ERR_LIMIT : ERR_FORMAT;
	const char *text;

	/* Converting a number to a string would allocate. */
	if (lua_type(b->lua, -1) != LUA_TSTRING)
		return err_fail(code, "%s: raises a %s", name, luaL_typename(b->lua, -1));
	text = lua_tostring(b->lua, -1);
	if (strncmp(text, base, strlen(base)) == 0 && text[strlen(base)] == ':')
		return err_fail(code, "%.*s%s", (int)(base - name), name, text);
	return err_fail(code, "%s: %s", name, text);
}

int
sandbox_run(struct sandbox *b, const char *name, const char *text, size_t n, lua_CFunction setup, lua_CFunction finish)
{
	const char *base = io_base_name(name);
	struct sandbox_job job = { base, text, n, setup, finish };
	int status;

	lua_pushcfunction(b->lua, run_protected);
	lua_pushlightuserdata(b->lua, &job);
	if ((status = lua_pcall(b->lua, 1, 0, 0)) == LUA_OK)
		return 0;
	if (b->nomem)
		return err_nomem();
	if (status == LUA_ERRMEM)
		return err_fail(ERR_LIMIT, "%s: needs more memory than a net may", name);
	return report_lua_error(b, name, base);
}
