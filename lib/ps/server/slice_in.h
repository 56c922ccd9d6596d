/* slice_in - what the files of slice share: the pushes of the open step. */
#ifndef PS_SERVER_SLICE_IN_H
#define PS_SERVER_SLICE_IN_H

#include "ps/server/slice.h"

#include <string.h>

struct slice_part {
	/* Gradient held until its turn, or the buffer in which it is received.  NULL: none, or added already. */
	float	*g;
	const float *lent;	/* instead of g: a gradient in the worker's memory; or NULL */
	uint32_t samples;
	bool	 here;		/* it has pushed in the open step */
	/*
	 * Not synchronous: the updates in the weights that it was sent last; SLICE_NONE: not known.  With backup
	 * workers: 1 + the last step whose gradient was counted.
	 */
	uint64_t read;
	float	 behind;	/* updates that its last gradient was behind; MSG_UNKNOWN: not known, or sent already */
};

/* The codec of the gradient that m carries. */
static inline struct codec
slice_codec(const struct slice *s, const struct msg *m)
{
	return shard_plan_codec(s->at, m, s->stale.slack == STALE_SYNC);
}

static inline uint32_t
slice_count_states(const struct slice *s)
{
	return s->at->kind == SHARD_PLAN_WEIGHTS ? opt_states(s->hyper.rule) : 0;
}

static inline void
slice_copy_floats(float *to, const float *from, size_t n)
{
	if (to != from && n > 0)
		memcpy(to, from, n * sizeof(float));
}

static inline void
slice_note_stored(const struct slice *s, float *p, size_t n)
{
	if (n > 0)
		memory_report_change(s->memory, p, n * sizeof(float));
}

/*
 * slice_rule.c: updates the slice into half `to` with g, the sum over n samples, which belong to step `step`; k is NULL
 * if no norms are needed.
 */
void	 slice_apply_rule(struct slice *s, unsigned to, const float *g, uint64_t n, uint64_t step,
	     const struct norms_scale *k);
/* Follows an update into half `to`; any: it had samples. */
void	 slice_update_average(struct slice *s, unsigned to, bool any);

/* slice_part.c: whether the gradient of m may be read where it is. */
bool	 slice_lent(const struct slice *s, const struct msg *m);
/*
 * Holds the gradient of m, which is lent, or in a buffer: that in which it was received, or another.  Returns false if
 * out of memory.
 */
bool	 slice_hold(struct slice *s, const struct msg *m);
/* Gives the buffer of worker w back: its message has no gradient. */
void	 slice_release(struct slice *s, uint32_t w);
/* Adds the gradient that worker w has pushed, if any: the first one becomes the sum. */
void	 slice_add(struct slice *s, uint32_t w);

#endif
