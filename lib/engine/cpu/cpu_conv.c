/* cpu_conv - calls the one that computes the layer. */
#include "engine/cpu/cpu_conv.h"

#include "base/err.h"
#include "engine/cpu/wino.h"

#include <stdlib.h>

struct cpu_conv {
	struct dnnl_mul *mul;	/* one of the two is NULL */
	struct wino	*wino;
	bool		 data;
};

int
cpu_conv_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct cpu_conv *like, struct cpu_conv **conv)
{
	struct cpu_conv *c = calloc(1, sizeof(*c));
	int e;

	if (c == NULL)
		return err_nomem();
	c->data = shape->data;
	if (wino_fits(shape))
		e = wino_new(shape, dnnl_dev_block(dev), &c->wino);
	else
		e = dnnl_mul_new(dev, shape, like != NULL ? like->mul : NULL, &c->mul);
	if (e < 0) {
		free(c);
		return e;
	}
	*conv = c;
	return 0;
}

void
cpu_conv_free(struct cpu_conv *c)
{
	if (c == NULL)
		return;
	dnnl_mul_free(c->mul);
	wino_free(c->wino);
	free(c);
}

bool
cpu_conv_last(const struct dnnl_dev *dev, const struct dnnl_shape *shape)
{
	return !wino_fits(shape) && dnnl_mul_last(dev, shape);
}

uint32_t
cpu_conv_x_block(const struct cpu_conv *c)
{
	return c->wino != NULL ? wino_block(c->wino) : dnnl_mul_x_block(c->mul);
}

uint32_t
cpu_conv_y_block(const struct cpu_conv *c)
{
	return c->wino != NULL ? wino_block(c->wino) : dnnl_mul_y_block(c->mul);
}

size_t
cpu_conv_held(const struct cpu_conv *c)
{
	return c->wino != NULL ? wino_held(c->wino) : dnnl_mul_held(c->mul);
}

size_t
cpu_conv_scratch(const struct cpu_conv *c)
{
	return c->wino != NULL ? wino_scratch(c->wino) : dnnl_mul_scratch(c->mul);
}

const char *
cpu_conv_kernel(const struct cpu_conv *c, enum dnnl_way way)
{
	if (c->wino == NULL)
		return dnnl_mul_kernel(c->mul, way);
	return way == DNNL_DATA && !c->data ? "-" : "own:wino_4x3";
}

int
cpu_conv_bind(struct cpu_conv *c, const struct dnnl_place *place)
{
	if (c->wino == NULL)
		return dnnl_mul_bind(c->mul, place);
	wino_bind(c->wino, place);
	return 0;
}

int
cpu_conv_load(struct cpu_conv *c, const float *w)
{
	if (c->wino == NULL)
		return dnnl_mul_load(c->mul, w);
	wino_load(c->wino, w);
	return 0;
}

int
cpu_conv_forward(struct cpu_conv *c)
{
	return c->wino != NULL ? wino_forward(c->wino) : dnnl_mul_forward(c->mul);
}

int
cpu_conv_data(struct cpu_conv *c)
{
	return c->wino != NULL ? wino_data(c->wino) : dnnl_mul_data(c->mul);
}

int
cpu_conv_weight(struct cpu_conv *c, float *dw)
{
	return c->wino != NULL ? wino_weight(c->wino, dw) : dnnl_mul_weight(c->mul, dw);
}
