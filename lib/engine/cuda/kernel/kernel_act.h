/* kernel_act - activations and dropout; formulas and sources as in ref_act.c and ref_drop.c. */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_ACT_H
#define ENGINE_CUDA_KERNEL_KERNEL_ACT_H

enum kernel_shape {	/* as enum graph_act */
	KERNEL_RELU, KERNEL_TANH, KERNEL_SIGMOID, KERNEL_LINEAR, KERNEL_LEAKY, KERNEL_ELU, KERNEL_GELU,
	    KERNEL_GELU_TANH,
	KERNEL_SWISH
};

KERNEL_BODY float
kernel_sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

/* The distribution function of the normal distribution. */
KERNEL_BODY float
kernel_normal_cdf(float x)
{
	return erfcf(-x * 0.70710678118654752f) / 2;
}

/* The argument of tanh in the approximation of gelu, and tanh of it. */
KERNEL_BODY float
kernel_gelu_inner(float x)
{
	return tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x));
}

KERNEL_BODY float
kernel_act_value(int shape, float alpha, float x)
{
	switch (shape) {
	case KERNEL_RELU:
		return x <= 0 ? 0 : x;
	case KERNEL_TANH:
		return tanhf(x);
	case KERNEL_SIGMOID:
		return kernel_sigmoid(x);
	case KERNEL_LINEAR:
		return alpha * x;
	case KERNEL_LEAKY:
		return x > 0 ? x : alpha * x;
	case KERNEL_ELU:
		return x > 0 ? x : alpha * expm1f(x);
	case KERNEL_GELU:
		return x * kernel_normal_cdf(x);
	case KERNEL_GELU_TANH:
		return x * (1 + kernel_gelu_inner(x)) / 2;
	default:
		return x * kernel_sigmoid(x);
	}
}

KERNEL_BODY float
kernel_act_slope(int shape, float alpha, float x)
{
	float t;

	switch (shape) {
	case KERNEL_RELU:
		return x > 0 ? 1.0f : 0.0f;
	case KERNEL_TANH:
		t = tanhf(x);
		return 1 - t * t;
	case KERNEL_SIGMOID:
		t = kernel_sigmoid(x);
		return t * (1 - t);
	case KERNEL_LINEAR:
		return alpha;
	case KERNEL_LEAKY:
		return x > 0 ? 1 : alpha;
	case KERNEL_ELU:
		return x > 0 ? 1 : alpha * expf(x);
	case KERNEL_GELU:
		return kernel_normal_cdf(x) + x * expf(-x * x / 2) * 0.39894228040143268f;
	case KERNEL_GELU_TANH:
		t = kernel_gelu_inner(x);
		return (1 + t + x * (1 - t * t) * 0.79788456080286536f * (1 + 0.134145f * x * x)) / 2;
	default:
		t = kernel_sigmoid(x);
		return t * (1 + x * (1 - t));
	}
}

/* y = act(x); m pixels. */
struct kernel_act {
	struct kernel_view x, y;
	uint32_t m;
	int	 shape;
	float	 alpha;
};

KERNEL_BODY struct kernel_grid
kernel_act_grid(const struct kernel_act *a)
{
	return kernel_grid(a->m, a->y.c, kernel_is_wide(a->x) && kernel_is_wide(a->y));
}

KERNEL_BODY void
kernel_act_at(const struct kernel_act *a, uint32_t i, int type, uint32_t width)
{
	const uint32_t groups = a->y.c / width, m = i / groups, ch = i % groups * width;
	float x[KERNEL_WIDTH];

	kernel_get_channels(a->x, m, ch, type, width, x);
	KERNEL_UNROLL
	for (uint32_t k = 0; k < width; k++)
		x[k] = kernel_act_value(a->shape, a->alpha, x[k]);
	kernel_set_channels(a->y, m, ch, type, width, x);
}

/* dx = dy act'(x); m pixels. */
struct kernel_act_back {
	struct kernel_view x, dy, dx;
	uint32_t m;
	int	 shape;
	float	 alpha;
};

KERNEL_BODY struct kernel_grid
kernel_act_back_grid(const struct kernel_act_back *a)
{
	return kernel_grid(a->m, a->dx.c, kernel_is_wide(a->x) && kernel_is_wide(a->dy) && kernel_is_wide(a->dx));
}

KERNEL_BODY void
kernel_act_back_at(const struct kernel_act_back *a, uint32_t i, int type, uint32_t width)
{
	const uint32_t groups = a->dx.c / width, m = i / groups, ch = i % groups * width;
	float x[KERNEL_WIDTH], dy[KERNEL_WIDTH];

	kernel_get_channels(a->x, m, ch, type, width, x);
	kernel_get_channels(a->dy, m, ch, type, width, dy);
	KERNEL_UNROLL
	for (uint32_t k = 0; k < width; k++)
		dy[k] *= kernel_act_slope(a->shape, a->alpha, x[k]);
	kernel_set_channels(a->dx, m, ch, type, width, dy);
}

/*
 * y = x / rest if the value stays, else 0; dx of dy is the same function. Bits as in engine/drop.h.
 */
struct kernel_drop {
	struct kernel_view x, y;
	const uint32_t *key;	/* [n], one per sample */
	uint32_t plane;		/* pixels of an image */
	uint32_t bound;
	float	 rest;
};

KERNEL_BODY void
kernel_drop_at(const struct kernel_drop *a, uint32_t i, int type)
{
	uint32_t m = i / a->y.c, ch = i % a->y.c, n = m / a->plane;
	uint32_t h = a->key[n] ^ (ch * a->plane + m % a->plane) * 0x9e3779b1u;

	h ^= h >> 16;
	h *= 0x21f0aaadu;
	h ^= h >> 15;
	h *= 0xd35a2d97u;
	h ^= h >> 15;
	kernel_set(a->y, m, ch, h >= a->bound ? kernel_at(a->x, m, ch, type) / a->rest : 0, type);
}

#endif
