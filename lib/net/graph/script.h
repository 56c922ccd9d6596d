/*
 * script - a net's Lua script into a graph.
 *
 * The script runs once, in a sandbox: no io, no os, no loading of code, bounded
 * steps and memory.  net(5) says what it sees: the layer functions, `input`
 * (c, h, w, classes) and `opt` (the options given as text), and it returns the
 * last node.  require(name) runs name.lua beside the script, once, in the same
 * sandbox.  Source: lua.org/manual/5.4.
 */
#ifndef NET_GRAPH_SCRIPT_H
#define NET_GRAPH_SCRIPT_H

#include "net/graph/graph.h"

#define SCRIPT_OPTS 64	/* most options given */
#define SCRIPT_PARTS 8	/* most files a script requires */

struct script_opt {
	const char *key, *value;
};

/*
 * Takes KEY=VALUE as one more of opt [SCRIPT_OPTS], *n so far; text is cut there and lent as long as they are.
 * Returns 0, ERR_ARG or ERR_LIMIT.
 */
int script_opt_take(struct script_opt *opt, uint32_t *n, char *text);

/*
 * name is a path when it holds a '/' or ends in ".lua", else a net of share/nets, found by base/datadir.h.
 * c h w 0 mean the script's own default shape; classes 0 too.
 * Returns 0, ERR_SYS, ERR_FORMAT (file:line: reason), ERR_ARG (an option given that the script never asked for),
 * ERR_LIMIT or ERR_NOMEM.
 */
int script_run(const char *name, uint32_t c, uint32_t h, uint32_t w, uint32_t classes,
	const struct script_opt *opt, uint32_t nopt, struct graph **g);

#endif
