/* worker_state_in - the struct that the files of worker_state share. */
#ifndef PS_WORKER_WORKER_STATE_IN_H
#define PS_WORKER_WORKER_STATE_IN_H

#include "ps/deal.h"
#include "ps/norms.h"
#include "ps/settings.h"
#include "ps/staleness.h"
#include "ps/total.h"
#include "ps/worker/worker_state.h"

#define WORKER_ANY UINT64_MAX	/* whatever step the servers are at */

struct worker_part {
	uint32_t arrays;	/* number of arrays that overlap this slice */
	uint32_t left;		/* arrays not yet pushed in this step */
	bool	 waiting;	/* the worker waits for its weights of step `want` */
	bool	 asked;		/* its state, average or exact weights were requested */
	uint64_t want, got;	/* step awaited, and step of the last answer */
	const float *lent;	/* the weights where the server has them, until the next gradient; or NULL: staged */
	struct msg push;	/* the last gradient, repeated if it is not answered */
	uint8_t	*coded;		/* the payload of push if it is encoded; NULL: it never is */
};

struct worker_server {
	bool	 welcome, empty, kept, bye;
	uint64_t step;		/* step in its welcome */
};

/* The servers' parts of a step's norms, which the worker adds and sends to all servers (ps/norms.h). */
struct worker_norms {
	uint32_t n;		/* number of sums; 0: the optimizer needs none */
	uint64_t step;		/* step of the newest part */
	uint32_t missing;	/* servers whose part of that step has not arrived */
	bool	*has;		/* [nservers] the part has arrived */
	struct norm *sum;	/* [n] sums of the parts that have arrived */
	uint8_t	*bytes[2];	/* [n * NORM_BYTES] payloads of even and odd steps; older ones were answered */
};

struct worker_state {
	struct worker_state_opt o;
	const struct worker_opt *w;
	const struct graph *graph;
	struct shard_plan	*plan;
	struct worker_part *part;		/* [plan->n] */
	struct worker_server *link;		/* [nservers] */
	uint64_t	*pushed;	/* [nw] 1 + the step in which array a was pushed last */
	bool		*stale;		/* [nw] the array in w is older than the last push */
	uint32_t	*next;		/* [nw] the first slice of a stale array that is not in w yet; 0: any */
	bool		 aux_stale;	/* aux is older than the last statistics */
	float		*staged;	/* [P + A] received weights and statistics */
	float		*stats;		/* [A] statistics as pushed, weighted by samples */
	struct worker_residuals *residuals;	/* NULL: no codecs */
	struct worker_residuals *own_residuals;	/* the same if nothing outlives the worker, else NULL */
	struct memory	 own_memory;	/* the memory of own_residuals */
	uint32_t	 ncoded;	/* slices that are encoded in the open step */
	uint32_t	 uncoded;	/* slices whose residuals are not stored yet in this step */
	uint8_t		*coded;		/* the memory of part.coded */
	/* what was requested last, MSG_STATE_OF, MSG_AVERAGE_OF or MSG_EXACT, and where the answers go */
	uint16_t	 wants;
	float		*to;
	uint32_t	 averaged;	/* number of weights in it: the largest of all answers */
	bool		 marked;	/* the weights after the open step become part of the average */
	uint64_t	 step;		/* steps finished; in an elastic job the number of the next batch */
	uint64_t	 turn;		/* the same, but in an elastic job counted here: residuals alternate */
	struct deal	 deal;		/* in an elastic job: who computes which batch */
	struct settings	 settings;	/* changes of settings that are known */
	uint64_t	 passed;	/* how many of them the servers were told */
	uint8_t		*passed_bytes;	/* [SETTINGS_MOST * SETTING_BYTES] the same as bytes */
	uint8_t		 asked[SETTING_BYTES];	/* the change that this worker asks for */
	bool		 recodes;	/* the codec of the open step is `recoded`, not the plan's */
	struct codec	 recoded;
	uint64_t	 asks;		/* id of its request; 0: none, or decided */
	struct staleness staleness;	/* not synchronous: of the gradients that were answered */
	uint64_t	 updates;	/* not synchronous: updates of all workers, from the last answer */
	uint32_t	 n;		/* samples of the open step */
	float		 rate;
	bool		 last, stopping;	/* the job ends; this worker has sent a stop */
	bool		 begin_called, begin_done;	/* worker_state_begin() was called, and all has been received */
	struct worker_first first;	/* copy of the argument of worker_state_begin() */
	uint64_t	 first_step;	/* step of that call */
	uint64_t	 from;		/* the step of the weights that it requested */
	bool		 renewing;	/* with backup workers: the newest weights were requested as it is late */
	bool		 announced;	/* epoch `epoch` was announced */
	uint64_t	 epoch;
	bool		 parting;	/* it has said goodbye */
	struct worker_norms norms;
	/* Of the last sum: step, phase, index within the phase, count of numbers. */
	uint64_t	 sum_step;
	uint32_t	 sum_phase, sum_index, sum_n;
	bool		 summing;	/* the last sum has no answer yet */
	double		 sum[TOTAL_MOST];
};

/* A message of this worker to a server. */
void	 worker_state_emit(struct worker_state *ws, uint32_t server, struct msg m);
/* The array in w is older than what the servers have or will send. */
void	 worker_state_expect(struct worker_state *ws, uint32_t a);
/* Returns 1 and the server of a slice that is awaited, or 0. */
int	 worker_state_find_missing(const struct worker_state *ws, uint32_t *server);
/* worker_state_late.c: whether each answer belongs to one step, which all workers share. */
bool	 worker_state_exact_steps(const struct worker_state *ws);
/* WORKER_WAIT_STEP of worker_state_missing(). */
int	 worker_state_find_newest(struct worker_state *ws, uint32_t *server);
/* A message about slice i to its owner. */
void	 worker_state_emit_slice(struct worker_state *ws, uint32_t i, struct msg m);
/* worker_state_first.c: whether this worker supplies the first weights of slice i. */
bool	 worker_state_starts(const struct worker_state *ws, uint32_t i);
/* Requests the first weights of slice i.  The starter sends them before, and has them. */
void	 worker_state_start_slice(struct worker_state *ws, uint32_t i);

/* worker_state_set.c: tells a server all changes of settings that are known, and repeats a request. */
void	 worker_state_repeat_settings(struct worker_state *ws, uint32_t server);
/* Before the gradients of a step: tells all servers the changes that they may not know yet. */
void	 worker_state_pass_settings(struct worker_state *ws);
int	 worker_state_handle_set(struct worker_state *ws, uint32_t server, const struct msg *m);

/* worker_state_code.c: the codec of the gradient of slice i in the open step, and whether it is encoded then. */
struct codec worker_state_codec(const struct worker_state *ws, uint32_t i);
bool	 worker_state_encodes(const struct worker_state *ws, uint32_t i);
/* At the start of a step: sets its codec. */
void	 worker_state_choose_codec(struct worker_state *ws);
/* Room for gradients and residuals of slices with a codec.  Returns 0 or ERR_NOMEM. */
int	 worker_state_alloc_coded(struct worker_state *ws);
/* Carries the residual of slice i over a step without samples. */
void	 worker_state_keep_residual(struct worker_state *ws, uint32_t i);
/* In an elastic job, once the next batch is known: counts the steps as the predecessor did. */
void	 worker_state_resume_residuals(struct worker_state *ws);

#endif
