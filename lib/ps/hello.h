/*
 * hello - the description of a job that a worker says hello with, and that a server compares.
 *
 *	job 4
 *	tally 0.1
 *	workers 2
 *	servers 2
 *	server 0
 *	slack 0
 *	slice 524288
 *	optimizer sgd
 *	momentum 0.9
 *	beta2 0
 *	epsilon 0
 *	decay 0.0001
 *	l1 0
 *	clip 0
 *	clip-norm 0
 *	trust 0
 *	turns 0
 *	unit 0
 *	average none
 *	average-rate 0
 *	average-every 0
 *	multipliers -
 *	hash 0123456789abcdef
 *	graph
 *
 * Lines of text in this order, then the text of net(5) to the end, so that a
 * server needs no net of its own.  "job" is the protocol's version
 * (MSG_VERSION), "server" the index that the worker takes the server for,
 * "slack" as in ps/stale.h ("async" for STALE_ASYNC), "slice" the bytes of
 * ps/shard_plan.h, "hash" graph_hash().
 */
#ifndef PS_HELLO_H
#define PS_HELLO_H

#include "base/buf.h"
#include "net/graph/graph.h"
#include "net/optim/opt.h"
#include "wire/msg.h"

#define HELLO_TALLY	16		/* bytes of a version of tally, its zero counted */
#define HELLO_MULTS	1024		/* bytes of the multipliers' rules, their zero counted */
#define HELLO_WORKERS	65536u		/* most workers of a job */

struct hello {
	uint32_t	 version;	/* of the protocol */
	char		 tally[HELLO_TALLY];
	uint32_t	 nworkers, nservers, server;
	uint32_t	 slack;
	uint32_t	 slice;		/* bytes */
	struct opt_hyper hyper;		/* lr and t are not part of it */
	char		 mults[HELLO_MULTS];	/* ps/shard_plan.h; "" in the text is "-" */
	uint64_t	 hash;
};

/* A job's text, appended to out.  Returns 0 or ERR_NOMEM. */
int	 hello_text(const struct hello *j, const struct graph *g, struct buf *out);
/*
 * Takes foreign bytes.  g gets a graph of the caller's, or stays NULL when g is NULL or the graph is not read.
 * Returns 0, ERR_FORMAT or ERR_LIMIT (the line names the key), ERR_NOTSUP (another version) or ERR_NOMEM.
 */
int	 hello_parse(const char *text, size_t n, struct hello *j, struct graph **g);
/* Returns 0, or ERR_ARG with a line that says what differs: "slack is 4 here and 0 there". */
int	 hello_same(const struct hello *here, const struct hello *there);

/* Whether such a job can be: ERR_ARG when it is of a kind that workers must be in lockstep for and are not, else 0. */
int	 hello_check(const struct opt_hyper *h, uint32_t slack);

#endif
