/* dnnl_v3 - the calls of dnnl_lib.h in oneDNN 3.x (github.com/oneapi-src/oneDNN, branch rls-v3.7, doc/). */
#include "engine/cpu/dnnl/dnnl_lib.h"

dnnl_lib_desc
dnnl_lib_desc_new(int ndims, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
	dnnl_memory_desc_t desc;

	return dnnl_memory_desc_create_with_tag(&desc, ndims, dims, type, tag) == dnnl_success ? desc : NULL;
}

dnnl_lib_desc
dnnl_lib_desc_clone(dnnl_lib_desc desc)
{
	dnnl_memory_desc_t copy;

	return dnnl_memory_desc_clone(&copy, desc) == dnnl_success ? copy : NULL;
}

void
dnnl_lib_desc_free(dnnl_lib_desc desc)
{
	dnnl_memory_desc_destroy((dnnl_memory_desc_t)(uintptr_t)desc);
}

dnnl_status_t
dnnl_lib_append_relu(dnnl_post_ops_t ops)
{
	return dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0.0f, 0.0f);
}

static dnnl_status_t
skip_kernels(const struct dnnl_lib_kernel *k, dnnl_primitive_desc_t *pd)
{
	dnnl_status_t e = dnnl_success;

	for (uint32_t i = 0; i < k->nth && e == dnnl_success; i++)
		e = dnnl_primitive_desc_next_impl(*pd);
	if (e != dnnl_success)
		dnnl_primitive_desc_destroy(*pd);
	return e;
}

dnnl_status_t
dnnl_lib_conv(dnnl_engine_t engine, const struct dnnl_lib_kernel *k, dnnl_primitive_desc_t *pd)
{
	const dnnl_alg_kind_t direct = dnnl_convolution_direct;
	dnnl_status_t e;

	switch (k->dir) {
	case DNNL_FORWARD:
		e = dnnl_convolution_forward_primitive_desc_create(pd, engine, dnnl_forward_training, direct, k->x,
		    k->w, k->bias, k->y, k->stride, k->dilate, k->pad, k->pad, k->attr);
		break;
	case DNNL_DATA:
		e = dnnl_convolution_backward_data_primitive_desc_create(pd, engine, direct, k->x, k->w, k->y,
		    k->stride, k->dilate, k->pad, k->pad, k->hint, k->attr);
		break;
	default:
		e = dnnl_convolution_backward_weights_primitive_desc_create(pd, engine, direct, k->x, k->w, k->bias,
		    k->y, k->stride, k->dilate, k->pad, k->pad, k->hint, k->attr);
	}
	return e != dnnl_success ? e : skip_kernels(k, pd);
}

dnnl_status_t
dnnl_lib_fc(dnnl_engine_t engine, const struct dnnl_lib_kernel *k, dnnl_primitive_desc_t *pd)
{
	dnnl_status_t e;

	switch (k->dir) {
	case DNNL_FORWARD:
		e = dnnl_inner_product_forward_primitive_desc_create(pd, engine, dnnl_forward_training, k->x, k->w,
		    k->bias, k->y, k->attr);
		break;
	case DNNL_DATA:
		e = dnnl_inner_product_backward_data_primitive_desc_create(pd, engine, k->x, k->w, k->y, k->hint,
		    k->attr);
		break;
	default:
		e = dnnl_inner_product_backward_weights_primitive_desc_create(pd, engine, k->x, k->w, k->bias, k->y,
		    k->hint, k->attr);
	}
	return e != dnnl_success ? e : skip_kernels(k, pd);
}
