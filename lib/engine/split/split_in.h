/* split_in - what the files of split share: the devices, and a plan of plans. */
#ifndef ENGINE_SPLIT_SPLIT_IN_H
#define ENGINE_SPLIT_SPLIT_IN_H

#include "engine/split/split.h"

#include <pthread.h>

struct engine_dev {
	uint32_t n;
	struct split_part {
		const struct engine *engine;
		struct engine_dev   *dev;
		uint32_t	     index;
	} part[SPLIT_MOST];
	bool	 joined;	/* the devices add up gradients themselves ... */
	char	 why[256];	/* why they do not, where they might have */
};

enum split_job { SPLIT_FORWARD, SPLIT_BACKWARD, SPLIT_EVALUATE, SPLIT_END };

/* One device's side of a plan; lane 0 runs on the caller's thread. */
struct split_lane {
	struct engine_plan *all;
	uint32_t	 k;
	const struct engine *engine;
	struct engine_plan *plan;
	float		*g, *stats;	/* [P], of lane 0 the caller's; [A] */
	uint64_t	*have;		/* [nw] which version of an array the plan has */
	bool		*born;		/* [nw] in this pass */
	bool		 busy;
	int		 err;		/* of the last pass, and its line */
	char		 why[512];
	struct samples	 in;
	uint32_t	 first;		/* of the batch's samples */
	struct engine_result result;
	pthread_t	 thread;
	bool		 runs;		/* thread is there */
};

/* `lock` guards what lanes tell each other: job, busy, passed, born, stop. */
struct engine_plan {
	struct engine_dev *dev;
	const struct graph *graph;
	uint32_t	 each;		/* samples of the largest part */
	struct split_lane lane[SPLIT_MOST];
	uint32_t	 n;		/* lanes, */
	uint32_t	 used;		/* by the batch forward() saw last; 0: there is none */
	bool		 joined;	/* this pass backward is that of joined devices */
	float		*w;		/* [P] as loaded */
	uint64_t	*version;	/* [nw] how often */
	pthread_mutex_t	 lock;
	pthread_cond_t	 turn;
	enum split_job	 job;
	bool		*passed;	/* [nw] the caller's hook has seen to the array in this pass */
	bool		 stop;		/* lane 0 gave this pass up */
	const struct engine_hook *hook;	/* the caller's, or NULL */
	struct engine_draw draw;
	float		*prob;
};

/* split_pass.c: as struct engine has them. */
int	 split_load(struct engine_plan *p, uint32_t a, const float *w);
int	 split_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
	     const struct engine_hook *hook, struct engine_result *result);
int	 split_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook);
void	 split_prefetch(struct engine_plan *p, const struct samples *s);
int	 split_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob);
/* What the thread of a lane behind the first does, until SPLIT_END. */
void	*split_lane_main(void *lane);

#endif
