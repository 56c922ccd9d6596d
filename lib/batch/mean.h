/*
 * mean - the mean image: what is subtracted from every sample.
 *
 * The file is MXNet's: an NDArray list with one f32 array (c,h,w) of the name
 * "mean_img" or without one; a file of safetensors of that name is read as well.
 * Source: mxnet src/io/iter_normalize.h; the formats are in tensor/tensors.h.
 */
#ifndef BATCH_MEAN_H
#define BATCH_MEAN_H

#include "base/lockfile.h"
#include "record/recs.h"
#include "batch/aug.h"

/* Reads path into mean f32 [c,h,w].  Returns 0, ERR_FORMAT, or what tensors_open() returns. */
int mean_load(const char *path, float *mean, uint32_t c, uint32_t h, uint32_t w);
/* Writes it, at once or not at all. */
int mean_save(const char *path, const float *mean, uint32_t c, uint32_t h, uint32_t w);

/*
 * The average of the samples [a->c,h,w] of all pictures that decode and are large enough, made as aug_plain() says, before
 * colours and numbers; the same bits for any number of threads (0: a choice).  o, which may be NULL, shows meanwhile
 * that the process lives.  Returns 0, ERR_FORMAT (no such picture), ERR_NOMEM, or what reading the records gives.
 */
int mean_make(const struct recs *r, const struct aug *a, unsigned threads, struct lockfile *o, float *mean);

/*
 * Loads path; where it is not there, one of the processes that call this makes and saves it, and the others wait.
 * Returns 1 when it was made here, 0, or what the others return.
 */
int mean_get(const char *path, const struct recs *r, const struct aug *a, unsigned threads, lockfile_waiting *waiting,
	void *arg, float *mean);

#endif
