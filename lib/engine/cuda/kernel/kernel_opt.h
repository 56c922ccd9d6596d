/* kernel_opt - one update of weights; rules and bits as in net/optim/opt.h. */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_OPT_H
#define ENGINE_CUDA_KERNEL_KERNEL_OPT_H

/* adamw is adam with shrink < 1 */
enum kernel_rule { KERNEL_SGD, KERNEL_NESTEROV, KERNEL_ADAM, KERNEL_RMSPROP, KERNEL_DESCENT, KERNEL_FOLD };

/*
 * What changes with each update, for one parameter group. It is in GPU memory, where captured
 * kernels find the current values.
 */
struct kernel_rates {
	float	 scale, lr;	/* scale: 1 / n */
	/* adam: lr / (1 - b1^t), sqrt(1 - b2^t); adamw and Muon: 1 - lr wd */
	float	 rate, root, shrink;
};

/* Weights [first, ...) with equal rates: indices [at, at of the next range). */
struct kernel_range {
	uint32_t at, first, group;	/* group: its rates */
	float	 wd;			/* multiplies the weight decay */
};

/* w, g [count], state [count, states] of all weights, whose ranges [n] are sorted by `at`. */
struct kernel_opt {
	const struct kernel_range *range;
	uint32_t n;
	float	*w, *state;
	const float *g;
	const struct kernel_rates *rates;
	const uint32_t *bad;	/* not 0: change nothing; or NULL */
	int	 rule, rare;	/* rare: there is a clip or an l1 */
	float	 momentum, wd, clip, l1, beta2, eps;
};

/* The mean gradient, clipped and decayed; a NaN stays one. */
KERNEL_BODY float
kernel_opt_gradient(const struct kernel_opt *a, const struct kernel_range *range, float g, float w)
{
	float d = g * a->rates[range->group].scale;

	if (a->rare) {
		d = d > a->clip ? a->clip : d;
		d = d < -a->clip ? -a->clip : d;
	}
	d = d + a->wd * range->wd * w;
	return a->rare ? d + a->l1 * (float)((w > 0) - (w < 0)) : d;
}

KERNEL_BODY void
kernel_opt_at(const struct kernel_opt *a, uint32_t i, KERNEL_ANY_TYPE)
{
	const struct kernel_range *range = &a->range[kernel_find(a->range, sizeof(*range), a->n, i)];
	const struct kernel_rates *rates = &a->rates[range->group];
	const size_t j = range->first + (i - range->at);
	float w = a->w[j], lr = rates->lr, d, m, v;

	if (a->bad != NULL && *a->bad != 0)
		return;
	if (a->rule == KERNEL_FOLD) {
		a->w[j] = a->momentum * w + (1 - a->momentum) * (a->g[j] * rates->scale);
		return;
	}
	d = kernel_opt_gradient(a, range, a->g[j], w);
	switch (a->rule) {
	case KERNEL_SGD:
		m = a->momentum * a->state[j] - lr * d;
		a->state[j] = m;
		a->w[j] = w + m;
		break;
	case KERNEL_NESTEROV:
		m = a->momentum * a->state[j] + d;
		a->state[j] = m;
		a->w[j] = w - lr * (d + a->momentum * m);
		break;
	case KERNEL_DESCENT:
		a->w[j] = w - lr * d;
		break;
	case KERNEL_RMSPROP:
		v = a->beta2 * a->state[2 * j] + (1 - a->beta2) * d * d;
		m = a->momentum * a->state[2 * j + 1] + d / (sqrtf(v) + a->eps);
		a->state[2 * j] = v;
		a->state[2 * j + 1] = m;
		a->w[j] = w - lr * m;
		break;
	default:
		m = a->momentum * a->state[2 * j] + (1 - a->momentum) * d;
		v = a->beta2 * a->state[2 * j + 1] + (1 - a->beta2) * d * d;
		a->state[2 * j] = m;
		a->state[2 * j + 1] = v;
		a->w[j] = w * rates->shrink - rates->rate * m / (sqrtf(v) / rates->root + a->eps);
	}
}

#endif
