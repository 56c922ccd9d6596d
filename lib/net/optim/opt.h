/*
 * opt - optimizer update rules over any range of weights.
 *
 * lib/net/optim turns gradients into weights.  Read it in this order: opt; muon (its rule for matrices); norm (of
 * gradients and weights); sched (the learning rate over time); average (of weights).
 *
 * The caller passes the sum of the gradients of n samples and decides the order of that sum; opt divides by n.  Updates
 * are elementwise and in a fixed order: equal input gives equal bits on every machine, however a range is split.
 * Threads: disjoint ranges at the same time.
 *
 * With d = g / n, each element clipped to [-clip, clip], and t the number of the update, from 1:
 *
 * 	sgd		m = momentum m - lr (d + wd w);  w = w + m
 * 	descent		w = w - lr (d + wd w), which is sgd without momentum
 * 	nesterov	d = d + wd w;  m = momentum m + d;  w = w - lr (d + momentum m)
 * 	adam		d = d + wd w, then as adamw without its first step
 * 	adamw		w = w - lr wd w;  m = b1 m + (1 - b1) d;  v = b2 v + (1 - b2) d^2;
 * 			w = w - lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)
 * 	rmsprop		d = d + wd w;  v = b2 v + (1 - b2) d^2;  m = momentum m + d / (sqrt(v) + eps);  w = w - lr m
 * 	lars		sgd with lr trust |w| / (|d| + wd |w| + eps), |.| being the norm of a whole array
 * 			before clipping; lr alone for arrays of one dimension and if a norm is 0
 * 	muon		matrices: net/optim/muon.h; all else: nesterov with b2 as momentum
 *
 * b1 is momentum.  l1 adds l1 sign(w), the gradient of l1 |w| in a loss, to d after wd w; clipping does not include it.
 * With clip_norm, d is first multiplied by clip_norm / (|all d| + 1e-6) if that is less than 1.
 *
 * d is clipped before weight decay, as in clip_grad_value_() and MXNet's SGD.  MXNet differs elsewhere.  Its Adam and
 * RMSProp clip after the decay.  Its Adam adds eps to sqrt(v) before the bias correction, its RMSProp inside the root.
 * Its NAG decays m by the weights after the update, and its m includes the learning rates, as sgd's.
 *
 * Sources: sgd: MXNet, optimizer.py, 2015 and 1.9.1.  lars: You, Gitman and Ginsburg, "Large Batch Training of
 * Convolutional Networks", 2017, algorithm 1, with the exceptions of MXNet's LARS.  All others: PyTorch, torch/optim
 * and clip_grad_norm_; Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019.
 *
 * A rule keeps opt_states() floats for each weight, side by side: state f32 [count, states], or NULL without any.
 */
#ifndef NET_OPTIM_OPT_H
#define NET_OPTIM_OPT_H

#include "net/optim/average.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum opt_rule {
	OPT_SGD, OPT_NESTEROV, OPT_ADAM, OPT_ADAMW, OPT_RMSPROP, OPT_LARS, OPT_MUON, OPT_DESCENT,
	OPT_RULES,
	OPT_FOLD = OPT_RULES	/* running statistics: w = momentum * w + (1 - momentum) * g / n; no state */
};

#define OPT_TAIL	32u	/* more bytes than the longest suffix of a tensor's name */
#define OPT_TURNS	100u	/* most Newton-Schulz iterations */
#define OPT_STATES	2u	/* most floats of state per weight */

struct opt_hyper {
	enum opt_rule rule;
	float lr;
	float momentum;
	float wd;	/* weight decay */
	float clip;	/* 0: none */
	float l1;
	float beta2, eps;
	float clip_norm;	/* 0: none */
	float trust;	/* lars */
	uint32_t turns;	/* muon: Newton-Schulz iterations */
	bool unit;	/* muon: scale each matrix to |w| = sqrt(rows) before an update */
	struct average average;	/* average of the weights; not part of an update */
	uint64_t t;	/* the number of this update, from 1; adam and adamw read it */
};

/* What an update needs beyond one range of floats: bits. */
#define OPT_NORM	1u	/* the norm of all gradients */
#define OPT_NORMS	2u	/* the norms of each array's weights and gradient */
#define OPT_WHOLE	4u	/* whole matrices */
unsigned opt_needs(const struct opt_hyper *h);

/*
 * Sets rule, momentum, beta2, eps, trust and turns to the defaults: momentum 0.9; adam, adamw beta2 0.999, eps 1e-8;
 * rmsprop momentum 0, beta2 0.99, eps 1e-8; lars trust 0.001; muon momentum 0.95, beta2 0.9, eps 1e-7, 5 turns.
 */
void	 opt_usual(enum opt_rule rule, struct opt_hyper *h);
const char *opt_name(enum opt_rule rule);
bool	 opt_find(const char *name, enum opt_rule *rule);
uint32_t opt_states(enum opt_rule rule);
/* The suffix of a tensor's name for state i < opt_states(), for example ":momentum"; NULL for others. */
const char *opt_tail(enum opt_rule rule, uint32_t i);
/* Whether a tensor's name ends in the suffix of any rule; *stem is the length of the name before it. */
bool	 opt_is_state(const char *name, size_t *stem);

/*
 * Performs one update of w, g [count], state [count, states].  Ignores clip_norm: see opt_shrink().  For lars, h->lr
 * must include opt_trust().  For muon, it is the update of arrays that are not matrices.
 */
void	 opt_step(float *w, float *state, const float *g, size_t count, double n, const struct opt_hyper *h);
/* The same, but writes the new weights and state to other arrays, or to the same ones; no other overlap is allowed. */
void	 opt_step_to(const float *w, const float *state, const float *g, size_t count, double n,
	     const struct opt_hyper *h, float *to_w, float *to_state);

/* Adds a gradient to a sum. */
void	 opt_add(float *sum, const float *g, size_t count);
/* The same, but writes the new sum to another array, or to g. */
void	 opt_add_to(const float *sum, const float *g, size_t count, float *to_sum);

/* The factor of all gradients by clip_norm if their mean has that norm. */
double	 opt_shrink(double norm, const struct opt_hyper *h);
/* The factor of an array's rate in lars; w and d are the norms of its weights and of its gradient. */
double	 opt_trust(double w, double d, double wd, const struct opt_hyper *h);

/* Updates batch norm's statistics, to_w = momentum * w + (1 - momentum) * g / n, which may be w.  w, g [count]. */
void	 opt_fold_to(const float *w, const float *g, size_t count, double n, float momentum, float *to_w);

#endif
