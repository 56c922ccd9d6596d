/* dnnl_pick - describes a layer's operands to oneDNN, and picks the best kernel for each direction. */
#include "engine/cpu/dnnl/dnnl_pick.h"

#include <string.h>

/* ------ descriptors of operands ------ */

/* Activations [n, c, h, w], or [n, c*h*w] of a fully connected layer.  block 0: the library chooses. */
static dnnl_lib_desc
describe_sample(const struct dnnl_shape *s, uint32_t c, uint32_t h, uint32_t w, uint32_t block, dnnl_data_type_t type)
{
	if (s->fc)
		return dnnl_lib_desc_new(2, (dnnl_dims_t){ s->n, (dnnl_dim_t)c * h * w }, type, dnnl_nc);
	if (s->channels_last || s->bf16)
		return dnnl_lib_desc_new(4, (dnnl_dims_t){ s->n, c, h, w }, type,
		    block == 0 ? dnnl_format_tag_any : dnnl_nhwc);
	return dnnl_lib_desc_new(4, (dnnl_dims_t){ s->n, c, h, w }, type, block == 0 ? dnnl_format_tag_any :
	    block == 8 ? dnnl_nChw8c : block == 16 ? dnnl_nChw16c : dnnl_nchw);
}

dnnl_lib_desc
dnnl_pick_x(const struct dnnl_shape *s, uint32_t block)
{
	return describe_sample(s, s->c, s->h, s->w, block, s->bf16 ? dnnl_bf16 : dnnl_f32);
}

uint32_t
dnnl_layer_side(const struct dnnl_shape *s, int axis)
{
	const uint32_t in = axis == 0 ? s->h : s->w, taps = axis == 0 ? s->r : s->s;

	return s->fc ? 1 : (in + 2 * s->pad[axis] - (taps - 1) * s->dilate[axis] - 1) / s->stride[axis] + 1;
}

static dnnl_lib_desc
describe_output(const struct dnnl_shape *s, uint32_t block, bool bf16)
{
	return describe_sample(s, s->k, dnnl_layer_side(s, 0), dnnl_layer_side(s, 1), block,
	    bf16 ? dnnl_bf16 : dnnl_f32);
}

dnnl_lib_desc
dnnl_pick_y(const struct dnnl_shape *s, uint32_t block)
{
	return describe_output(s, block, s->bf16 && !s->y_f32);
}

dnnl_lib_desc
dnnl_pick_dy(const struct dnnl_shape *s, uint32_t block)
{
	return describe_output(s, block, s->bf16);
}

/* The weights of a convolution, canonical [K, C/groups, R, S] unless `any`. */
static dnnl_lib_desc
describe_filter(const struct dnnl_shape *s, bool any, bool bf16)
{
	dnnl_data_type_t type = bf16 ? dnnl_bf16 : dnnl_f32;

	if (s->groups > 1)
		return dnnl_lib_desc_new(5, (dnnl_dims_t){ s->groups, s->k / s->groups, s->c / s->groups, s->r, s->s },
		    type, any ? dnnl_format_tag_any : dnnl_goihw);
	return dnnl_lib_desc_new(4, (dnnl_dims_t){ s->k, s->c, s->r, s->s }, type,
	    any ? dnnl_format_tag_any : dnnl_oihw);
}

static dnnl_lib_desc
describe_matrix(const struct dnnl_shape *s, bool any, bool bf16)
{
	return dnnl_lib_desc_new(2, (dnnl_dims_t){ s->k, (dnnl_dim_t)s->c * s->h * s->w }, bf16 ? dnnl_bf16 : dnnl_f32,
	    any ? dnnl_format_tag_any : dnnl_oi);
}

dnnl_lib_desc
dnnl_pick_canonical(const struct dnnl_shape *s)
{
	return s->fc ? describe_matrix(s, false, false) : describe_filter(s, false, false);
}

dnnl_lib_desc
dnnl_pick_vector(const struct dnnl_shape *s)
{
	return dnnl_lib_desc_new(1, (dnnl_dims_t){ s->k }, dnnl_f32, dnnl_x);
}

dnnl_lib_desc
dnnl_pick_scale(const struct dnnl_shape *s)
{
	return dnnl_lib_desc_new(4, (dnnl_dims_t){ 1, s->k, 1, 1 }, dnnl_f32, dnnl_nchw);
}

/* Does our descriptor equal the one that a kernel needs?  Frees ours. */
static bool
does_desc_fit(dnnl_lib_desc ours, dnnl_lib_desc wanted)
{
	bool fits = ours != NULL && dnnl_memory_desc_equal(ours, wanted) != 0;

	dnnl_lib_desc_free(ours);
	return fits;
}

/* The block of a layout that a forward kernel needs, or 0 if dnnl.h does not have it. */
static uint32_t
find_block(const struct dnnl_shape *s, dnnl_lib_desc wanted, dnnl_lib_desc (*make)(const struct dnnl_shape *, uint32_t))
{
	static const uint32_t ours[] = { 1, 8, 16 };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (does_desc_fit(make(s, ours[i]), wanted))
			return ours[i];
	return 0;
}

/* ------ kernels ------ */

static dnnl_lib_desc
make_weights_desc(const struct dnnl_shape *s, enum dnnl_direction dir)
{
	bool bf16 = s->bf16 && dir != DNNL_WEIGHT;

	/* dw of a fully connected layer is canonical: reordering vgg's largest array would take 400 MB of scratch. */
	return s->fc ? describe_matrix(s, bf16, bf16) : describe_filter(s, true, bf16);
}

static dnnl_status_t
try_kernel(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_pick_blocks blocks,
    enum dnnl_direction dir, uint32_t nth, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
	dnnl_lib_desc x = dnnl_pick_x(s, blocks.x), w = make_weights_desc(s, dir), bias = dnnl_pick_vector(s);
	dnnl_lib_desc y = dir == DNNL_FORWARD ? dnnl_pick_y(s, blocks.y) : dnnl_pick_dy(s, blocks.y);
	dnnl_lib_desc scale = s->scaled ? dnnl_pick_scale(s) : NULL;
	dnnl_primitive_attr_t scaling = NULL;
	struct dnnl_lib_kernel k = {
		.dir = dir, .x = x, .w = w, .y = y, .bias = s->bias ? bias : NULL,
		.stride = { s->stride[0], s->stride[1] }, .pad = { s->pad[0], s->pad[1] },
		.dilate = { (dnnl_dim_t)s->dilate[0] - 1, (dnnl_dim_t)s->dilate[1] - 1 },
		.attr = dir == DNNL_FORWARD && s->relu ? dev->relu : dev->attr, .hint = hint, .nth = nth,
	};
	dnnl_status_t e = dnnl_out_of_memory;

	*pd = NULL;
	if (x != NULL && w != NULL && bias != NULL && y != NULL)
		e = scale != NULL ? dnnl_dev_make_attr(scale, s->relu, &scaling) :
		    s->scaled ? dnnl_out_of_memory : dnnl_success;
	if (s->scaled)
		k.attr = scaling;
	if (e == dnnl_success)
		e = s->fc ? dnnl_lib_fc(dev->engine, &k, pd) : dnnl_lib_conv(dev->engine, &k, pd);
	dnnl_primitive_attr_destroy(scaling);
	dnnl_lib_desc_free(scale);
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
is_kernel_named(const_dnnl_primitive_desc_t pd, const char *prefix)
{
	return strncmp(dnnl_pick_name(pd), prefix, strlen(prefix)) == 0;
}

/*
 * Does this kernel of a convolution compute wrong results?  Seen with 2.6.3 and 3.7.2, the first three with channels
 * last:
 *
 *	jit_bf16_1x1, data: adds the memory after the last channel to all channels, if the number of channels is odd
 *	and that of pixels a multiple of 30
 *	jit_bf16_1x1 and jit_1x1:avx2, weights: lose pixels of strided layers with 4 to 14 channels and few lines
 *	jit_bf16, weights: adds scratch memory that it has not written, if x is narrower than the stride
 *	brgconv (2.6.3), forward in bf16 on AMX: some values are NaN, if the kernel has one line of several taps, and
 *	both strides are more than 1
 *	brg_conv_fwd (3.7.2), forward: all values are wrong, if there is one channel, a horizontal stride alone, and one
 *	column of output; and in bf16 on AMX with any channels and stride
 */
static bool
is_faulty(const struct dnnl_shape *s, enum dnnl_direction dir, struct dnnl_pick_blocks blocks,
    const_dnnl_primitive_desc_t pd)
{
	bool strided = s->stride[0] > 1 || s->stride[1] > 1;

	if (s->fc)
		return false;
	switch (dir) {
	case DNNL_FORWARD:
		return (s->stride[1] > 1 && dnnl_layer_side(s, 1) == 1 &&
		    (s->bf16 || (s->stride[0] == 1 && s->c == s->groups)) &&
		    strstr(dnnl_pick_name(pd), "brg_conv_fwd") != NULL) ||
		    (s->bf16 && s->r == 1 && s->stride[0] > 1 && s->stride[1] > 1 && s->s > 1 &&
		    is_kernel_named(pd, "brgconv:"));
	case DNNL_DATA:
		return s->bf16 && s->k / s->groups % 2 == 1 && is_kernel_named(pd, "jit_bf16_1x1") &&
		    does_desc_fit(dnnl_pick_dy(s, blocks.y), dnnl_pick_operand(pd, DNNL_ARG_DIFF_DST));
	default:
		return ((s->bf16 || s->channels_last) && strided && s->c / s->groups < 16 &&
		    strstr(dnnl_pick_name(pd), "1x1") != NULL) ||
		    (is_kernel_named(pd, "jit_bf16:") && s->w < s->stride[1]);
	}
}

int
dnnl_pick(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_pick_blocks blocks,
    enum dnnl_direction dir, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd)
{
	const struct dnnl_pick_blocks any = { 0, 0 };
	const struct {
		uint32_t		kernels;	/* how many of the library's to try, best first */
		struct dnnl_pick_blocks blocks;
	} tries[] = { { 1, blocks }, { s->fc ? 0 : 1, any }, { UINT32_MAX, blocks } };
	dnnl_status_t e = dnnl_unimplemented;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
		for (uint32_t nth = 0; nth < tries[i].kernels; nth++) {
			if ((e = try_kernel(dev, s, tries[i].blocks, dir, nth, hint, pd)) != dnnl_success)
				break;
			if ((tries[i].kernels > 1 || !is_kernel_named(*pd, "ref")) && !is_faulty(s, dir, blocks, *pd))
				return 0;
			dnnl_primitive_desc_destroy(*pd);
		}
	*pd = NULL;
	return dnnl_dev_fail("no kernel", e);
}

/*
 * Kernels for blocked layouts compute whole blocks.  Those for channels last, of 16 lanes, mask absent channels.  The
 * library reads up to four input channels without blocks.
 */
bool
dnnl_layer_last(const struct dnnl_shape *s)
{
	const uint64_t block = 16, k = (s->k + block - 1) / block * block;
	const uint64_t c = s->c <= 4 ? s->c : (s->c + block - 1) / block * block;

	return dnnl_dev_block() == block && !s->fc && !s->bf16 && s->groups == 1 && s->k >= block &&
	    (s->c <= 4 || s->c >= block) && 5 * (uint64_t)s->c * s->k < 4 * c * k;
}

void
dnnl_pick_agree(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_pick_blocks *blocks)
{
	const struct dnnl_pick_blocks any = { 0, 0 };
	dnnl_primitive_desc_t pd;

	blocks->x = s->fc ? 1 : s->c;
	blocks->y = s->fc && !s->bf16 ? 1 : s->k;
	if (s->fc || s->channels_last || s->bf16)
		return;
	blocks->x = blocks->y = 1;
	if (try_kernel(dev, s, any, DNNL_FORWARD, 0, NULL, &pd) != dnnl_success)
		return;
	blocks->x = find_block(s, dnnl_pick_operand(pd, DNNL_ARG_SRC), dnnl_pick_x);
	blocks->y = find_block(s, dnnl_pick_operand(pd, DNNL_ARG_DST), dnnl_pick_y);
	if (blocks->x == 0 || blocks->y == 0)
		blocks->x = blocks->y = dnnl_dev_block();
	dnnl_primitive_desc_destroy(pd);
}
