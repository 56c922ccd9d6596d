/*
 * actor - a worker of a world: its state machine, and what it does next.
 */
#ifndef TESTS_LAW_ACTOR_H
#define TESTS_LAW_ACTOR_H

#include "law/durable.h"

#include "ps/worker/worker_state.h"
#include "train/kept.h"

#define ACTOR_SERVERS	4	/* most servers */
#define ACTOR_SLICES	256	/* more than a job of these nets has */
#define ACTOR_EVERY	3	/* steps of an epoch */
#define ACTOR_STEPS	24	/* most steps of a job */

struct world;

enum actor_phase { HELLO, BEGIN, STEP, PUSH, WAIT, EXACT, SUM, BYE, DONE };

/* Its sums at a step, in this order: the epoch's figures, a validation, and one before each step. */
enum actor_sum { ACTOR_EPOCH, ACTOR_VALIDATION, ACTOR_READY, ACTOR_SUMS };

struct actor {
	struct world	*world;
	struct worker_opt o;
	struct worker_state *worker;
	enum actor_phase phase;
	float		*g, *stats, *state;
	float		*exact;		/* weights that are not rounded, as for a checkpoint */
	uint64_t	 step, steps;	/* whose weights it has; after which it leaves */
	uint64_t	 sent[ACTOR_SLICES];	/* 1 + the last step whose push of a slice it sent, in any life */
	uint32_t	 order[16], arrays, pushed;	/* those that are not frozen */
	enum actor_sum	 sum;		/* the next one at this step; ACTOR_SUMS: none */
	double		 running;	/* its figures of the epoch so far */
	struct durable	 memory;	/* what outlives it */
	struct kept	 kept;
	uint64_t	 asked;		/* id of the change of settings that it has asked for in this life; 0: none */
	float		 rates[ACTOR_STEPS][2];	/* the least and largest rate of the pushes of a step, in any life */
	bool		 blind;		/* it returned only to say goodbye, without weights */
	uint64_t	 last;		/* the step at which it was told to end; 0 */
	bool		 broken[ACTOR_SERVERS];	/* the connection to a server has ended, which it has not noticed */
	bool		 hailing[ACTOR_SERVERS];	/* it has said hello on a new connection */
};

/* Also after a death: it knows nothing but its rank and, in a synchronous job, what its memory has. */
void	 actor_start(struct actor *a);
/* A server's welcome was taken: what follows on a connection that was made again. */
void	 actor_welcomed(struct actor *a, uint32_t s);
/* One small thing that it can do now. */
void	 actor_turn(struct actor *a);
/* What rank r adds to its figures in a step, whose sums are the same in any order; what it gives to a sum at a step. */
double	 actor_figure(const struct world *x, uint32_t r, uint64_t step);
double	 actor_given(const struct world *x, uint32_t r, uint64_t step, enum actor_sum what);

#endif
