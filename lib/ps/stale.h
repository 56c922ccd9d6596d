/*
 * stale - who may take the next step: three regimes as one number.
 *
 * A worker may run at most `slack` steps ahead of the slowest.  0 is bulk
 * synchronous, STALE_ASYNC never waits, between is stale synchronous parallel
 * (Ho et al., NIPS 2013).  A worker that left is not waited for.
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
	uint64_t *clock;	/* [n] steps each has done */
	bool	 *gone;		/* [n] */
};

int	 stale_init(struct stale *g, uint32_t n, uint32_t slack);	/* 0 or ERR_NOMEM */
void	 stale_free(struct stale *g);
void	 stale_done(struct stale *g, uint32_t w, uint64_t step);	/* w has done `step` steps; never goes back */
void	 stale_leave(struct stale *g, uint32_t w);
void	 stale_join(struct stale *g, uint32_t w);	/* w is back, no further behind than the slowest */
/* May worker w begin its next step? */
bool	 stale_may_step(const struct stale *g, uint32_t w);

#endif
