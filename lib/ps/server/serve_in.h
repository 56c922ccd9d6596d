/* serve_in - what the files of serve share: the connections of a server. */
#ifndef PS_SERVER_SERVE_IN_H
#define PS_SERVER_SERVE_IN_H

#include "ps/server/claim.h"
#include "ps/server/serve.h"
#include "ps/server/server_state.h"
#include "wire/conn.h"

#include <poll.h>

#define SERVE_REASON	400	/* bytes of a reason */

struct client {
	struct conn	*conn;
	int64_t		 rank;		/* -1: a stranger */
	uint64_t	 nth;		/* connection here */
	bool		 done;		/* what it sends is dropped */
	bool		 refused;	/* and it was told why */
	bool		 over;		/* to be closed */
	int64_t		 page;		/* of the ledger, its worker's; -1: none */
	double		 until;		/* ... then at the latest; INFINITY for a worker */
	uint64_t	 incarnation;	/* of its hello */
	int64_t		 claims;	/* the rank that it says it is while another connection has that one; -1: none */
	struct claim	 claim;
	struct msg	 hello;		/* the claim's; its payload is lent by conn, which is not run meanwhile */
};

struct serve {
	const struct serve_opt *o;
	struct serve_sums *sums;
	struct server_state	*state;
	int		 fd;		/* listens */
	bool		 paused;		/* for this turn */
	struct client	*client;		/* [n], room for every worker and SERVE_STRANGERS more */
	uint32_t	 n;
	struct pollfd	*poll;		/* the same, behind stop_fd and fd */
	struct client	*now;		/* whose message the brain takes */
	struct epoch_traffic	 traffic;
	char		(*lost)[SERVE_REASON];	/* [nworkers] why; "" when not lost */
	uint64_t	 conns;		/* that came */
	uint64_t	*latest;	/* [nworkers] the one by which the worker came; 0: none yet */
	double		 since;		/* the first hello */
	int		 err;		/* ends it */
	char		 why[SERVE_REASON];
};

/* serve.c: the connection of a worker; NULL: it has none. */
struct client *serve_find_client(struct serve *s, uint32_t rank);
/* Gives the state machine a message of g; false with a line when it does not take it. */
bool	 serve_hand_over(struct serve *s, struct client *g, const struct msg *m);
/* g has no place here, or none any more: it learns what err_line() says, and if it was a worker that one is lost. */
void	 serve_reject(struct serve *s, struct client *g);
void	 serve_send(struct serve *s, struct client *g, uint32_t worker, const struct msg *m);

/*
 * serve_claim.c: a hello in the name of a worker that another process has said, and whose connection is there.  False when it
 * is none: it may be handed over.  Else it waits.
 */
bool	 serve_claim_begin(struct serve *s, struct client *g, const struct msg *m);
/* A worker has answered the question number nth. */
void	 serve_claim_answered(struct serve *s, uint32_t rank, uint64_t nth);
/* The connection of a worker has ended.  False when nobody claims its place. */
bool	 serve_claim_take(struct serve *s, uint32_t rank);
/* Decides what time decides. */
void	 serve_claims(struct serve *s);

#endif
