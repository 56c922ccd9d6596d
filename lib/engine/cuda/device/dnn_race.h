/* dnn_race - the run time of a planned convolution. */
#ifndef ENGINE_CUDA_DEVICE_DNN_RACE_H
#define ENGINE_CUDA_DEVICE_DNN_RACE_H

#include "engine/cuda/device/dnn.h"

/*
 * Runs c, of this shape, on DEVICE_MAIN with memory of its own; us [CHOOSE_RUNS] gets microseconds
 * per run. Returns 0, ERR_NOMEM or ERR_SYS.
 */
int	 dnn_race(struct device *d, struct dnn *c, const struct dnn_shape *s, size_t scratch, double *us);

#endif
