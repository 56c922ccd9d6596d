/*
 * script - runs a net's Lua script and returns its graph.
 *
 * The script runs once, in a sandbox.  net(5) describes its globals: the layer functions, `input` (c, h, w, classes)
 * and `opt` (the options as text).  It returns the loss node.  require(name) runs name.lua of the same folder, once, in
 * the same sandbox.  Source: lua.org/manual/5.4.
 */
#ifndef NET_GRAPH_SCRIPT_H
#define NET_GRAPH_SCRIPT_H

#include "net/graph/graph.h"

#define SCRIPT_OPTS 64	/* most options */
#define SCRIPT_PARTS 8	/* most files that a script requires */

struct script_opt {
	const char *key, *value;
};

/*
 * Appends KEY=VALUE to opt [SCRIPT_OPTS], which has *n options.  Splits text in place, which must outlive opt.  Returns
 * 0, ERR_ARG or ERR_LIMIT.
 */
int script_opt_take(struct script_opt *opt, uint32_t *n, char *text);

/*
 * Runs a script.  A name with a '/' or with the suffix ".lua" is a path, another is a net of share/nets
 * (base/datadir.h). If c, h and w are 0, or classes is 0, the script uses its default.  Returns 0, ERR_SYS, ERR_FORMAT
 * (file:line: reason), ERR_ARG (an option that the script does not read, or the size), ERR_LIMIT or ERR_NOMEM.
 */
int script_run(const char *name, uint32_t c, uint32_t h, uint32_t w, uint32_t classes,
	const struct script_opt *opt, uint32_t nopt, struct graph **g);

#endif
