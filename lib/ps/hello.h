/*
 * hello - the description of a job, which a worker sends in its hello and a server compares.
 *
 *	job 10
 *	tally 0.1
 *	workers 2
 *	elastic 0
 *	servers 2
 *	server 0
 *	slack 0
 *	backup 0
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
 *	groups -
 *	hash 0123456789abcdef
 *	graph
 *
 * These lines come in this order; after "graph" the text of net(5) follows to the end, so that a server needs no net
 * of its own.  "job" is the version of the protocol (MSG_VERSION), "server" the index that the worker assigns to the
 * server, "slack" as in ps/stale.h ("async" for STALE_ASYNC), "slice" the bytes of ps/shard_plan.h, and "hash"
 * graph_hash().  "backup" is how many gradients a step need not wait for (ps/server/slice.h).  "elastic" is 0, or the
 * number of workers at the start if it changes (ps/deal.h), at most "workers".
 */
#ifndef PS_HELLO_H
#define PS_HELLO_H

#include "base/buf.h"
#include "net/graph/graph.h"
#include "net/optim/opt.h"
#include "wire/msg.h"

#define HELLO_TALLY	16		/* bytes of a version of tally, with its zero */
#define HELLO_MULTS	1024		/* bytes of the rules of groups, with their zero */
#define HELLO_WORKERS	65536u		/* most workers of a job */

struct hello {
	uint32_t	 version;	/* version of the protocol */
	char		 tally[HELLO_TALLY];
	uint32_t	 nworkers, nservers, server;
	uint32_t	 elastic;	/* workers at the start of an elastic job; 0: their number is fixed */
	uint32_t	 slack;
	uint32_t	 backup;
	uint32_t	 slice;		/* bytes */
	struct opt_hyper hyper;		/* without lr and t */
	char		 mults[HELLO_MULTS];	/* rules of ps/shard_plan.h; "" in the text is "-" */
	uint64_t	 hash;
};

/* Appends a job's text to out.  Returns 0 or ERR_NOMEM. */
int	 hello_text(const struct hello *j, const struct graph *g, struct buf *out);
/*
 * Parses untrusted bytes.  If g is not NULL, *g becomes the graph, which the caller owns, or NULL on an error.
 * Returns 0, ERR_FORMAT or ERR_LIMIT (the line names the key), ERR_NOTSUP (another version) or ERR_NOMEM.
 */
int	 hello_parse(const char *text, size_t n, struct hello *j, struct graph **g);
/* Returns 0, or ERR_ARG with a line that states the difference: "slack is 4 here and 0 there". */
int	 hello_same(const struct hello *here, const struct hello *there);

/* Returns 0, or ERR_ARG if the job is not asynchronous and the number of workers changes, or for `backup`. */
int	 hello_check_workers(const struct hello *j);
/* Returns 0, or ERR_ARG if the optimizer or the average needs a synchronous job and this is not one. */
int	 hello_check(const struct opt_hyper *h, uint32_t slack);

#endif
