/*
 * sandbox - a Lua state that can neither hurt nor hang its host.
 *
 * A script in the box has the language and a few pure functions (net(5) lists
 * them): nothing that reads or writes outside, loads code, or works long in one
 * call, and nothing that differs from run to run: no chance, no time, no
 * addresses, and neither next() nor pairs(), since the order of keys is no
 * function of the script.  Memory is bounded, and so are the instructions and
 * the bytes allocated in all: over a bound the script ends, whatever it catches
 * with pcall.
 *
 * Source: Lua 5.4 manual, 4.6 (lua_Alloc), 4.7 (hooks), 6 (libraries).
 * Threads: a box is for one thread.
 */
#ifndef NET_GRAPH_SANDBOX_H
#define NET_GRAPH_SANDBOX_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SANDBOX_STEPS	1000000u		/* Lua instructions */
#define SANDBOX_STRING	4096u			/* bytes of a string and its head: some calls read all of it */
#define SANDBOX_MEMORY	((size_t)2 << 20)	/* bytes held at once */
#define SANDBOX_TURNOVER	((size_t)64 << 20)	/* bytes allocated in all, refusals counted */

struct sandbox {
	lua_State *lua;
	size_t	   held, turned;	/* bytes now; bytes in all */
	uint32_t   steps;
	bool	   over;		/* steps or turnover are used up: no instruction runs any more */
	bool	   nomem;		/* it was the machine that had no memory */
};

/* mine is what sandbox_mine() gives to the C functions inside.  Returns 0 or ERR_NOMEM.  *b must not move until sandbox_close. */
int	 sandbox_open(struct sandbox *b, void *mine);
void	 sandbox_close(struct sandbox *b);	/* zeros are fine */
void	*sandbox_mine(lua_State *L);

/*
 * Runs text [n], called name in messages, once: first setup adds globals, then the script, then finish takes its one
 * result from the top of the stack.  Both may raise Lua errors.  Returns 0, ERR_FORMAT (name:line: reason), ERR_LIMIT
 * or ERR_NOMEM.
 */
int	 sandbox_run(struct sandbox *b, const char *name, const char *text, size_t n, lua_CFunction setup,
	     lua_CFunction finish);

#endif
