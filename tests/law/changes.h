/*
 * changes - settings that change while a job in memory runs (ps/settings.h): what worker 0 asks for, and what all
 * workers hear of it.
 *
 * All workers have the same changes.  In a synchronous job no step begins before its worker has heard of all that hold
 * in it, so that a job by hand that knows them from the start has the same bits.
 */
#ifndef TESTS_LAW_CHANGES_H
#define TESTS_LAW_CHANGES_H

#include "base/rng.h"
#include "net/optim/opt.h"
#include "ps/settings.h"

struct changes {
	uint32_t	 kinds;		/* SETTING_ bits that may change; 0: none */
	bool		 counting;	/* rates are powers of 2, and no other number rounds */
	bool		 sync;
	unsigned	 left;		/* requests that may still be made */
	uint64_t	 asked;		/* id of the last request */
	struct setting	 wanted;	/* the request that is not decided yet; id 0: there is none */
	struct settings	 heard;		/* in the order of their numbers, as the worker that heard of each first has them */
	uint64_t	 begun;		/* synchronous: 1 + the last step that any worker began */
};

/* What may change in a job with these rules and this slack, but not how often: `left`. */
void	 changes_open(struct changes *c, const struct opt_hyper *h, const char *rules, uint32_t slack, bool counting);
/* Draws a request, unless one is not decided yet or there were enough.  Returns whether it did. */
bool	 changes_want(struct changes *c, struct rng *r);
/* The request that worker 0 is to make, or NULL.  It has heard of `has`, and its last one in this life has id *asked. */
const struct setting *changes_wanted(struct changes *c, const struct settings *has, uint64_t *asked);
/* A worker has heard of these, or begins a step with them.  Returns NULL, or what is wrong. */
const char *changes_hear(struct changes *c, const struct settings *has);
const char *changes_begin(struct changes *c, const struct settings *has, uint64_t step);
/* The rate of a step, which is `usual` if it does not change. */
float	 changes_rate(const struct settings *all, uint64_t step, float usual);
/* Notes it as one of those of the step: range has the least and the largest, zeros at first. */
void	 changes_note_rate(float range[2], float rate);
/* Adds the ranges of n steps to sum: the least and the largest sum of their rates. */
void	 changes_add_rates(float (*range)[2], uint64_t n, double sum[2]);
/* The optimizer of a step, without its rate. */
struct opt_hyper changes_hyper(const struct settings *all, uint64_t step, const struct opt_hyper *usual);
/* The codec of slices with `usual` in a step. */
struct codec changes_codec(const struct settings *all, uint64_t step, struct codec usual);
/* The largest slack so far.  Servers follow a request before any worker hears that it is decided. */
uint32_t changes_slack(const struct changes *c, uint32_t usual);

#endif
