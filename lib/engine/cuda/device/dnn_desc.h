/*
 * dnn_desc - lists of cuDNN descriptors with one status.
 *
 * After the first failure, which e keeps, all calls except free do nothing, so that the caller
 * checks e once. free() destroys the descriptors in reverse order.
 */
#ifndef ENGINE_CUDA_DEVICE_DNN_DESC_H
#define ENGINE_CUDA_DEVICE_DNN_DESC_H

#include <cudnn.h>
#include <stdint.h>

#define DNN_DESC_MOST 128

/*
 * A device that is not present, and its attributes: text in JSON; of heuristics and of plans.  By number, because the
 * headers name them from cuDNN 9.8 on only.
 */
#define DNN_DESC_DEVICE		((cudnnBackendDescriptorType_t)38)
#define DNN_DESC_DEVICE_JSON	((cudnnBackendAttributeName_t)2702)
#define DNN_DESC_HEUR_DEVICE	((cudnnBackendAttributeName_t)204)
#define DNN_DESC_PLAN_DEVICE	((cudnnBackendAttributeName_t)407)

struct dnn_desc {
	cudnnBackendDescriptor_t made[DNN_DESC_MOST];
	uint32_t	n;
	cudnnStatus_t	e;
};

cudnnBackendDescriptor_t dnn_desc_new(struct dnn_desc *a, cudnnBackendDescriptorType_t type);
void	 dnn_desc_set(struct dnn_desc *a, cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name,
	     cudnnBackendAttributeType_t type, int64_t n, const void *values);
void	 dnn_desc_ready(struct dnn_desc *a, cudnnBackendDescriptor_t d);	/* finalizes it */
/*
 * Gets up to n values.  Returns their number, never above n, or 0 after a failure.  n 0: returns the number
 * of all.
 */
int64_t	 dnn_desc_get(struct dnn_desc *a, cudnnBackendDescriptor_t from, cudnnBackendAttributeName_t name,
	     cudnnBackendAttributeType_t type, int64_t n, void *values);
/* Destroys d, which must be the last one made. */
void	 dnn_desc_drop(struct dnn_desc *a, cudnnBackendDescriptor_t d);
/* Moves b's descriptors to a. */
void	 dnn_desc_join(struct dnn_desc *a, struct dnn_desc *b);
void	 dnn_desc_free(struct dnn_desc *a);

/*
 * A tensor of dimensions n, c, h, w in the order n, h, w, c, or a filter k, c, r, s in the order k,
 * r, s, c.
 */
cudnnBackendDescriptor_t dnn_desc_tensor(struct dnn_desc *a, int64_t uid, cudnnDataType_t type, const uint32_t dim[4]);
/*
 * virtual: an f32 tensor that is not in memory. channels: one value per channel, at this alignment.
 */
cudnnBackendDescriptor_t dnn_desc_virtual(struct dnn_desc *a, int64_t uid, const uint32_t dim[4]);
cudnnBackendDescriptor_t dnn_desc_channels(struct dnn_desc *a, int64_t uid, cudnnDataType_t type, uint32_t c,
    uint32_t aligned);
/* y = mode(x, b) in f32; b NULL: a mode with one input. */
cudnnBackendDescriptor_t dnn_desc_point(struct dnn_desc *a, cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t x,
	     cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t y);
/* A cross-correlation with sums in f32. */
cudnnBackendDescriptor_t dnn_desc_conv(struct dnn_desc *a, const uint32_t stride[2], const uint32_t pad[2],
	     const uint32_t dilate[2]);

#endif
