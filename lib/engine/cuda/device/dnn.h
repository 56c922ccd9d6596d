/*
 * dnn - one convolution of one shape in one of its three directions.
 *
 * Images are [n, h, w, c] and filters [k, r, s, c / groups], dense and of one type. Sums are f32.
 * dnn.c uses cuDNN, tests/emu plain loops.
 */
#ifndef ENGINE_CUDA_DEVICE_DNN_H
#define ENGINE_CUDA_DEVICE_DNN_H

#include "engine/cuda/device/device.h"

#include <stdbool.h>

enum dnn_way {
	DNN_FORWARD,	/* y from w and x */
	DNN_DATA,	/* the gradient of x from w and dy */
	DNN_WEIGHT	/* the gradient of w from x and dy */
};

struct dnn_shape {
	enum dnn_way way;
	int	 type;		/* enum kernel_type */
	uint32_t n, c, h, w;	/* x */
	uint32_t k, oh, ow;	/* y */
	uint32_t r, s, stride[2], pad[2], dilate[2], groups;
	/* The alignment in bytes of a bias [k] of the type; 0: no bias.  DNN_FORWARD only. */
	uint32_t bias;
	bool	 tf32;		/* f32 factors may be rounded to TF32 */
	bool	 any_order;	/* sums may be taken in an order that changes from run to run */
	/* Added to y and applied to it before it is written, in this order.  Only with a bias. */
	bool	 addend;		/* images like y */
	bool	 relu;		/* after the bias */
};

struct dnn;

/*
 * Opens a convolution; *scratch gets the bytes that run needs. A race allocates memory while it
 * lasts. Returns 0, ERR_NOTSUP if there is no kernel, ERR_NOMEM or ERR_SYS.
 */
int	 dnn_open(struct device *d, const struct dnn_shape *shape, const struct engine_tune *tune, struct dnn **c,
	     size_t *scratch);
void	 dnn_close(struct dnn *c);	/* NULL is fine */
const struct dnn_shape *dnn_get_shape(const struct dnn *c);
/*
 * Another convolution of the same shape, without asking the library again. `of` must be closed
 * after it.
 */
int	 dnn_like(const struct dnn *of, struct dnn **c);
/* GPU addresses, aligned to 256 bytes except the bias. */
struct dnn_places {
	void	*x, *w, *y, *scratch;
	void	*bias, *addend;	/* if the shape has them */
};
int	 dnn_bind(struct dnn *c, const struct dnn_places *at);
int	 dnn_run(struct dnn *c);	/* enqueues it on DEVICE_MAIN */
/*
 * Appends "cuDNN engine 57 3=1, sums in any order, 1024 bytes of scratch": engine, knobs with their
 * values.
 */
int	 dnn_name(const struct dnn *c, struct buf *out);
/* The engine without its knobs: "cuDNN engine 57", "cuDNN engine 58 compiled at run time". */
void	 dnn_engine(const struct dnn *c, char text[ENGINE_CHOICE]);

#endif
