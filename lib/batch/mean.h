/*
 * mean - the mean image, which is subtracted from every sample.
 *
 * The file has MXNet's format: an NDArray list with one f32 array (c,h,w), named "mean_img" or unnamed.  A safetensors
 * file with a tensor of that name is accepted, too.  Source: MXNet, src/io/iter_normalize.h; formats: tensor/tensors.h.
 */
#ifndef BATCH_MEAN_H
#define BATCH_MEAN_H

#include "base/lockfile.h"
#include "record/recs.h"
#include "batch/aug.h"

/* Reads path into mean f32 [c,h,w].  Returns 0, ERR_FORMAT, or an error of tensors_open(). */
int mean_load(const char *path, uint32_t c, uint32_t h, uint32_t w, float *mean);
/* Writes the file atomically. */
int mean_save(const char *path, const float *mean, uint32_t c, uint32_t h, uint32_t w);

/*
 * Averages the samples [a->c,h,w] of all images that decode and are large enough, made by aug_plain() without colours
 * and normalization.  The number of threads (0: a default) does not change a bit.  Touches the lock file o, unless
 * NULL, as a sign of life.  Returns 0, ERR_FORMAT (no such image), ERR_NOMEM, or an error of reading.
 */
int mean_make(const struct recs *r, const struct aug *a, unsigned threads, struct lockfile *o, float *mean);

/*
 * Loads path.  If it does not exist, one of the calling processes makes and saves it and the others wait.  Returns 1 if
 * this process made it, else 0, or an error of the functions above.
 */
int mean_get(const char *path, const struct recs *r, const struct aug *a, unsigned threads, lockfile_waiting *waiting,
	void *arg, float *mean);

#endif
