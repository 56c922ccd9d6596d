/* split_in - what the files of split share: the devices, and a plan made of one plan for each device. */
#ifndef ENGINE_SPLIT_SPLIT_IN_H
#define ENGINE_SPLIT_SPLIT_IN_H

#include "base/err.h"
#include "engine/split/split.h"

#include <pthread.h>

struct engine_dev {
	uint32_t n;
	struct split_part {
		const struct engine *engine;
		struct engine_dev   *dev;
		uint32_t	     index;
	} part[SPLIT_MOST];
	bool	 joined;	/* the devices add gradients themselves */
	char	 why[ERR_LINE];	/* the remark of split_remark(), or "" */
};

enum split_job { SPLIT_FORWARD, SPLIT_BACKWARD, SPLIT_EVALUATE, SPLIT_SETTLE, SPLIT_END };

/* One device's part of a plan.  Lane 0 runs on the caller's thread. */
struct split_lane {
	struct engine_plan *all;
	uint32_t	 k;		/* its number */
	const struct engine *engine;
	struct engine_plan *plan;
	float		*g, *stats;	/* [P], the caller's for lane 0; [A] */
	uint64_t	*loaded;	/* [nw] version of each array in plan */
	bool		*grad_ready;	/* [nw] in this pass */
	bool		 busy;
	int		 err;		/* result of the last pass */
	char		 why[ERR_LINE];	/* line of that error */
	struct samples	 in;		/* its part of the batch */
	uint32_t	 first;		/* number of its first sample in the batch */
	struct engine_result result;
	pthread_t	 thread;
	bool		 threaded;	/* thread runs */
};

/* `lock` guards job, stop, param_ready, and busy and grad_ready of the lanes; `changed` follows each change of them. */
struct engine_plan {
	struct engine_dev *dev;
	const struct graph *graph;
	uint32_t	 each;		/* samples of the largest part */
	struct split_lane lane[SPLIT_MOST];
	uint32_t	 n;		/* lanes */
	uint32_t	 used;		/* lanes that forward() used; 0: backward() has no batch */
	bool		 joined;	/* the devices add the gradients of this pass */
	bool		 learning;	/* the device optimizer of each lane runs */
	float		*w;		/* [P] as loaded */
	uint64_t	*version;	/* [nw] how often each array was loaded */
	pthread_mutex_t	 lock;
	pthread_cond_t	 changed;
	enum split_job	 job;
	bool		*param_ready;	/* [nw] the caller's hook has returned for the array in this pass */
	bool		 stop;		/* lane 0 failed in this pass */
	const struct engine_hook *hook;	/* the caller's, or NULL */
	struct engine_draw draw;
	float		*prob;
};

/* split_pass.c: as in struct engine. */
int	 split_load(struct engine_plan *p, uint32_t a, const float *w);
/* Loads the arrays that have changed into the plan of a lane. */
int	 split_load_lane(struct split_lane *l);
int	 split_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
	     const struct engine_hook *hook, struct engine_result *result);
int	 split_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook);
void	 split_prefetch(struct engine_plan *p, const struct samples *s);
int	 split_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob);
/* All lanes complete what their device optimizers have put off. */
int	 split_settle(struct engine_plan *p);
/* split_opt.c: the device optimizer of devices that are joined. */
extern const struct engine_device_opt split_device_opt;
/* The thread of a lane other than 0: runs passes until SPLIT_END. */
void	*split_lane_main(void *lane);

#endif
