/* server_state_in - what the files of server_state share. */
#ifndef PS_SERVER_SERVER_STATE_IN_H
#define PS_SERVER_SERVER_STATE_IN_H

#include "ps/hello.h"
#include "ps/server/server_state.h"
#include "ps/server/shard.h"
#include "ps/total.h"

struct peer {
	uint64_t incarnation;
	uint64_t before;	/* the incarnation that it replaced; 0: none */
	bool	 known;		/* it has said hello */
	enum shard_worker at;
	bool	 answer_waits;	/* an answer waits for room in the queue of its connection */
};

struct server_state {
	struct server_state_opt o;
	struct memory	own;		/* a private memory */
	struct hello	hello;		/* the first one, which describes the job */
	struct shard	shard;		/* plan is NULL before the first hello */
	struct total	total;
	struct peer    *peer;		/* [nworkers] */
};

void	 server_state_emit(struct server_state *s, uint32_t w, struct msg m);
/* server_answer.c: sends worker w the answers about slice i that are due, while there is room. */
void	 server_answer_worker(struct server_state *s, uint32_t i, uint32_t w);
/*
 * Sends the answers about slice i that are due.  The slice was at step `was` before the last message, whose worker w is
 * the only one with new answers, unless the slowest step is over.  SERVER_ALL: any worker may have some.
 */
#define SERVER_ALL	UINT32_MAX
void	 server_answer(struct server_state *s, uint32_t i, uint64_t was, uint32_t w);

/* server_deal.c, in server 0 of an elastic job, else without effect: takes over the changes of a server before. */
void	 server_deal_attach(struct server_state *s);
/* Tells a worker all changes; it has just said hello. */
void	 server_deal_tell(struct server_state *s, uint32_t w);
/* Counts the workers, and tells all of them if there is another number. */
void	 server_deal_count(struct server_state *s);

/* server_settings.c: in server 0, tells a worker all changes of settings, if any. */
void	 server_settings_tell(struct server_state *s, uint32_t w);
int	 server_settings_handle(struct server_state *s, const struct msg *m);

/*
 * server_norms.c: adds slice i to the norms if all its gradients are there; the last slice completes the server's
 * part.
 */
void	 server_norms_count(struct server_state *s, uint32_t i);
/* After a repeated push: its worker may be the only one that can still join the servers' parts. */
void	 server_norms_repeat(struct server_state *s, const struct msg *m);
int	 server_norms_handle(struct server_state *s, const struct msg *m);

#endif
