/*
 * dnn - one convolution of one shape in one of its three directions.
 *
 * Pictures [n, h, w, c] and filters [k, r, s, c / groups], dense, of one type; sums
 * are f32.  dnn.c asks cuDNN for it, tests/emu loops.
 */
#ifndef ENGINE_CUDA_DEVICE_DNN_H
#define ENGINE_CUDA_DEVICE_DNN_H

#include "engine/cuda/device/device.h"

#include <stdbool.h>

enum dnn_way {
	DNN_FORWARD,	/* y = w * x */
	DNN_DATA,	/* x = what y's gradient says of x */
	DNN_WEIGHT	/* w = what y's gradient says of w */
};

struct dnn_shape {
	enum dnn_way way;
	int	 type;		/* enum kernel_type */
	uint32_t n, c, h, w;	/* x */
	uint32_t k, oh, ow;	/* y */
	uint32_t r, s, stride[2], pad[2], dilate[2], groups;
	/* DNN_FORWARD alone: [k] of the type is added, at an address that is a multiple of so much; 0: none */
	uint32_t bias;
	bool	 tf32;		/* f32 may be rounded to TF32 before it is multiplied */
	bool	 any_order;	/* sums may be taken in an order that changes from run to run */
	/* What is done to y before it is written, in this order; DNN_FORWARD alone. */
	bool	 more;		/* pictures like y are added, ... */
	bool	 relu;		/* max(., 0) is applied after the bias */
};

struct dnn;

/*
 * *scratch gets the bytes that run() needs.  tune: the device's; measuring takes memory for as long as it is under way.
 * Returns 0, ERR_NOTSUP when there is no kernel for it, ERR_NOMEM or ERR_SYS.
 */
int	 dnn_open(struct device *d, const struct dnn_shape *shape, const struct engine_tune *tune, struct dnn **c,
	     size_t *scratch);
void	 dnn_close(struct dnn *c);	/* NULL is fine */
/* The same of `of`'s shape, without asking again; of is closed after it. */
int	 dnn_like(const struct dnn *of, struct dnn **c);
/* Where things are in the device's memory, 256 bytes aligned but for the bias; they are read or written by run(). */
struct dnn_places {
	void	*x, *w, *y, *scratch;
	void	*bias, *more;	/* where the shape has them */
};
int	 dnn_bind(struct dnn *c, const struct dnn_places *at);
int	 dnn_run(struct dnn *c);	/* enqueues it on DEVICE_MAIN */
/* "cuDNN engine 57 3=1, sums in any order, 1024 bytes of scratch": its number, and knobs with their values. */
int	 dnn_name(const struct dnn *c, struct buf *out);

#endif
