/*
 * world - a whole job in one thread: the state machines of workers and servers over a network in memory.
 *
 * One integer decides everything: the shape of the job, who pushes what, which
 * message comes next, what comes twice and who dies.  Gradients depend on the
 * weights that a worker sees, so that a wrong float anywhere is still seen at
 * the end.
 */
#ifndef TESTS_LAW_WORLD_H
#define TESTS_LAW_WORLD_H

#include "law/actor.h"
#include "law/changes.h"
#include "law/draw.h"
#include "law/pair.h"

#include "base/err.h"
#include "net/freeze.h"
#include "ps/server/server_state.h"

#define WORLD_WORKERS	5	/* most of each */
#define WORLD_SERVERS	4
#define WORLD_BAD	3	/* jobs that fail before a test gives up */

struct host {
	struct world	*world;
	uint32_t	 index;
	struct server_state	*server;
	struct durable	 memory;
};

struct world {
	uint64_t	 seed;
	bool		 trace;		/* print each message and death */
	struct rng	 chance;
	struct graph	*graph;
	struct pair	*net;
	uint32_t	 W, S, slack, backup, slice;
	bool		 counting;	/* gradients of 1, for which any order gives the same bits */
	uint32_t	 repeats, crashes, stops;	/* in a thousand turns; crashes: deaths of workers */
	bool		 lends;		/* gradients and weights are read where they are */
	uint32_t	 full;		/* of a thousand answers, those that find no room and wait */
	const char	*freeze;	/* a rule of net/freeze.h, or NULL */
	const char	*codec;		/* rules of ps/shard_plan.h, or NULL */
	char		 rules[128];	/* both */
	uint64_t	 floats;	/* that the workers pushed and got back in their steps, repeats counted */
	/* Synchronous: steps of a worker's own optimizer in a step of the job; 0: the servers' alone */
	uint32_t	 local;
	struct opt_hyper local_hyper;
	/* Synchronous: a worker has the samples of its share, 0: nobody has begun the step yet. */
	bool		 shares;
	uint32_t	 share[ACTOR_STEPS][WORLD_WORKERS];
	uint32_t	 accumulate;	/* micro-batches a step of worker 0 alone; 1: none */
	struct opt_hyper hyper;
	struct actor	 actor[WORLD_WORKERS];
	struct host	 host[WORLD_SERVERS];
	uint64_t	 taken, late;	/* gradients of slices in steps, and those that came too late, with backup workers */
	uint64_t	 furthest;	/* most steps anybody was ahead */
	unsigned	 died, killed;	/* workers, servers */
	uint32_t	 kills;		/* in a thousand turns: a server will die, most often within an update */
	uint32_t	 sets;		/* in a thousand turns: worker 0 is to ask for other settings */
	struct changes	 changes;
	char		 why[256];	/* the first fault */
};

/* 2 layers, with batch norm between them if asked: P 53 or 43. */
struct graph *world_graph(bool bn);
/* The same with k outputs of the first layer in place of 5. */
struct graph *world_graph_of(bool bn, uint32_t k);

/* A synchronous job, drawn from the seed. */
struct world world_draw(uint64_t seed);
/* The same for the net of x, its processes, slices, frozen arrays and codec alone: `least` workers or more; ones: as
 * in draw.h. */
void	 world_draw_job(struct world *x, struct rng *c, uint32_t least, bool ones);
/* Applies `freeze` to the graph and sets `rules`. */
void	 world_rules(struct world *x);

/* Notes what went wrong, if it is the first. */
void	 world_fault(struct world *x, const char *what);

/* How many samples rank r has in a step, and in one of its own steps, none now and then, and the step's rate. */
uint32_t world_micro(const struct world *x, uint32_t r, uint64_t step, uint32_t k);
uint32_t world_samples(const struct world *x, uint32_t r, uint64_t step);
float	 world_rate(const struct world *x, uint64_t step);
/* The gradient of rank r (1), batch statistics (2), or the gradient of its own step k, as a function of what it sees. */
#define WORLD_MICRO	3u	/* + k */
void	 world_gradient(const struct world *x, uint32_t r, uint64_t step, const float *w, float *g, size_t n, unsigned what);
/* What rank r adds to a sum. */
double	 world_number(const struct world *x, uint32_t r, uint64_t step);
void	 world_first(const struct world *x, float *w, float *aux, float *state);

/* x's fields down to `hyper` say what is wanted. */
void	 world_open(struct world *x, uint64_t steps);
void	 world_close(struct world *x);
/* One thing happens. */
void	 world_turn(struct world *x);
/* Runs to the end, or to a fault.  Returns whether all went well. */
bool	 world_run(struct world *x);
/* The weights, and state [P, states] when not NULL, of all servers joined. */
void	 world_join(const struct world *x, float *w, float *aux, float *state);
/*
 * With gradients for counting: whether each weight that learns has lost what they make in so many steps of each worker,
 * times their rates.  In a job that is not synchronous a step that was repeated may have had another rate.
 */
bool	 world_counted(struct world *x, const float *w, uint64_t steps);
bool	 world_counts(struct world *x, uint64_t steps);	/* the same for the weights of all servers joined */
/* n zeros, to be freed. */
float	*world_floats(size_t n);

#endif
