/* dnn_race - how long a planned convolution takes on this device. */
#ifndef ENGINE_CUDA_DEVICE_DNN_RACE_H
#define ENGINE_CUDA_DEVICE_DNN_RACE_H

#include "engine/cuda/device/dnn.h"

/*
 * Binds c, of this shape, to memory of its own for as long as it lasts, and runs it on DEVICE_MAIN; us [CHOOSE_RUNS]
 * gets microseconds of a run.  Returns 0, ERR_NOMEM or ERR_SYS.
 */
int	 dnn_race(struct device *d, struct dnn *c, const struct dnn_shape *s, size_t scratch, double *us);

#endif
