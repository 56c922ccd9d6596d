/*
 * stale - which worker may take the next step: synchronous, asynchronous or with bounded staleness.
 *
 * A worker may be at most `slack` steps ahead of the slowest.  0 is bulk synchronous; with STALE_ASYNC a worker never
 * waits; values between are stale synchronous parallel (Ho et al., NIPS 2013).  Nobody waits for a worker that left.
 */
#ifndef PS_STALE_H
#define PS_STALE_H

#include <stdbool.h>
#include <stdint.h>

#define STALE_SYNC	0u
#define STALE_ASYNC	UINT32_MAX

struct stale {
	uint32_t  n;		/* workers */
	uint32_t  slack;
	uint32_t  most;		/* the largest slack so far: steps that it allowed may be under way */
	uint64_t *clock;	/* [n] steps that each worker has done; lent */
	bool	 *gone;		/* [n] it left */
	uint64_t  least;	/* lowest clock of the workers that have not left, if slowest > 0 */
	uint32_t  slowest;	/* number of workers with that clock; 0: not counted yet */
};

int	 stale_init(struct stale *g, uint64_t *clock, uint32_t n, uint32_t slack);	/* 0 or ERR_NOMEM */
void	 stale_free(struct stale *g);
void	 stale_attach(struct stale *g, uint64_t *clock);	/* replaces the clocks, lent */
/* Another slack from now on, not from or to STALE_SYNC; most as in struct stale. */
void	 stale_set(struct stale *g, uint32_t slack, uint32_t most);
/* Worker w has done `step` steps.  A smaller number than before changes nothing. */
void	 stale_done(struct stale *g, uint32_t w, uint64_t step);
/* Worker w has left: nobody waits for it. */
void	 stale_leave(struct stale *g, uint32_t w);
/* Worker w joins; its clock becomes at least that of the slowest. */
void	 stale_join(struct stale *g, uint32_t w);
/* Worker w returns, and its clock stays. */
void	 stale_return(struct stale *g, uint32_t w);
/* Whether worker w may not begin its next step before worker `late` has done one. */
bool	 stale_waits(const struct stale *g, uint32_t w, uint32_t late);
/* Whether worker w may begin its next step.  Its time grows with n only when the slowest
 * workers have all taken a step. */
bool	 stale_may_step(struct stale *g, uint32_t w);
/* Whether worker w may have begun its next step: some slack so far allowed it. */
bool	 stale_may_have_begun(struct stale *g, uint32_t w);
/* The steps of the slowest worker that has not left; UINT64_MAX if all have. */
uint64_t stale_least(struct stale *g);

#endif
