/*
 * job - the description of a job, which a worker's hello carries and a server compares.
 *
 *	job 1
 *	tally 0.1
 *	workers 2
 *	servers 2
 *	server 0
 *	slack 0
 *	slice 524288
 *	momentum 0.9
 *	decay 0.0001
 *	clip 0
 *	hash 0123456789abcdef
 *	graph
 *
 * Lines of text in this order, then the text of net(5) to the end, so that a
 * server needs no net of its own.  "job" is the protocol's version
 * (MSG_VERSION), "server" the index that the worker takes the server for,
 * "slack" as in ps/gate.h ("async" for GATE_ASYNC), "slice" the bytes of
 * ps/plan.h, "hash" graph_hash().
 */
#ifndef PS_JOB_H
#define PS_JOB_H

#include "base/buf.h"
#include "net/graph.h"
#include "net/opt.h"

#define JOB_TALLY	16		/* bytes of a version of tally, its zero counted */
#define JOB_WORKERS	65536u		/* most workers of a job */

struct job {
	uint32_t	 version;	/* of the protocol */
	char		 tally[JOB_TALLY];
	uint32_t	 nworkers, nservers, server;
	uint32_t	 slack;
	uint32_t	 slice;		/* bytes */
	struct opt_hyper hyper;		/* lr is not part of it */
	uint64_t	 hash;
};

/* A job's text, appended to out.  Returns 0 or ERR_NOMEM. */
int	 job_text(const struct job *j, const struct graph *g, struct buf *out);
/*
 * Takes foreign bytes.  g gets a graph of the caller's, or stays NULL when g is NULL or the graph is not read.
 * Returns 0, ERR_FORMAT or ERR_LIMIT (the line names the key), ERR_NOTSUP (another version) or ERR_NOMEM.
 */
int	 job_parse(const char *text, size_t n, struct job *j, struct graph **g);
/* Returns 0, or ERR_ARG with a line that says what differs: "slack is 4 here and 0 there". */
int	 job_same(const struct job *here, const struct job *there);

#endif
