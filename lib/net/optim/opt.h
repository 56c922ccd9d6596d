/*
 * opt - the rules by which a gradient changes weights, over any range of floats.
 *
 * The sum of the gradients of n samples comes in; it is divided here, so that
 * who summed what in which order stays the caller's.  Element by element and
 * in one order: equal input gives equal bits on every machine, however a range
 * is cut.  Threads: ranges that do not overlap may be updated at once.
 *
 * With d = g / n, each cut to [-clip, clip], and t the number of the update, from 1:
 *
 *	sgd		m = momentum m - lr (d + wd w);  w = w + m
 *	nesterov	d = d + wd w;  m = momentum m + d;  w = w - lr (d + momentum m)
 *	adam		d = d + wd w, then as adamw without its first step
 *	adamw		w = w - lr wd w;  m = b1 m + (1 - b1) d;  v = b2 v + (1 - b2) d^2;
 *			w = w - lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)
 *	rmsprop		d = d + wd w;  v = b2 v + (1 - b2) d^2;  m = momentum m + d / (sqrt(v) + eps);  w = w - lr m
 *	lars		sgd with lr trust |w| / (|d| + wd |w| + eps), |.| being the norms of a whole array before it is cut; with lr
 *			alone for arrays of one dimension and where a norm is 0
 *	muon		matrices: net/optim/muon.h; all else: nesterov with b2 as momentum
 *
 * l1 adds l1 sign(w) to d behind wd w, the gradient of l1 |w| in a loss, which clipping does not see.  b1 is momentum.  With
 * clip_norm d is first multiplied by clip_norm / (|all d| + 1e-6), if that is less than 1.
 * d is cut before it decays, as clip_grad_value_() and MXNet's SGD cut it.  What MXNet does otherwise: its Adam and RMSProp cut
 * what has decayed, Adam adds eps to sqrt(v) before that is corrected, RMSProp within the root; its NAG decays m by the weights
 * behind the update, and m holds the rates that it was summed at, as sgd's.
 * Sources: sgd: MXNet, optimizer.py, 2015, and 1.9.1's; lars: You, Gitman and Ginsburg, "Large Batch Training of Convolutional
 * Networks", 2017, algorithm 1, and what MXNet's LARS leaves out of it; all others: PyTorch, torch/optim and
 * clip_grad_norm_; Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019.
 *
 * What a rule keeps of a weight are opt_states() floats that stand together: state f32 [count, states].
 */
#ifndef NET_OPTIM_OPT_H
#define NET_OPTIM_OPT_H

#include "net/optim/average.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum opt_rule {
	OPT_SGD, OPT_NESTEROV, OPT_ADAM, OPT_ADAMW, OPT_RMSPROP, OPT_LARS, OPT_MUON,
	OPT_RULES,
	OPT_FOLD = OPT_RULES	/* running statistics: w = momentum * w + (1 - momentum) * g / n; no state */
};

#define OPT_TAIL	32u	/* more bytes than the longest tail of a tensor's name */
#define OPT_TURNS	100u	/* most Newton-Schulz steps */
#define OPT_STATES	2u	/* most floats of state a weight */

struct opt_hyper {
	enum opt_rule rule;
	float lr;
	float momentum;
	float wd;	/* weight decay */
	float clip;	/* 0: not */
	float l1;
	float beta2, eps;
	float clip_norm;	/* 0: not */
	float trust;	/* lars */
	uint32_t turns;	/* muon: Newton-Schulz steps */
	bool unit;	/* muon: each matrix begins an update with rows of norm 1 in the mean */
	struct average average;	/* of the weights; no part of an update */
	uint64_t t;	/* the number of this update, from 1; adam and adamw read it */
};

/* What an update must know beside one range of floats: bits. */
#define OPT_NORM	1u	/* the norm of all gradients */
#define OPT_NORMS	2u	/* the norms of each array, of its weights and of its gradient */
#define OPT_WHOLE	4u	/* matrices as a whole */
unsigned opt_needs(const struct opt_hyper *h);

/*
 * Sets rule, momentum, beta2, eps, trust and turns to what is usual: momentum 0.9; adam, adamw 0.999 1e-8; rmsprop 0 0.99
 * 1e-8; lars trust 0.001; muon 0.95, beta2 0.9, eps 1e-7, 5 turns.
 */
void	 opt_usual(enum opt_rule rule, struct opt_hyper *h);
const char *opt_name(enum opt_rule rule);
bool	 opt_find(const char *name, enum opt_rule *rule);
uint32_t opt_states(enum opt_rule rule);
/* What is put behind a tensor's name for state i < opt_states(): ":momentum". */
const char *opt_tail(enum opt_rule rule, uint32_t i);
/* Whether a tensor's name ends in the tail of any rule; *stem is how many bytes stand before it. */
bool	 opt_is_state(const char *name, size_t *stem);

/*
 * One update.  w, g [count], state [count, states].  For lars the norms are in h->lr already; of clip_norm only opt_shrink()
 * knows; for muon it is the rule of what is no matrix.
 */
void	 opt_step(float *w, float *state, const float *g, size_t count, double n, const struct opt_hyper *h);

/* What all gradients are multiplied by when their mean has that norm. */
double	 opt_shrink(double norm, const struct opt_hyper *h);
/* What lars multiplies the rate of an array by; w and d are the norms of its weights and of its gradient. */
double	 opt_trust(double w, double d, double wd, const struct opt_hyper *h);

/* w = momentum * w + (1 - momentum) * g / n.  w, g [count]; batch norm's aux. */
void	 opt_fold(float *w, const float *g, size_t count, double n, float momentum);

#endif
