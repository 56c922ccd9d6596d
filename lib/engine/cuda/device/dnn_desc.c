/* dnn_desc - lists of cuDNN descriptors with one status. */
#include "engine/cuda/device/dnn_desc.h"

#include <assert.h>
#include <stdbool.h>

#define ALIGNED	16	/* the alignment of all tensors in bytes */

cudnnBackendDescriptor_t
dnn_desc_new(struct dnn_desc *a, cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t d = NULL;

	if (a->e != CUDNN_STATUS_SUCCESS)
		return NULL;
	assert(a->n < DNN_DESC_MOST);
	if ((a->e = cudnnBackendCreateDescriptor(type, &d)) != CUDNN_STATUS_SUCCESS)
		return NULL;
	a->made[a->n++] = d;
	return d;
}

void
dnn_desc_set(struct dnn_desc *a, cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t n, const void *values)
{
	if (a->e == CUDNN_STATUS_SUCCESS)
		a->e = cudnnBackendSetAttribute(to, name, type, n, values);
}

void
dnn_desc_ready(struct dnn_desc *a, cudnnBackendDescriptor_t d)
{
	if (a->e == CUDNN_STATUS_SUCCESS)
		a->e = cudnnBackendFinalize(d);
}

int64_t
dnn_desc_get(struct dnn_desc *a, cudnnBackendDescriptor_t from, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t n, void *values)
{
	int64_t got = 0;

	if (a->e == CUDNN_STATUS_SUCCESS)
		a->e = cudnnBackendGetAttribute(from, name, type, n, &got, values);
	if (a->e != CUDNN_STATUS_SUCCESS)
		return 0;
	return n > 0 && got > n ? n : got;
}

void
dnn_desc_drop(struct dnn_desc *a, cudnnBackendDescriptor_t d)
{
	assert(a->n > 0 && a->made[a->n - 1] == d);
	a->n--;
	cudnnBackendDestroyDescriptor(d);
}

void
dnn_desc_join(struct dnn_desc *a, struct dnn_desc *b)
{
	assert(a->n + b->n <= DNN_DESC_MOST);
	for (uint32_t i = 0; i < b->n; i++)
		a->made[a->n++] = b->made[i];
	b->n = 0;
}

void
dnn_desc_free(struct dnn_desc *a)
{
	while (a->n > 0)
		cudnnBackendDestroyDescriptor(a->made[--a->n]);
}

/* Describes dimensions n, c, h, w in the order n, h, w, c. */
static cudnnBackendDescriptor_t
describe_tensor(struct dnn_desc *a, int64_t uid, cudnnDataType_t type, const uint32_t dim[4], int64_t aligned,
    bool kept)
{
	const int64_t size[4] = { dim[0], dim[1], dim[2], dim[3] };
	const int64_t step[4] = { size[1] * size[2] * size[3], 1, size[1] * size[3], size[1] };
	const bool gone = true;
	cudnnBackendDescriptor_t d = dnn_desc_new(a, CUDNN_BACKEND_TENSOR_DESCRIPTOR);

	dnn_desc_set(a, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	dnn_desc_set(a, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, size);
	dnn_desc_set(a, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, step);
	dnn_desc_set(a, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
	dnn_desc_set(a, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &aligned);
	if (!kept)
		dnn_desc_set(a, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &gone);
	dnn_desc_ready(a, d);
	return d;
}

cudnnBackendDescriptor_t
dnn_desc_tensor(struct dnn_desc *a, int64_t uid, cudnnDataType_t type, const uint32_t dim[4])
{
	return describe_tensor(a, uid, type, dim, ALIGNED, true);
}

cudnnBackendDescriptor_t
dnn_desc_virtual(struct dnn_desc *a, int64_t uid, const uint32_t dim[4])
{
	return describe_tensor(a, uid, CUDNN_DATA_FLOAT, dim, ALIGNED, false);
}

cudnnBackendDescriptor_t
dnn_desc_channels(struct dnn_desc *a, int64_t uid, cudnnDataType_t type, uint32_t c, uint32_t aligned)
{
	return describe_tensor(a, uid, type, (uint32_t[]){ 1, c, 1, 1 }, aligned, true);
}

cudnnBackendDescriptor_t
dnn_desc_point(struct dnn_desc *a, cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
	cudnnBackendDescriptor_t y)
{
	const cudnnDataType_t inside = CUDNN_DATA_FLOAT;
	const cudnnNanPropagation_t stays = CUDNN_PROPAGATE_NAN;
	cudnnBackendDescriptor_t what = dnn_desc_new(a, CUDNN_BACKEND_POINTWISE_DESCRIPTOR), op;

	dnn_desc_set(a, what, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
	dnn_desc_set(a, what, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &inside);
	if (mode == CUDNN_POINTWISE_RELU_FWD)	/* a NaN stays one, as in the other kernels */
		dnn_desc_set(a, what, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &stays);
	dnn_desc_ready(a, what);
	op = dnn_desc_new(a, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	dnn_desc_set(a, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &what);
	dnn_desc_set(a, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
	if (b != NULL)
		dnn_desc_set(a, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b);
	dnn_desc_set(a, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
	dnn_desc_ready(a, op);
	return op;
}

cudnnBackendDescriptor_t
dnn_desc_conv(struct dnn_desc *a, const uint32_t stride[2], const uint32_t pad[2], const uint32_t dilate[2])
{
	const int64_t dims = 2, strides[2] = { stride[0], stride[1] }, pads[2] = { pad[0], pad[1] };
	const int64_t dilations[2] = { dilate[0], dilate[1] };
	const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
	const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
	cudnnBackendDescriptor_t d = dnn_desc_new(a, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);

	dnn_desc_set(a, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &dims);
	dnn_desc_set(a, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
	dnn_desc_set(a, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	dnn_desc_set(a, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
	dnn_desc_set(a, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pads);
	dnn_desc_set(a, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilations);
	dnn_desc_set(a, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides);
	dnn_desc_ready(a, d);
	return d;
}
