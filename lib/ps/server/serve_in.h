/* serve_in - what the files of serve share: the connections of a server. */
#ifndef PS_SERVER_SERVE_IN_H
#define PS_SERVER_SERVE_IN_H

#include "base/err.h"
#include "ps/server/claim.h"
#include "ps/server/serve.h"
#include "ps/server/server_state.h"
#include "wire/conn.h"
#include "wire/strangers.h"

#include <poll.h>

#define SERVE_POLLS	3	/* descriptors before those of the clients */

/* A connection. */
struct client {
	struct conn	*conn;
	struct stranger	 stranger;	/* counted while it is no worker's */
	int64_t		 rank;		/* rank of the worker; -1: not known yet */
	uint64_t	 nth;		/* number of the connection, in the order of arrival */
	bool		 done;		/* its messages are dropped */
	bool		 kept;		/* its hello says that it is started again if it dies */
	bool		 refused;	/* it was sent the reason */
	bool		 over;		/* it is to be closed */
	int64_t		 page;		/* index of its worker in the traffic counters; -1: none */
	double		 until;		/* time at which it is closed; INFINITY for a worker */
	uint64_t	 incarnation;	/* incarnation in its hello */
	int64_t		 claims;	/* rank in its hello while another connection has that rank; -1: none */
	struct claim	 claim;
	uint64_t	 over_at;	/* the turn in which the claim's time was found to be over; 0: none */
	struct msg	 hello;		/* HELLO of the claim; lent by conn, which is not run meanwhile */
	struct claim_sign seen;		/* a worker's last sign of life */
	double		 heard, asked;	/* when that was seen, and when another one was asked for since; 0: not */
};

/* What is kept of a worker. */
struct served_worker {
	bool		 lost;
	double		 return_by;	/* when it is lost if it is away; INFINITY: it is not away */
	uint64_t	 latest;	/* `nth` of its connection; 0: none yet */
	uint32_t	 client;	/* index of its connection, if that still has its rank */
	uint32_t	 waits;		/* server for which it waits; MSG_NOBODY: none */
	double		 told;		/* when it last said that others wait for a worker; 0: never */
};

struct serve {
	const struct serve_opt *o;
	struct serve_sums *sums;
	struct server_state	*state;
	struct loan	 lends;		/* the weights, to workers of this host */
	int		 fd;		/* listening socket */
	bool		 paused;	/* it is not polled for one turn */
	struct client	*client;	/* [n], room for `most`: two for each worker and SERVE_STRANGERS more */
	uint32_t	 n, most;
	struct strangers strangers;
	struct pollfd	*poll;		/* stop_fd, fd, joins_fd and the clients */
	struct client	*now;		/* the client whose message is handled */
	struct epoch_traffic traffic;
	struct served_worker *worker;	/* [nworkers] */
	double		 joins_until;	/* a worker may join an elastic job: strangers are not limited before */
	uint64_t	 conns;		/* accepted so far */
	uint64_t	 turns;		/* turns of the loop so far */
	double		 turn_at;	/* when all connections are run: their peers' hosts may be silent */
	double		 due;		/* when this process last ran, or should have run after a wait; 0: not yet */
	double		 quiet_until;	/* others are not called late before, because this process was stopped itself */
	double		 since;		/* time of the first hello */
	int		 err;		/* the error that ends the service, or 0 */
	char		 why[ERR_LINE];	/* its line */
};

/* serve.c: the connection of a worker, or NULL. */
struct client *serve_find_client(struct serve *s, uint32_t rank);
/* Passes a message of g to the state machine; false, with a line, if that refuses it. */
bool	 serve_hand_over(struct serve *s, struct client *g, const struct msg *m);
/* Refuses g with the reason in err_line().  If it is a worker's connection, the worker is lost. */
void	 serve_reject(struct serve *s, struct client *g);
void	 serve_send(struct serve *s, struct client *g, uint32_t worker, const struct msg *m);
/* A worker is lost: ends a synchronous job. */
void	 serve_lose_worker(struct serve *s, uint32_t rank, const char *reason);

/* Closes connections that are over or whose time is over. */
void	 serve_close_finished(struct serve *s);

void	 serve_run_client(struct serve *s, struct client *g);

/* serve_accept.c: accepts what waits, as strangers, as far as their budget allows. */
void	 serve_accept(struct serve *s);
/* A worker is about to join: takes the signals that say so. */
void	 serve_expect_joins(struct serve *s);
/* Whether strangers are polled now: always while workers are missing or join, or at the end. */
bool	 serve_polls_strangers(struct serve *s, bool listening);
/* Runs the strangers that were polled, of the first n connections, likewise. */
void	 serve_run_strangers(struct serve *s, uint32_t n);
/* Counts and logs a connection without a valid hello; who is "host:port: reason". */
void	 serve_refuse_stranger(struct serve *s, const char *who);
/* g is over, and refused if it never was a worker's. */
void	 serve_expire(struct serve *s, struct client *g, const char *why);

/* serve_traffic.c: counts a message to or from a worker, and the bytes on its connection (NULL: none). */
void	 serve_count_msg(struct serve *s, uint32_t worker, enum peer_traffic_way way, const struct msg *m);
void	 serve_count_wire(struct serve *s, const struct client *g);
/* A worker begins epoch `next`, or leaves if that is EPOCH_TRAFFIC_NONE. */
void	 serve_begin_epoch(struct serve *s, uint32_t worker, uint64_t next);
/* Reports the traffic of an epoch with all workers. */
void	 serve_report_epoch(struct serve *s, uint64_t epoch, const uint64_t sum[PEER_TRAFFIC_WAYS]);

/* serve_lend.c: lets the worker of a connection read the weights where they are, and lend its gradients. */
void	 serve_lend(struct serve *s, struct conn *c);
void	 serve_lend_end(struct serve *s);

/* serve_wait.c: notes for which server a worker waits, and tells it which other worker is late. */
void	 serve_answer_wait(struct serve *s, struct client *g, const struct msg *m);
/*
 * Asks workers of which nothing arrives for a sign of life, and names those that give none, or have not connected while
 * others have.
 */
void	 serve_check_workers(struct serve *s);
/*
 * Returns the time.  If this process was stopped since the last call, the time of all others begins again.  Call it
 * before and after each wait, and before others are judged by the time that they have had.
 */
double	 serve_check_pause(struct serve *s);

/* serve_return.c: gives the workers that a server before this one knew their time to return. */
void	 serve_expect_workers(struct serve *s);
void	 serve_expect_worker(struct serve *s, uint32_t rank, const char *why_away);
void	 serve_greet_worker(struct serve *s, uint32_t rank);	/* it has connected */
void	 serve_expect_nobody(struct serve *s);
void	 serve_expect_again(struct serve *s);	/* gives those that are away their time from now on */
/* When the next worker that is away is lost; INFINITY: none is away. */
double	 serve_next_return(const struct serve *s);
void	 serve_lose_absent(struct serve *s);	/* those that are away for too long */

/*
 * serve_claim.c: starts a claim and returns true if m is a hello with the rank of a connected worker from another
 * process.  The hello waits then.
 */
bool	 serve_claim_begin(struct serve *s, struct client *g, const struct msg *m);
/* Whether a hello waits for a sign of the worker with this rank. */
bool	 serve_claimed(struct serve *s, uint32_t rank);
/* What a connection has received, in which a claim looks for such a sign. */
struct claim_sign serve_claim_sign(const struct client *g);
/* A worker has answered question `nth`. */
void	 serve_claim_answered(struct serve *s, uint32_t rank, uint64_t nth);
/* The connection of a worker has ended: grants the claim on its rank.  Returns false if there is none. */
bool	 serve_claim_take(struct serve *s, uint32_t rank);
/* Decides the claims whose time is over. */
void	 serve_claims(struct serve *s);

#endif
