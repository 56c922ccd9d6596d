/*
 * sandbox - a Lua state with bounded time and memory and without access to the outside.
 *
 * A script has the language and a few pure functions (net(5) lists them).  No function performs I/O, loads code or runs
 * long in one call.  Nothing depends on chance, time or addresses, and next() and pairs() are missing because the order
 * of keys varies.  Memory, instructions and the total of bytes allocated are bounded: beyond a bound the script ends,
 * even within pcall.
 *
 * Source: Lua 5.4 manual, 4.6 (lua_Alloc), 4.7 (hooks), 6 (libraries).  Threads: one thread uses a sandbox.
 */
#ifndef NET_GRAPH_SANDBOX_H
#define NET_GRAPH_SANDBOX_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SANDBOX_STEPS	1000000u		/* Lua instructions */
#define SANDBOX_STRING	4096u			/* bytes of a string with its header: some calls read all of it */
#define SANDBOX_MEMORY	((size_t)2 << 20)	/* bytes allocated at one time */
#define SANDBOX_TURNOVER	((size_t)64 << 20)	/* bytes allocated in total, refused ones included */

struct sandbox {
	lua_State *lua;
	size_t	   held, turned;	/* bytes allocated now; in total */
	uint32_t   steps;
	bool	   over;		/* steps or turnover are used up: no instruction runs */
	bool	   nomem;		/* the machine, not the sandbox, ran out of memory */
};

/* sandbox_mine() returns `mine` to C functions.  *b must not move until sandbox_close().  Returns 0 or ERR_NOMEM. */
int	 sandbox_open(struct sandbox *b, void *mine);
void	 sandbox_close(struct sandbox *b);	/* a zeroed struct is fine */
void	*sandbox_mine(lua_State *L);

/*
 * Runs a script once: text [n], called `name` in messages.  Before it setup() adds globals; after it finish() finds the
 * script's result on top of the stack.  Both may raise Lua errors.  Returns 0, ERR_FORMAT (name:line: reason),
 * ERR_LIMIT or ERR_NOMEM.
 */
int	 sandbox_run(struct sandbox *b, const char *name, const char *text, size_t n, lua_CFunction setup,
	     lua_CFunction finish);

#endif
