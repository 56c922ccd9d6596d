/*
 * serve - the event loop of a server: connections around its state machine.  pserver(1) runs it.
 *
 * lib/ps/server is a server.  Read it in this order: server_state (the state machine); shard, slice and slice_pool (the
 * weights it holds, and the sums of gradients); serve, with claim (two processes of one rank) and epoch_traffic.
 *
 * A worker connects, proves that it holds the job's key and sends a hello.  Until then it is a
 * stranger.  A server has room for SERVE_STRANGERS strangers and for one more for each worker of the job, since all
 * workers may connect at once.  A stranger is closed after SERVE_HELLO_S seconds, or when there is no room for a new
 * one (wire/strangers.h).  The state machine sees no byte of strangers.
 *
 * If a second process sends a hello with the rank of a connected worker, the hello waits.  The server refuses it if
 * the first process answers a question, and else lets it take over (ps/server/claim.h).
 *
 * A worker whose connection breaks before its goodbye is lost.  A synchronous job ends then, and the server sends the
 * reason to the other workers.  Any other job goes on, and the lost worker may return.
 *
 * A worker is away, not lost, for return_s if its hello says that it is started again when it dies, or if the
 * server was restarted.
 *
 * A worker that joins an elastic job is a stranger that nobody misses.  For SERVE_RETURN_S after joins_fd was readable
 * strangers are not limited, as while workers are missing, so that it gets in beside a flood.
 *
 * Threads: serve_run() uses one thread; several may run in one process.
 */
#ifndef PS_SERVER_SERVE_H
#define PS_SERVER_SERVE_H

#include "base/log_callback.h"
#include "ps/memory.h"
#include "ps/server/epoch_traffic.h"
#include "wire/conn.h"

#define SERVE_STRANGERS	64
#define SERVE_HELLO_S	10.0
#define SERVE_SHARED	(32u << 20)	/* bytes shared with all workers, unless the smallest rings need more */
#define SERVE_RETURN_S	60.0	/* a worker starts, with data and net, or notices that the server is back */

/* Traffic of an epoch with one worker or with all, see ps/server/epoch_traffic.h. */
struct serve_traffic_report {
	int64_t		 worker;	/* -1: all workers */
	uint64_t	 epoch;		/* EPOCH_TRAFFIC_NONE: the start, or after the last epoch */
	uint64_t	 steps;		/* updates so far */
	struct peer_traffic traffic;	/* traffic with one worker */
	/* with all workers: bytes of messages with their headers, without the start */
	uint64_t	 received, sent;
};

struct serve_opt {
	const char	*listen;		/* "host:port"; port 0: the system chooses */
	int		 listen_fd;		/* a socket that listens there already, owned; 0: none */
	uint32_t	 nworkers;
	uint32_t	 elastic;		/* workers at the start of an elastic job; 0: fixed (server_state.h) */
	uint32_t	 index, nservers;
	const uint8_t	*key;			/* [CONN_KEY]; NULL: none, wire/plain.h */
	enum conn_transport transport;
	double		 silence_s;		/* silence of wire/conn.h with each worker; 0: CONN_SILENCE_S */
	uint64_t	 incarnation;		/* random number of this start of the server, from io_random() */
	struct memory	*memory;		/* a memory that outlives this server, lent; or NULL */
	double		 return_s;		/* 0: the longer of SERVE_RETURN_S and silence_s + 30 */
	int		 stop_fd;		/* the server stops once this is readable; -1: none */
	int		 joins_fd;		/* signalfd(2): a worker is about to join an elastic job; 0: none */
	void		(*listening)(void *arg, const char *where);	/* called with the actual port */
	log_callback_fn	*say;			/* logs the shard, and who is refused or replaced; or NULL */
	log_callback_fn	*say_lost;		/* logs whom an asynchronous job loses, a consequence; or NULL */
	/* called after the start, each epoch and the end; or NULL */
	void		(*report_traffic)(void *arg, const struct serve_traffic_report *m);
	void		*arg;
};

struct serve_sums {
	uint64_t steps;			/* updates of the weights */
	uint64_t sent, received;		/* bytes of messages */
	uint64_t strangers;		/* connections that never sent a valid hello */
	double	 seconds;		/* duration since the first hello */
};

/*
 * Serves until every worker has said goodbye.  Returns 0; ERR_PEER if a worker was lost and has not returned (the line
 * names it); ERR_STOP; ERR_SYS, ERR_FORMAT or ERR_LIMIT if it cannot listen; or ERR_NOMEM.  It sets *sums in every
 * case.
 */
int	 serve_run(const struct serve_opt *opt, struct serve_sums *sums);

#endif
