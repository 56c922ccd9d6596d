/* dnnl_v2_pick - turns a layer's shape into descriptors of kernels, the best for each direction. */
#include "engine/cpu/dnnl_v2.h"

#include "base/err.h"

#include <assert.h>
#include <string.h>

int
dnnl_v2_fail(const char *what, dnnl_status_t s)
{
	return s == dnnl_out_of_memory ? err_nomem() :
	    err_fail(ERR_NOTSUP, "oneDNN: %s: status %d", what, (int)s);
}

/* ------ descriptors of operands ------ */

static dnnl_memory_desc_t
md_of(int ndims, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
	dnnl_memory_desc_t md;
	dnnl_status_t s = dnnl_memory_desc_init_by_tag(&md, ndims, dims, type, tag);

	assert(s == dnnl_success);	/* shapes were bounded by the graph */
	(void)s;
	return md;
}

static dnnl_memory_desc_t
md_blocks(uint32_t n, uint32_t c, uint32_t h, uint32_t w, uint32_t block)
{
	return md_of(4, (dnnl_dims_t){ n, c, h, w }, dnnl_f32, block == 0 ? dnnl_format_tag_any :
	    block == 8 ? dnnl_nChw8c : block == 16 ? dnnl_nChw16c : dnnl_nchw);
}

/* A picture [n, c, h, w]; block 0: as the library likes.  A fully connected layer sees [n, c*h*w]. */
static dnnl_memory_desc_t
md_picture(const struct dnnl_shape *s, uint32_t c, uint32_t h, uint32_t w, uint32_t block, dnnl_data_type_t type)
{
	if (s->fc)
		return md_of(2, (dnnl_dims_t){ s->n, (dnnl_dim_t)c * h * w }, type, dnnl_nc);
	if (s->last || s->bf16)
		return md_of(4, (dnnl_dims_t){ s->n, c, h, w }, type, block == 0 ? dnnl_format_tag_any : dnnl_nhwc);
	return md_blocks(s->n, c, h, w, block);
}

dnnl_memory_desc_t
dnnl_v2_x(const struct dnnl_shape *s, uint32_t block)
{
	return md_picture(s, s->c, s->h, s->w, block, s->bf16 ? dnnl_bf16 : dnnl_f32);
}

static uint32_t
out_of(const struct dnnl_shape *s, uint32_t in, uint32_t kernel, int d)
{
	return s->fc ? 1 : (in + 2 * s->pad[d] - (kernel - 1) * s->dilate[d] - 1) / s->stride[d] + 1;
}

static dnnl_memory_desc_t
md_out(const struct dnnl_shape *s, uint32_t block, bool half)
{
	return md_picture(s, s->k, out_of(s, s->h, s->r, 0), out_of(s, s->w, s->s, 1), block, half ? dnnl_bf16 : dnnl_f32);
}

dnnl_memory_desc_t
dnnl_v2_y(const struct dnnl_shape *s, uint32_t block)
{
	return md_out(s, block, s->bf16 && !s->wide);
}

dnnl_memory_desc_t
dnnl_v2_dy(const struct dnnl_shape *s, uint32_t block)
{
	return md_out(s, block, s->bf16);
}

/* In the layout the library likes, or as [K, C/groups, R, S]. */
static dnnl_memory_desc_t
md_filter(const struct dnnl_shape *s, bool any, bool half)
{
	dnnl_data_type_t type = half ? dnnl_bf16 : dnnl_f32;

	if (s->groups > 1)
		return md_of(5, (dnnl_dims_t){ s->groups, s->k / s->groups, s->c / s->groups, s->r, s->s }, type,
		    any ? dnnl_format_tag_any : dnnl_goihw);
	return md_of(4, (dnnl_dims_t){ s->k, s->c, s->r, s->s }, type, any ? dnnl_format_tag_any : dnnl_oihw);
}

static dnnl_memory_desc_t
md_matrix(const struct dnnl_shape *s, bool any, bool half)
{
	return md_of(2, (dnnl_dims_t){ s->k, (dnnl_dim_t)s->c * s->h * s->w }, half ? dnnl_bf16 : dnnl_f32,
	    any ? dnnl_format_tag_any : dnnl_oi);
}

dnnl_memory_desc_t
dnnl_v2_canonical(const struct dnnl_shape *s)
{
	return s->fc ? md_matrix(s, false, false) : md_filter(s, false, false);
}

dnnl_memory_desc_t
dnnl_v2_vector(const struct dnnl_shape *s)
{
	return md_of(1, (dnnl_dims_t){ s->k }, dnnl_f32, dnnl_x);
}

bool
dnnl_v2_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b)
{
	return dnnl_memory_desc_equal(a, b) != 0;
}

/* The block of a picture's layout, 0 when it is none of ours. */
static uint32_t
block_of(const dnnl_memory_desc_t *md)
{
	static const uint32_t ours[] = { 1, 8, 16 };
	const dnnl_dim_t *d = md->dims;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		dnnl_memory_desc_t own = md_blocks((uint32_t)d[0], (uint32_t)d[1], (uint32_t)d[2], (uint32_t)d[3],
		    ours[i]);

		if (dnnl_v2_same(md, &own))
			return ours[i];
	}
	return 0;
}

/* ------ kernels ------ */

static bool
winograd(const struct dnnl_shape *s)
{
	bool one = s->stride[0] == 1 && s->stride[1] == 1 && s->pad[0] == 1 && s->pad[1] == 1 && s->dilate[0] == 1 &&
	    s->dilate[1] == 1;

	return !s->fc && !s->bf16 && !s->last && s->groups == 1 && s->r == 3 && s->s == 3 && one && s->c >= 32 &&
	    s->k >= 32 && s->h >= 4 && s->w >= 4;
}

/* One direction of a convolution; the fields of the descriptor are set by direction. */
static dnnl_status_t
conv_desc(const struct dnnl_shape *s, enum dnnl_way way, dnnl_alg_kind_t alg, const dnnl_memory_desc_t *x,
    const dnnl_memory_desc_t *y, dnnl_convolution_desc_t *desc)
{
	const dnnl_dims_t stride = { s->stride[0], s->stride[1] }, pad = { s->pad[0], s->pad[1] };
	const dnnl_dims_t more = { s->dilate[0] - 1, s->dilate[1] - 1 };	/* the library counts what lies between taps */
	dnnl_memory_desc_t w = md_filter(s, true, s->bf16 && way != DNNL_WEIGHT), b = dnnl_v2_vector(s);
	const dnnl_memory_desc_t *bias = s->bias ? &b : NULL;

	switch (way) {
	case DNNL_FORWARD:
		return dnnl_dilated_convolution_forward_desc_init(desc, dnnl_forward_training, alg, x, &w, bias, y,
		    stride, more, pad, pad);
	case DNNL_DATA:
		return dnnl_dilated_convolution_backward_data_desc_init(desc, alg, x, &w, y, stride, more, pad, pad);
	default:
		return dnnl_dilated_convolution_backward_weights_desc_init(desc, alg, x, &w, bias, y, stride, more, pad,
		    pad);
	}
}

static dnnl_status_t
fc_desc(const struct dnnl_shape *s, enum dnnl_way way, const dnnl_memory_desc_t *x,
    const dnnl_memory_desc_t *y, dnnl_inner_product_desc_t *desc)
{
	/* What is born leaves as it is: a detour of vgg's largest array would be 400 MB. */
	bool held = s->bf16 && way != DNNL_WEIGHT;
	dnnl_memory_desc_t w = md_matrix(s, held, held), b = dnnl_v2_vector(s);
	const dnnl_memory_desc_t *bias = s->bias ? &b : NULL;

	switch (way) {
	case DNNL_FORWARD:
		return dnnl_inner_product_forward_desc_init(desc, dnnl_forward_training, x, &w, bias, y);
	case DNNL_DATA:
		return dnnl_inner_product_backward_data_desc_init(desc, x, &w, y);
	default:
		return dnnl_inner_product_backward_weights_desc_init(desc, x, &w, bias, y);
	}
}

static dnnl_status_t
pd_try(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_v2_blocks blocks, enum dnnl_way way,
    dnnl_alg_kind_t alg, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
	dnnl_memory_desc_t x = dnnl_v2_x(s, blocks.x);
	dnnl_memory_desc_t y = way == DNNL_FORWARD ? dnnl_v2_y(s, blocks.y) : dnnl_v2_dy(s, blocks.y);
	dnnl_primitive_attr_t attr = way == DNNL_FORWARD && s->relu ? dev->relu : dev->attr;
	union {
		dnnl_convolution_desc_t	  conv;
		dnnl_inner_product_desc_t fc;
	} desc;
	dnnl_status_t e;

	e = s->fc ? fc_desc(s, way, &x, &y, &desc.fc) : conv_desc(s, way, alg, &x, &y, &desc.conv);
	*pd = NULL;
	return e != dnnl_success ? e : dnnl_primitive_desc_create(pd, &desc, attr, dev->engine, hint);
}

const char *
dnnl_v2_name(const_dnnl_primitive_desc_t pd)
{
	const char *name = "?";

	dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
	return name;
}

const dnnl_memory_desc_t *
dnnl_v2_operand(const_dnnl_primitive_desc_t pd, int arg)
{
	return dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
}

/*
 * Back through a bf16 convolution of 1x1 whose channels come last and are odd in number, this kernel (2.6.3, where there
 * is no AMX) adds what stands behind the last one to all: seen where pictures have a multiple of 30 pixels.
 */
static bool
reads_beyond(const struct dnnl_shape *s, enum dnnl_way way, struct dnnl_v2_blocks blocks, const_dnnl_primitive_desc_t pd)
{
	dnnl_memory_desc_t dy = dnnl_v2_dy(s, blocks.y);

	return s->bf16 && way == DNNL_DATA && s->k / s->groups % 2 == 1 &&
	    strncmp(dnnl_v2_name(pd), "jit_bf16_1x1", strlen("jit_bf16_1x1")) == 0 &&
	    dnnl_v2_same(dnnl_v2_operand(pd, DNNL_ARG_DIFF_DST), &dy);
}

/*
 * Winograd by its rule, then what takes the agreed layouts, then what is fast in
 * any layout, and `ref` at the very last.
 */
int
dnnl_v2_pick(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_v2_blocks blocks, enum dnnl_way way,
    const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
	const struct dnnl_v2_blocks any = { 0, 0 };
	const struct {
		bool		      may, ref;
		dnnl_alg_kind_t	      alg;
		struct dnnl_v2_blocks blocks;
	} tries[] = {
		{ winograd(s), false, dnnl_convolution_winograd, blocks },
		{ true, false, dnnl_convolution_direct, blocks },
		{ !s->fc, false, dnnl_convolution_direct, any },
		{ true, true, dnnl_convolution_direct, blocks },
	};
	dnnl_status_t e = dnnl_unimplemented;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		if (!tries[i].may)
			continue;
		e = pd_try(dev, s, tries[i].blocks, way, tries[i].alg, hint, pd);
		if (e == dnnl_success && (tries[i].ref || strncmp(dnnl_v2_name(*pd), "ref", 3) != 0) &&
		    (s->fc || !reads_beyond(s, way, blocks, *pd)))
			return 0;
		dnnl_primitive_desc_destroy(*pd);
	}
	*pd = NULL;
	return dnnl_v2_fail("no kernel", e);
}

/*
 * What kernels for blocks compute grows with the blocks; those for channels last, of 16 lanes, mask what is not there.
 * A few channels in are no block: the library reads them as they are.
 */
bool
dnnl_mul_last(const struct dnnl_dev *dev, const struct dnnl_shape *s)
{
	const uint64_t block = 16, k = (s->k + block - 1) / block * block;
	const uint64_t c = s->c <= 4 ? s->c : (s->c + block - 1) / block * block;

	return dnnl_dev_block(dev) == block && !s->fc && !s->bf16 && s->groups == 1 && !winograd(s) && s->k >= block &&
	    (s->c <= 4 || s->c >= block) && 5 * (uint64_t)s->c * s->k < 4 * c * k;
}

void
dnnl_v2_agree(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_v2_blocks *blocks)
{
	const struct dnnl_v2_blocks any = { 0, 0 };
	dnnl_alg_kind_t alg = winograd(s) ? dnnl_convolution_winograd : dnnl_convolution_direct;
	dnnl_primitive_desc_t pd;

	blocks->x = s->fc ? 1 : s->c;
	blocks->y = s->fc && !s->bf16 ? 1 : s->k;
	if (s->fc || s->last || s->bf16)
		return;
	blocks->x = blocks->y = 1;
	if (pd_try(dev, s, any, DNNL_FORWARD, alg, NULL, &pd) != dnnl_success &&
	    pd_try(dev, s, any, DNNL_FORWARD, dnnl_convolution_direct, NULL, &pd) != dnnl_success)
		return;
	blocks->x = block_of(dnnl_v2_operand(pd, DNNL_ARG_SRC));
	blocks->y = block_of(dnnl_v2_operand(pd, DNNL_ARG_DST));
	if (blocks->x == 0 || blocks->y == 0)
		blocks->x = blocks->y = dnnl_dev_block(dev);
	dnnl_primitive_desc_destroy(pd);
}
