/* cpu_conv - a layer's calls, passed on to one of five algorithms. */
#include "engine/cpu/cpu_conv.h"

#include "base/err.h"
#include "engine/cpu/amx/amx.h"
#include "engine/cpu/cpu_dense.h"
#include "engine/cpu/point/point.h"
#include "engine/cpu/wino/wino.h"

#include <stdlib.h>

/* Four of the five are NULL. */
struct cpu_conv {
	struct dnnl_layer *dnnl;
	struct wino	  *wino;
	struct point	  *point;
	struct cpu_dense  *dense;
	struct amx	  *amx;
};

int
cpu_conv_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct cpu_conv *like, struct cpu_conv **conv)
{
	struct cpu_conv *c = calloc(1, sizeof(*c));
	int e;

	if (c == NULL)
		return err_nomem();
	if (wino_fits(shape))
		e = wino_new(shape, dnnl_dev_block(), &c->wino);
	else if (point_fits(shape))
		e = point_new(shape, &c->point);
	else if (cpu_dense_fits(shape))
		e = cpu_dense_new(dev, shape, like != NULL ? like->dense : NULL, &c->dense);
	else if (amx_fits(shape))
		e = amx_new(dev, shape, like != NULL ? like->amx : NULL, &c->amx);
	else
		e = dnnl_layer_new(dev, shape, like != NULL ? like->dnnl : NULL, &c->dnnl);
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
	dnnl_layer_free(c->dnnl);
	wino_free(c->wino);
	point_free(c->point);
	cpu_dense_free(c->dense);
	amx_free(c->amx);
	free(c);
}

bool
cpu_conv_scales(const struct dnnl_shape *shape, bool stepped)
{
	return !shape->fc && (wino_fits(shape) || point_fits(shape) || (!stepped && !cpu_dense_fits(shape)));
}

bool
cpu_conv_adds(const struct dnnl_shape *shape)
{
	return !wino_fits(shape) && point_fits(shape);
}

bool
cpu_conv_pools(const struct dnnl_shape *shape)
{
	return wino_pools(shape);
}

bool
cpu_conv_last(const struct dnnl_shape *shape)
{
	return !wino_fits(shape) && !point_fits(shape) && !cpu_dense_fits(shape) && dnnl_layer_last(shape);
}

const struct dnnl_needs *
cpu_conv_needs(const struct cpu_conv *c)
{
	if (c->wino != NULL)
		return wino_needs(c->wino);
	if (c->point != NULL)
		return point_needs(c->point);
	if (c->amx != NULL)
		return amx_needs(c->amx);
	return c->dense != NULL ? cpu_dense_needs(c->dense) : dnnl_layer_needs(c->dnnl);
}

int
cpu_conv_bind(struct cpu_conv *c, const struct dnnl_place *place)
{
	if (c->dnnl != NULL)
		return dnnl_layer_bind(c->dnnl, place);
	if (c->dense != NULL)
		return cpu_dense_bind(c->dense, place);
	if (c->amx != NULL)
		return amx_bind(c->amx, place);
	if (c->wino != NULL)
		wino_bind(c->wino, place);
	else
		point_bind(c->point, place);
	return 0;
}

int
cpu_conv_load(struct cpu_conv *c, const float *w)
{
	if (c->dnnl != NULL)
		return dnnl_layer_load(c->dnnl, w);
	if (c->dense != NULL)
		return cpu_dense_load(c->dense, w);
	if (c->amx != NULL)
		return amx_load(c->amx, w);
	if (c->wino != NULL)
		wino_load(c->wino, w);
	else
		point_load(c->point, w);
	return 0;
}

int
cpu_conv_run(struct cpu_conv *c, enum dnnl_direction dir, float *dw)
{
	if (c->dnnl != NULL)
		return dnnl_layer_run(c->dnnl, dir, dw);
	if (c->dense != NULL)
		return cpu_dense_run(c->dense, dir, dw);
	if (c->amx != NULL)
		return amx_run(c->amx, dir, dw);
	if (c->wino != NULL)
		return wino_run(c->wino, dir, dw);
	point_run(c->point, dir, dw);
	return 0;
}
