/*
 * worker_net - a worker's connections, run by a thread of their own.
 *
 * The brain (ps/worker/worker_state.h) is shared: whoever calls it holds the lock.
 * The thread gives it what comes, and wakes worker_net_wait().  Messages to
 * servers stand in a queue for each and are copied only when the connection has
 * room, so that a slow server costs no memory.
 */
#ifndef PS_WORKER_WORKER_NET_H
#define PS_WORKER_WORKER_NET_H

#include "ps/worker/worker.h"
#include "ps/worker/worker_state.h"

struct worker_net;

/* o is lent.  0, ERR_SYS, ERR_NOMEM, or what shard_plan_new() returns. */
int	 worker_net_new(const struct worker_opt *o, struct worker_state *b, struct worker_net **n);
void	 worker_net_free(struct worker_net *n);	/* ends the thread and closes; NULL is fine */
/*
 * Connects to each server, trying for half a minute, says hello, waits for the welcome and starts the thread.
 * Returns 0, ERR_PEER, ERR_AUTH, ERR_ARG (refused), ERR_FORMAT, ERR_SYS or ERR_NOMEM; the line names the server.
 */
int	 worker_net_connect(struct worker_net *n);

/* The error that ended the connections is noted and returned, with the lock not held. */
int	 worker_net_lock(struct worker_net *n);
void	 worker_net_unlock(struct worker_net *n);
/*
 * With the lock: waits until something came.  When that takes longer than the worker's patience, it is told that `server`
 * is waited for.  Returns 0, or the error that ended the connections; the lock is held either way.
 */
int	 worker_net_wait(struct worker_net *n, uint32_t server);
/* With the lock: queues a message; its payload is lent until it was answered (a hello's: for the call). */
void	 worker_net_send(struct worker_net *n, uint32_t server, const struct msg *m);

void	 worker_net_peer_traffic(struct worker_net *n, uint32_t server, struct peer_traffic *t);
void	 worker_net_traffic(struct worker_net *n, uint64_t *sent, uint64_t *got);

#endif
