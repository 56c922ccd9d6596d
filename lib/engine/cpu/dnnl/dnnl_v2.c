/* dnnl_v2 - the calls of dnnl_lib.h in oneDNN 2.x (github.com/oneapi-src/oneDNN, branch rls-v2.6, doc/). */
#include "engine/cpu/dnnl/dnnl_lib.h"

#include <stdlib.h>

dnnl_lib_desc
dnnl_lib_desc_new(int ndims, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
	dnnl_memory_desc_t *desc = malloc(sizeof(*desc));

	if (desc != NULL && dnnl_memory_desc_init_by_tag(desc, ndims, dims, type, tag) != dnnl_success) {
		free(desc);
		return NULL;
	}
	return desc;
}

dnnl_lib_desc
dnnl_lib_desc_clone(dnnl_lib_desc desc)
{
	dnnl_memory_desc_t *copy = malloc(sizeof(*copy));

	if (copy != NULL)
		*copy = *desc;
	return copy;
}

void
dnnl_lib_desc_free(dnnl_lib_desc desc)
{
	free((void *)(uintptr_t)desc);
}

dnnl_status_t
dnnl_lib_append_relu(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
}

static dnnl_status_t
create_kernel(dnnl_engine_t engine, const struct dnnl_lib_kernel *k, const_dnnl_op_desc_t desc,
    dnnl_primitive_desc_t *pd)
{
	dnnl_primitive_desc_iterator_t each;
	dnnl_status_t e = dnnl_primitive_desc_iterator_create(&each, desc, k->attr, engine, k->hint);

	if (e != dnnl_success)
		return e;
	for (uint32_t i = 0; i < k->nth && e == dnnl_success; i++)
		e = dnnl_primitive_desc_iterator_next(each);
	if (e == dnnl_success && (*pd = dnnl_primitive_desc_iterator_fetch(each)) == NULL)
		e = dnnl_out_of_memory;
	dnnl_primitive_desc_iterator_destroy(each);
	return e;
}

dnnl_status_t
dnnl_lib_conv(dnnl_engine_t engine, const struct dnnl_lib_kernel *k, dnnl_primitive_desc_t *pd)
{
	const dnnl_alg_kind_t direct = dnnl_convolution_direct;
	dnnl_convolution_desc_t desc;
	dnnl_status_t e;

	switch (k->dir) {
	case DNNL_FORWARD:
		e = dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, direct, k->x, k->w,
		    k->bias, k->y, k->stride, k->dilate, k->pad, k->pad);
		break;
	case DNNL_DATA:
		e = dnnl_dilated_convolution_backward_data_desc_init(&desc, direct, k->x, k->w, k->y, k->stride,
		    k->dilate, k->pad, k->pad);
		break;
	default:
		e = dnnl_dilated_convolution_backward_weights_desc_init(&desc, direct, k->x, k->w, k->bias, k->y,
		    k->stride, k->dilate, k->pad, k->pad);
	}
	return e != dnnl_success ? e : create_kernel(engine, k, &desc, pd);
}

dnnl_status_t
dnnl_lib_fc(dnnl_engine_t engine, const struct dnnl_lib_kernel *k, dnnl_primitive_desc_t *pd)
{
	dnnl_inner_product_desc_t desc;
	dnnl_status_t e;

	switch (k->dir) {
	case DNNL_FORWARD:
		e = dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_training, k->x, k->w, k->bias, k->y);
		break;
	case DNNL_DATA:
		e = dnnl_inner_product_backward_data_desc_init(&desc, k->x, k->w, k->y);
		break;
	default:
		e = dnnl_inner_product_backward_weights_desc_init(&desc, k->x, k->w, k->bias, k->y);
	}
	return e != dnnl_success ? e : create_kernel(engine, k, &desc, pd);
}
