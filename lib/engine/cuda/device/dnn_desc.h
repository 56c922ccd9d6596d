/*
 * dnn_desc - cuDNN's descriptors, made one after the other, with one look at the end whether all went well.
 *
 * After the first failure, which e keeps, all calls but free do nothing.  All
 * that new() made is freed together, the last one first.
 */
#ifndef ENGINE_CUDA_DEVICE_DNN_DESC_H
#define ENGINE_CUDA_DEVICE_DNN_DESC_H

#include <cudnn.h>
#include <stdint.h>

#define DNN_DESC_MOST 128

struct dnn_desc {
	cudnnBackendDescriptor_t made[DNN_DESC_MOST];
	uint32_t	n;
	cudnnStatus_t	e;
};

cudnnBackendDescriptor_t dnn_desc_new(struct dnn_desc *a, cudnnBackendDescriptorType_t type);
void	 dnn_desc_set(struct dnn_desc *a, cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name,
	     cudnnBackendAttributeType_t type, int64_t n, const void *values);
void	 dnn_desc_ready(struct dnn_desc *a, cudnnBackendDescriptor_t d);	/* finalized */
/* Up to n values; returns how many there are, 0 after a failure. */
int64_t	 dnn_desc_get(struct dnn_desc *a, cudnnBackendDescriptor_t from, cudnnBackendAttributeName_t name,
	     cudnnBackendAttributeType_t type, int64_t n, void *values);
/* d is not needed any more: the one that was made last. */
void	 dnn_desc_drop(struct dnn_desc *a, cudnnBackendDescriptor_t d);
/* What b made is a's now. */
void	 dnn_desc_join(struct dnn_desc *a, struct dnn_desc *b);
void	 dnn_desc_free(struct dnn_desc *a);

/* A dense tensor of dim n c h w that lies n h w c; also a filter, k c r s that lies k r s c. */
cudnnBackendDescriptor_t dnn_desc_tensor(struct dnn_desc *a, int64_t uid, cudnnDataType_t type, const uint32_t dim[4]);
/* Numbers that are not kept, f32, of such a tensor; one for each of c channels, at a multiple of `aligned` bytes. */
cudnnBackendDescriptor_t dnn_desc_virtual(struct dnn_desc *a, int64_t uid, const uint32_t dim[4]);
cudnnBackendDescriptor_t dnn_desc_channels(struct dnn_desc *a, int64_t uid, cudnnDataType_t type, uint32_t c,
    uint32_t aligned);
/* y = x mode b, with f32 inside; b NULL where the mode has one input. */
cudnnBackendDescriptor_t dnn_desc_point(struct dnn_desc *a, cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t x,
	     cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t y);
/* A cross-correlation with sums in f32. */
cudnnBackendDescriptor_t dnn_desc_conv(struct dnn_desc *a, const uint32_t stride[2], const uint32_t pad[2],
	     const uint32_t dilate[2]);

#endif
