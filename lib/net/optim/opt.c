/* opt - optimizer update rules over any range of weights. */
#include "net/optim/opt.h"

#include "base/isa.h"

#include <math.h>
#include <string.h>

/*
 * Division by n is a multiplication by (float)(1 / n), the same for every element.  Floats are added and multiplied in
 * the order written, without fused multiply-adds (-ffp-contract=off in the Makefile), so the vector width changes no
 * bit.
 */

static const struct {
	const char	*name;
	uint32_t	 states;
	const char	*tail[OPT_STATES];
	float		 momentum, beta2, eps;
	unsigned	 needs;
} rules[OPT_RULES] = {
	[OPT_SGD] = { "sgd", 1, { ":momentum" }, 0.9f, 0, 0, 0 },
	[OPT_NESTEROV] = { "nesterov", 1, { ":momentum" }, 0.9f, 0, 0, 0 },
	[OPT_ADAM] = { "adam", 2, { ":exp_avg", ":exp_avg_sq" }, 0.9f, 0.999f, 1e-8f, 0 },
	[OPT_ADAMW] = { "adamw", 2, { ":exp_avg", ":exp_avg_sq" }, 0.9f, 0.999f, 1e-8f, 0 },
	[OPT_RMSPROP] = { "rmsprop", 2, { ":square_avg", ":momentum" }, 0, 0.99f, 1e-8f, 0 },
	[OPT_LARS] = { "lars", 1, { ":momentum" }, 0.9f, 0, 0, OPT_NORMS },
	[OPT_DESCENT] = { "descent", 0, { NULL }, 0, 0, 0, 0 },
	[OPT_MUON] = { "muon", 1, { ":momentum" }, 0.95f, 0.9f, 1e-7f, OPT_WHOLE },
};

unsigned
opt_needs(const struct opt_hyper *h)
{
	return rules[h->rule].needs | (h->clip_norm > 0 ? OPT_NORM : 0);
}

void
opt_usual(enum opt_rule rule, struct opt_hyper *h)
{
	h->rule = rule;
	h->momentum = rules[rule].momentum;
	h->beta2 = rules[rule].beta2;
	h->eps = rules[rule].eps;
	h->trust = rule == OPT_LARS ? 0.001f : 0;
	h->turns = rule == OPT_MUON ? 5 : 0;
}

const char *
opt_name(enum opt_rule rule)
{
	return rules[rule].name;
}

bool
opt_find(const char *name, enum opt_rule *rule)
{
	for (int i = 0; i < OPT_RULES; i++)
		if (strcmp(name, rules[i].name) == 0) {
			*rule = (enum opt_rule)i;
			return true;
		}
	return false;
}

uint32_t
opt_states(enum opt_rule rule)
{
	return rule < OPT_RULES ? rules[rule].states : 0;
}

const char *
opt_tail(enum opt_rule rule, uint32_t i)
{
	return i < opt_states(rule) ? rules[rule].tail[i] : NULL;
}

bool
opt_is_state(const char *name, size_t *stem)
{
	const char *tail = strrchr(name, ':');

	for (int r = 0; tail != NULL && r < OPT_RULES; r++)
		for (uint32_t i = 0; i < rules[r].states; i++)
			if (strcmp(tail, rules[r].tail[i]) == 0) {
				*stem = (size_t)(tail - name);
				return true;
			}
	return false;
}

/* Constants of a step. */
struct step {
	float scale, lr, momentum, wd, clip, l1, beta2, eps;
	float rate, root;	/* adam: lr / (1 - b1^t), sqrt(1 - b2^t) */
};

/* The gradient of one weight: divided, clipped (a NaN stays NaN) and with weight decay. */
ISA_INLINE float
prepare_gradient(float g, float w, const struct step *s, bool rare)
{
	float d = g * s->scale;

	if (rare) {
		d = d > s->clip ? s->clip : d;
		d = d < -s->clip ? -s->clip : d;
	}
	d = d + s->wd * w;
	return rare ? d + s->l1 * (float)((w > 0) - (w < 0)) : d;
}

/* In the loops below an element depends on no other, so that the new arrays may be the old ones. */

ISA_INLINE void
step_sgd(const float *w, const float *m, float *to_w, float *to_m, const float *g, size_t count, const struct step s,
    bool rare)
{
	#pragma omp simd
	for (size_t i = 0; i < count; i++) {
		float v = s.momentum * m[i] - s.lr * prepare_gradient(g[i], w[i], &s, rare);

		to_m[i] = v;
		to_w[i] = w[i] + v;
	}
}

ISA_INLINE void
step_descent(const float *w, float *to_w, const float *g, size_t count, const struct step s, bool rare)
{
	#pragma omp simd
	for (size_t i = 0; i < count; i++)
		to_w[i] = w[i] - s.lr * prepare_gradient(g[i], w[i], &s, rare);
}

ISA_INLINE void
step_nesterov(const float *w, const float *m, float *to_w, float *to_m, const float *g, size_t count,
    const struct step s, bool rare)
{
	#pragma omp simd
	for (size_t i = 0; i < count; i++) {
		float d = prepare_gradient(g[i], w[i], &s, rare), v = s.momentum * m[i] + d;

		to_m[i] = v;
		to_w[i] = w[i] - s.lr * (d + s.momentum * v);
	}
}

ISA_INLINE void
step_adam(const float *w, const float *mv, float *to_w, float *to_mv, const float *g, size_t count,
    const struct step s, float shrink, bool rare)
{
	#pragma omp simd
	for (size_t i = 0; i < count; i++) {
		float d = prepare_gradient(g[i], w[i], &s, rare), m, v;

		m = s.momentum * mv[2 * i] + (1 - s.momentum) * d;
		v = s.beta2 * mv[2 * i + 1] + (1 - s.beta2) * d * d;
		to_mv[2 * i] = m;
		to_mv[2 * i + 1] = v;
		to_w[i] = w[i] * shrink - s.rate * m / (sqrtf(v) / s.root + s.eps);
	}
}

ISA_INLINE void
step_rmsprop(const float *w, const float *vm, float *to_w, float *to_vm, const float *g, size_t count,
    const struct step s, bool rare)
{
	#pragma omp simd
	for (size_t i = 0; i < count; i++) {
		float d = prepare_gradient(g[i], w[i], &s, rare), m, v;

		v = s.beta2 * vm[2 * i] + (1 - s.beta2) * d * d;
		m = s.momentum * vm[2 * i + 1] + d / (sqrtf(v) + s.eps);
		to_vm[2 * i] = v;
		to_vm[2 * i + 1] = m;
		to_w[i] = w[i] - s.lr * m;
	}
}

ISA_CLONES(extern, void, opt_step_to, (const float *w, const float *state, const float *g, size_t count, double n,
    const struct opt_hyper *h, float *to_w, float *to_state), (w, state, g, count, n, h, to_w, to_state))
{
	struct step s = { (float)(1 / n), h->lr, h->momentum, h->wd, h->clip > 0 ? h->clip : INFINITY, h->l1, h->beta2,
		h->eps, 0, 0 };
	bool rare = h->clip > 0 || h->l1 > 0;
	float shrink = 1;

	switch (h->rule) {
	case OPT_SGD:
	case OPT_LARS:
		rare ? step_sgd(w, state, to_w, to_state, g, count, s, true) :
		    step_sgd(w, state, to_w, to_state, g, count, s, false);
		break;
	case OPT_MUON:
		s.momentum = h->beta2;
		/* FALLTHROUGH */
	case OPT_NESTEROV:
		rare ? step_nesterov(w, state, to_w, to_state, g, count, s, true) :
		    step_nesterov(w, state, to_w, to_state, g, count, s, false);
		break;
	case OPT_ADAMW:
		shrink = 1 - h->lr * h->wd;
		s.wd = 0;
		/* FALLTHROUGH */
	case OPT_ADAM:
		s.rate = (float)((double)h->lr / (1 - pow((double)h->momentum, (double)h->t)));
		s.root = (float)sqrt(1 - pow((double)h->beta2, (double)h->t));
		rare ? step_adam(w, state, to_w, to_state, g, count, s, shrink, true) :
		    step_adam(w, state, to_w, to_state, g, count, s, shrink, false);
		break;
	case OPT_RMSPROP:
		rare ? step_rmsprop(w, state, to_w, to_state, g, count, s, true) :
		    step_rmsprop(w, state, to_w, to_state, g, count, s, false);
		break;
	case OPT_DESCENT:
		rare ? step_descent(w, to_w, g, count, s, true) : step_descent(w, to_w, g, count, s, false);
		break;
	case OPT_FOLD:
		opt_fold_to(w, g, count, n, h->momentum, to_w);
		break;
	}
}

void
opt_step(float *w, float *state, const float *g, size_t count, double n, const struct opt_hyper *h)
{
	opt_step_to(w, state, g, count, n, h, w, state);
}

ISA_CLONES(extern, void, opt_fold_to, (const float *w, const float *g, size_t count, double n, float momentum,
    float *to_w), (w, g, count, n, momentum, to_w))
{
	const float scale = (float)(1 / n), rest = 1 - momentum;

	#pragma omp simd
	for (size_t i = 0; i < count; i++)
		to_w[i] = momentum * w[i] + rest * (g[i] * scale);
}

void
opt_add(float *sum, const float *g, size_t count)
{
	opt_add_to(sum, g, count, sum);
}

ISA_CLONES(extern, void, opt_add_to, (const float *sum, const float *g, size_t count, float *to_sum),
    (sum, g, count, to_sum))
{
	#pragma omp simd
	for (size_t i = 0; i < count; i++)
		to_sum[i] = sum[i] + g[i];
}

double
opt_shrink(double norm, const struct opt_hyper *h)
{
	double shrink = (double)h->clip_norm / (norm + 1e-6);

	return h->clip_norm > 0 && !(shrink >= 1) ? shrink : 1;
}

double
opt_trust(double w, double d, double wd, const struct opt_hyper *h)
{
	return w == 0 || d == 0 ? 1 : (double)h->trust * w / (d + wd * w + (double)h->eps);
}
