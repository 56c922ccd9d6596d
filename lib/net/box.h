/*
 * box - a Lua state that can neither hurt nor hang its host.
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
#ifndef NET_BOX_H
#define NET_BOX_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOX_STEPS	1000000u		/* Lua instructions */
#define BOX_STRING	4096u			/* bytes of a string and its head: some calls read all of it */
#define BOX_MEMORY	((size_t)2 << 20)	/* bytes held at once */
#define BOX_TURNOVER	((size_t)64 << 20)	/* bytes allocated in all, refusals counted */

struct box {
	lua_State *lua;
	size_t	   held, turned;	/* bytes now; bytes in all */
	uint32_t   steps;
	bool	   over;		/* steps or turnover are used up: no instruction runs any more */
	bool	   nomem;		/* it was the machine that had no memory */
};

/* mine is what box_mine() gives to the C functions inside.  Returns 0 or ERR_NOMEM.  *b must not move until box_close. */
int	 box_open(struct box *b, void *mine);
void	 box_close(struct box *b);	/* zeros are fine */
void	*box_mine(lua_State *L);

/*
 * Runs text [n], called name in messages, once: first setup adds globals, then the script, then finish takes its one
 * result from the top of the stack.  Both may raise Lua errors.  Returns 0, ERR_FORMAT (name:line: reason), ERR_LIMIT
 * or ERR_NOMEM.
 */
int	 box_run(struct box *b, const char *name, const char *text, size_t n, lua_CFunction setup,
	     lua_CFunction finish);

#endif
