/* dnnl_pick - turns a layer's shape into descriptors of kernels, the best for each direction. */
#include "engine/cpu/dnnl_pick.h"

#include <string.h>

/* ------ descriptors of operands ------ */

/* A picture [n, c, h, w]; block 0: as the library likes.  A fully connected layer sees [n, c*h*w]. */
static dnnl_lib_desc
md_picture(const struct dnnl_shape *s, uint32_t c, uint32_t h, uint32_t w, uint32_t block, dnnl_data_type_t type)
{
	if (s->fc)
		return dnnl_lib_desc_new(2, (dnnl_dims_t){ s->n, (dnnl_dim_t)c * h * w }, type, dnnl_nc);
	if (s->last || s->bf16)
		return dnnl_lib_desc_new(4, (dnnl_dims_t){ s->n, c, h, w }, type,
		    block == 0 ? dnnl_format_tag_any : dnnl_nhwc);
	return dnnl_lib_desc_new(4, (dnnl_dims_t){ s->n, c, h, w }, type, block == 0 ? dnnl_format_tag_any :
	    block == 8 ? dnnl_nChw8c : block == 16 ? dnnl_nChw16c : dnnl_nchw);
}

dnnl_lib_desc
dnnl_pick_x(const struct dnnl_shape *s, uint32_t block)
{
	return md_picture(s, s->c, s->h, s->w, block, s->bf16 ? dnnl_bf16 : dnnl_f32);
}

static uint32_t
out_of(const struct dnnl_shape *s, uint32_t in, uint32_t kernel, int d)
{
	return s->fc ? 1 : (in + 2 * s->pad[d] - (kernel - 1) * s->dilate[d] - 1) / s->stride[d] + 1;
}

static dnnl_lib_desc
md_out(const struct dnnl_shape *s, uint32_t block, bool half)
{
	return md_picture(s, s->k, out_of(s, s->h, s->r, 0), out_of(s, s->w, s->s, 1), block,
	    half ? dnnl_bf16 : dnnl_f32);
}

dnnl_lib_desc
dnnl_pick_y(const struct dnnl_shape *s, uint32_t block)
{
	return md_out(s, block, s->bf16 && !s->wide);
}

dnnl_lib_desc
dnnl_pick_dy(const struct dnnl_shape *s, uint32_t block)
{
	return md_out(s, block, s->bf16);
}

/* In the layout the library likes, or as [K, C/groups, R, S]. */
static dnnl_lib_desc
md_filter(const struct dnnl_shape *s, bool any, bool half)
{
	dnnl_data_type_t type = half ? dnnl_bf16 : dnnl_f32;

	if (s->groups > 1)
		return dnnl_lib_desc_new(5, (dnnl_dims_t){ s->groups, s->k / s->groups, s->c / s->groups, s->r, s->s },
		    type,
		    any ? dnnl_format_tag_any : dnnl_goihw);
	return dnnl_lib_desc_new(4, (dnnl_dims_t){ s->k, s->c, s->r, s->s }, type,
	    any ? dnnl_format_tag_any : dnnl_oihw);
}

static dnnl_lib_desc
md_matrix(const struct dnnl_shape *s, bool any, bool half)
{
	return dnnl_lib_desc_new(2, (dnnl_dims_t){ s->k, (dnnl_dim_t)s->c * s->h * s->w }, half ? dnnl_bf16 : dnnl_f32,
	    any ? dnnl_format_tag_any : dnnl_oi);
}

dnnl_lib_desc
dnnl_pick_canonical(const struct dnnl_shape *s)
{
	return s->fc ? md_matrix(s, false, false) : md_filter(s, false, false);
}

dnnl_lib_desc
dnnl_pick_vector(const struct dnnl_shape *s)
{
	return dnnl_lib_desc_new(1, (dnnl_dims_t){ s->k }, dnnl_f32, dnnl_x);
}

/* Is a descriptor what a kernel wants?  Frees the one of ours. */
static bool
desc_fits(dnnl_lib_desc ours, dnnl_lib_desc wanted)
{
	bool fits = ours != NULL && dnnl_memory_desc_equal(ours, wanted) != 0;

	dnnl_lib_desc_free(ours);
	return fits;
}

/* The block of x or y as a forward kernel wants it, 0 when it is none of ours. */
static uint32_t
block_of(const struct dnnl_shape *s, dnnl_lib_desc wanted, dnnl_lib_desc (*make)(const struct dnnl_shape *, uint32_t))
{
	static const uint32_t ours[] = { 1, 8, 16 };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (desc_fits(make(s, ours[i]), wanted))
			return ours[i];
	return 0;
}

/* ------ kernels ------ */

static dnnl_lib_desc
weights_desc(const struct dnnl_shape *s, enum dnnl_way way)
{
	bool half = s->bf16 && way != DNNL_WEIGHT;

	/* A gradient leaves a fully connected layer as it is: a detour of vgg's largest array would be 400 MB. */
	return s->fc ? md_matrix(s, half, half) : md_filter(s, true, half);
}

static dnnl_status_t
pd_try(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_pick_blocks blocks, enum dnnl_way way,
    uint32_t nth, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
	dnnl_lib_desc x = dnnl_pick_x(s, blocks.x), w = weights_desc(s, way), bias = dnnl_pick_vector(s);
	dnnl_lib_desc y = way == DNNL_FORWARD ? dnnl_pick_y(s, blocks.y) : dnnl_pick_dy(s, blocks.y);
	const struct dnnl_lib_kernel k = {
		.way = way, .x = x, .w = w, .y = y, .bias = s->bias ? bias : NULL,
		.stride = { s->stride[0], s->stride[1] }, .pad = { s->pad[0], s->pad[1] },
		.dilate = { (dnnl_dim_t)s->dilate[0] - 1, (dnnl_dim_t)s->dilate[1] - 1 },
		.attr = way == DNNL_FORWARD && s->relu ? dev->relu : dev->attr, .hint = hint, .nth = nth,
	};
	dnnl_status_t e = dnnl_out_of_memory;

	*pd = NULL;
	if (x != NULL && w != NULL && bias != NULL && y != NULL)
		e = s->fc ? dnnl_lib_fc(dev->engine, &k, pd) : dnnl_lib_conv(dev->engine, &k, pd);
	dnnl_lib_desc_free(x);
	dnnl_lib_desc_free(w);
	dnnl_lib_desc_free(bias);
	dnnl_lib_desc_free(y);
	return e;
}

const char *
dnnl_pick_name(const_dnnl_primitive_desc_t pd)
{
	const char *name = "?";

	dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
	return name;
}

dnnl_lib_desc
dnnl_pick_operand(const_dnnl_primitive_desc_t pd, int arg)
{
	return dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
}

static bool
kernel_is_named(const_dnnl_primitive_desc_t pd, const char *prefix)
{
	return strncmp(dnnl_pick_name(pd), prefix, strlen(prefix)) == 0;
}

/*
 * Is the result of a convolution's kernel wrong?  Seen with 2.6.3 and 3.7.2, the first three with channels last:
 *
 *	jit_bf16_1x1 to data adds to all channels what is behind the last one, if their number is odd and that of
 *	pixels a multiple of 30
 *	jit_bf16_1x1 and jit_1x1:avx2 to weights lose pixels if there are a stride, 4 to 14 channels and few lines
 *	jit_bf16 to weights adds scratch memory that it has not written, if pictures are narrower than the stride
 *	brg_conv_fwd of one channel (3.7.2) has no value right, if columns alone have a stride and one comes out
 */
static bool
is_faulty(const struct dnnl_shape *s, enum dnnl_way way, struct dnnl_pick_blocks blocks, const_dnnl_primitive_desc_t pd)
{
	bool strided = s->stride[0] > 1 || s->stride[1] > 1;

	if (s->fc)
		return false;
	switch (way) {
	case DNNL_FORWARD:
		return s->stride[0] == 1 && s->stride[1] > 1 && s->c == s->groups && out_of(s, s->w, s->s, 1) == 1 &&
		    strstr(dnnl_pick_name(pd), "brg_conv_fwd") != NULL;
	case DNNL_DATA:
		return s->bf16 && s->k / s->groups % 2 == 1 && kernel_is_named(pd, "jit_bf16_1x1") &&
		    desc_fits(dnnl_pick_dy(s, blocks.y), dnnl_pick_operand(pd, DNNL_ARG_DIFF_DST));
	default:
		return ((s->bf16 || s->last) && strided && s->c / s->groups < 16 &&
		    strstr(dnnl_pick_name(pd), "1x1") != NULL) ||
		    (kernel_is_named(pd, "jit_bf16:") && s->w < s->stride[1]);
	}
}

/* What takes the agreed layouts, then what is fast in any layout, and `ref` at the very last. */
int
dnnl_pick(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_pick_blocks blocks, enum dnnl_way way,
    const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
	const struct dnnl_pick_blocks any = { 0, 0 };
	const struct {
		bool			may;
		uint32_t		answers;	/* of the library's, best first, to look at */
		struct dnnl_pick_blocks blocks;
	} tries[] = { { true, 1, blocks }, { !s->fc, 1, any }, { true, UINT32_MAX, blocks } };
	dnnl_status_t e = dnnl_unimplemented;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
		for (uint32_t nth = 0; tries[i].may && nth < tries[i].answers; nth++) {
			if ((e = pd_try(dev, s, tries[i].blocks, way, nth, hint, pd)) != dnnl_success)
				break;
			if ((tries[i].answers > 1 || !kernel_is_named(*pd, "ref")) && !is_faulty(s, way, blocks, *pd))
				return 0;
			dnnl_primitive_desc_destroy(*pd);
		}
	*pd = NULL;
	return dnnl_dev_fail("no kernel", e);
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

	return dnnl_dev_block(dev) == block && !s->fc && !s->bf16 && s->groups == 1 && s->k >= block &&
	    (s->c <= 4 || s->c >= block) && 5 * (uint64_t)s->c * s->k < 4 * c * k;
}

void
dnnl_pick_agree(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_pick_blocks *blocks)
{
	const struct dnnl_pick_blocks any = { 0, 0 };
	dnnl_primitive_desc_t pd;

	blocks->x = s->fc ? 1 : s->c;
	blocks->y = s->fc && !s->bf16 ? 1 : s->k;
	if (s->fc || s->last || s->bf16)
		return;
	blocks->x = blocks->y = 1;
	if (pd_try(dev, s, any, DNNL_FORWARD, 0, NULL, &pd) != dnnl_success)
		return;
	blocks->x = block_of(s, dnnl_pick_operand(pd, DNNL_ARG_SRC), dnnl_pick_x);
	blocks->y = block_of(s, dnnl_pick_operand(pd, DNNL_ARG_DST), dnnl_pick_y);
	if (blocks->x == 0 || blocks->y == 0)
		blocks->x = blocks->y = dnnl_dev_block(dev);
	dnnl_primitive_desc_destroy(pd);
}
