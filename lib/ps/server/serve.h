/*
 * serve - a server's brain among its connections: what pserver(1) runs.
 *
 * Workers connect, show that they have the job's key and say hello; from then
 * on a connection is a worker's.  Who has not said hello is a stranger: there
 * are at most SERVE_STRANGERS and as many again as the job has workers, who may
 * all come at once, each for SERVE_HELLO_S at most; the oldest goes when a new
 * one comes, and no byte of theirs reaches the brain.
 *
 * A hello in the name of a worker that another process has said, and whose
 * connection is there, waits: while the first one answers it is refused, else it
 * takes that one's place (ps/server/claim.h).
 *
 * A worker whose connection breaks before its goodbye is lost.  In a
 * synchronous job that is the end: the others are told who it was.  In any
 * other the rest goes on, and the lost one may come back.
 *
 * Threads: serve_run() is for one thread; several may run in one process.
 */
#ifndef PS_SERVER_SERVE_H
#define PS_SERVER_SERVE_H

#include "base/log_callback.h"
#include "ps/server/epoch_traffic.h"

#define SERVE_STRANGERS	64
#define SERVE_HELLO_S	10.0

/* What moved with a worker, or with all: by epoch, as ps/server/epoch_traffic.h has it. */
struct serve_moved {
	int64_t		 worker;	/* -1: all of them; then in and out tell, else toll */
	uint64_t	 epoch;		/* EPOCH_TRAFFIC_NONE: the start, or what came after the last epoch */
	uint64_t	 steps;		/* updates so far */
	struct peer_traffic	 traffic;
	uint64_t	 in, out;	/* messages with their heads, without the start's */
};

struct serve_opt {
	const char	*listen;		/* "host:port", port 0: any */
	uint32_t	 nworkers;
	uint32_t	 index, nservers;
	const uint8_t	*key;			/* [CONN_KEY] */
	uint64_t	 incarnation;		/* of this start of the server, by io_random() */
	int		 stop_fd;		/* ends it when there is something to read; -1: none */
	void		(*listening)(void *arg, const char *where);	/* with the port it has */
	log_callback_fn	*say;		/* what it holds; who was refused, lost, replaced; may be NULL */
	void		(*moved)(void *arg, const struct serve_moved *m);	/* after the start, each epoch, and the end; or NULL */
	void		*arg;
};

struct serve_sums {
	uint64_t steps;			/* updates of the weights */
	uint64_t sent, got;		/* bytes of messages */
	uint64_t strangers;		/* connections that came to nothing */
	double	 seconds;		/* since the first hello */
};

/*
 * Serves until every worker has said goodbye.  Returns 0; ERR_PEER when a worker was lost (and has not come back; the
 * line names it); ERR_STOP; ERR_SYS, ERR_FORMAT or ERR_LIMIT when it cannot listen; ERR_NOMEM.  *sums is set in any case.
 */
int	 serve_run(const struct serve_opt *opt, struct serve_sums *sums);

#endif
