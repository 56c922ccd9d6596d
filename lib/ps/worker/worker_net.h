/*
 * worker_net - a worker's connections, run by a thread of their own.
 *
 * The state machine (ps/worker/worker_state.h) is shared: every caller of it holds the lock.  The thread passes
 * received messages to it and wakes worker_net_wait().  Each server has a queue of messages, which are copied only
 * when its connection has room, so that a slow server costs no memory.
 */
#ifndef PS_WORKER_WORKER_NET_H
#define PS_WORKER_WORKER_NET_H

#include "ps/worker/worker.h"
#include "ps/worker/worker_state.h"

struct worker_net;

/* o and ws are lent.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 worker_net_new(const struct worker_opt *o, struct worker_state *ws, struct worker_net **n);
void	 worker_net_free(struct worker_net *n);	/* ends the thread and closes the connections; NULL does nothing */
/*
 * Connects to each server, for up to half a minute, sends the hello, waits for the welcome, and starts the thread.
 * Returns 0, ERR_PEER, ERR_AUTH, ERR_ARG (refused), ERR_FORMAT, ERR_SYS or ERR_NOMEM; the line names the server.
 */
int	 worker_net_connect(struct worker_net *n);

/* Tells the servers that this worker gives up, within a limited time, and returns with the lock. */
void	 worker_net_quit(struct worker_net *n);
/* Takes the lock and returns 0, or returns the error that ended the connections, without the lock. */
int	 worker_net_lock(struct worker_net *n);
void	 worker_net_unlock(struct worker_net *n);
/*
 * With the lock: waits for a message.  If nothing arrives for wait_report_s, it reports that it waits for `server`,
 * or for whom that server waits, and returns.  Returns 0, or the error that ended the connections; the lock is held
 * either way.
 */
int	 worker_net_wait(struct worker_net *n, uint32_t server);
/* With the lock: queues a message; its payload is lent until the answer (that of a hello: for the call). */
void	 worker_net_send(struct worker_net *n, uint32_t server, const struct msg *m);

void	 worker_net_peer_traffic(struct worker_net *n, uint32_t server, struct peer_traffic *t);
void	 worker_net_traffic(struct worker_net *n, uint64_t *sent, uint64_t *received);

#endif
