/*
 * gate - who may take the next step: three regimes as one number.
 *
 * A worker may run at most `slack` steps ahead of the slowest.  0 is bulk
 * synchronous, GATE_ASYNC never waits, between is stale synchronous parallel
 * (Ho et al., NIPS 2013).  A worker that left is not waited for.
 */
#ifndef PS_GATE_H
#define PS_GATE_H

#include <stdbool.h>
#include <stdint.h>

#define GATE_SYNC	0u
#define GATE_ASYNC	UINT32_MAX

struct gate {
	uint32_t  n;		/* workers */
	uint32_t  slack;
	uint64_t *clock;	/* [n] steps each has done */
	bool	 *gone;		/* [n] */
};

int	 gate_init(struct gate *g, uint32_t n, uint32_t slack);	/* 0 or ERR_NOMEM */
void	 gate_free(struct gate *g);
void	 gate_done(struct gate *g, uint32_t w, uint64_t step);	/* w has done `step` steps; never goes back */
void	 gate_leave(struct gate *g, uint32_t w);
void	 gate_join(struct gate *g, uint32_t w);	/* w is back, no further behind than the slowest */
/* May worker w begin its next step? */
bool	 gate_open(const struct gate *g, uint32_t w);

#endif
