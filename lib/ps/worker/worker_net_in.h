/* worker_net_in - what the files of worker_net share: the connections of a worker. */
#ifndef PS_WORKER_WORKER_NET_IN_H
#define PS_WORKER_WORKER_NET_IN_H

#include "base/err.h"
#include "ps/worker/send_queue.h"
#include "ps/worker/worker_net.h"
#include "wire/conn.h"

#include <poll.h>
#include <pthread.h>

struct link {
	struct worker_net *net;
	struct conn	*conn;		/* NULL when it is over */
	struct conn	*other;		/* is tried, to take its place, or had it until the next welcome */
	struct send_queue queue;
	char		 reached[ADDR_TEXT];	/* numeric address at its last welcome; "": none yet */
	uint64_t	 sent, received;	/* bytes of messages */
	/*
	 * With the lock: the connection broke, and the server is restarted.  Until its next welcome what is sent to it
	 * is dropped, as worker_state_repeat() follows.
	 */
	bool		 lost;
	double		 retry_at, until;	/* the next attempt to connect; the last one after a loss */
	double		 failing_since;	/* its host has refused all attempts to connect since; 0: not the last */
	uint64_t	 earlier[PEER_TRAFFIC_WAYS];	/* bytes on earlier connections */
	bool		 pinged;	/* the server's question `ping` is to be answered */
	uint64_t	 ping;
	bool		 asked;		/* a question for whom this worker waits is under way */
	bool		 answered;	/* there was an answer since the last question */
	/* The worker that the answer names, and the server for which that one waits; MSG_NOBODY: none. */
	uint32_t	 late, behind;
	/* There was no room for a message: the server answers what it has not received.  Read without the lock. */
	_Atomic bool	 overflowed;
	bool		 unanswered, carries;	/* conn_unanswered(), conn_carries() */
	struct peer_traffic	 traffic;
};

struct worker_net {
	const struct worker_opt *o;
	struct worker_state *state;
	struct link	*link;		/* [nservers] */
	struct pollfd	*poll;		/* [nservers + 1]; the last is wake */
	/* [slices] trace_now() when the slice's gradient was given to be sent; NULL: no trace */
	uint64_t	*push_time;
	double		 turn_at;	/* when all connections are run: their peers' hosts may be silent */
	int		 wake;		/* eventfd */
	pthread_mutex_t	 lock;
	pthread_cond_t	 arrived;
	pthread_t	 thread;
	bool		 running, end;
	bool		 quits;		/* it is to tell the servers that this worker gives up, and to end */
	uint64_t	 events;	/* messages for which a worker may wait, so that no wake is missed */
	uint64_t	 told;		/* 1 + events when it last reported a wait */
	bool		 waits;		/* the servers have been told for which one it waits */
	int		 err;		/* the error that ended the thread, or 0; and its line */
	char		 line[ERR_LINE];
};

/*
 * worker_link.c: connects to the servers below `end` for the first time, all at once, and waits for their welcomes.
 * Returns as worker_net_connect().
 */
int	 worker_link_connect(struct worker_net *n, uint32_t end);
/* Runs a connection once, or connects again.  Returns 0 or an error that ends the job. */
int	 worker_link_run(struct worker_net *n, uint32_t s);
/* After this process was stopped: lost servers have their time to return again. */
void	 worker_link_expect_again(struct worker_net *n);
/* Moves queued messages to the connection while it has room.  Returns 0 or an error of the connection. */
int	 worker_link_push(struct worker_net *n, uint32_t s);
/* Counts a message.  With the lock, or before there is a thread. */
void	 worker_link_count(const struct worker_net *n, struct link *l, enum peer_traffic_way way, const struct msg *m);
/* Milliseconds until a lost connection is to be tried again, or until all are to be run. */
#define WORKER_LINK_TURN_MS 500
int	 worker_link_timeout(const struct worker_net *n);

/*
 * worker_late.c, with the lock: asks all servers for whom this worker waits, and tells them that it needs an answer of
 * `server` next, or of MSG_NOBODY.
 */
void	 worker_late_tell(struct worker_net *n, uint32_t server);
/* With the lock: notes the answer of server s. */
void	 worker_late_take(struct worker_net *n, uint32_t s, const struct msg *m);
/* Reports for whom it waits, as in "worker 0, server 1 (127.0.0.1:4242)"; `server` if nobody else is known. */
void	 worker_late_report(struct worker_net *n, uint32_t server);

#endif
