/*
 * mean - the mean image: what is subtracted from every sample.
 *
 * The file is MXNet's: an NDArray list (v0) with one f32 array (c,h,w) of the
 * name "mean_img".  Source: mxnet src/io/iter_normalize.h.
 */
#ifndef DATA_MEAN_H
#define DATA_MEAN_H

#include <stdint.h>

/* Reads path into mean f32 [c,h,w].  Returns 0, ERR_SYS, ERR_FORMAT, ERR_SHORT or ERR_LIMIT. */
int mean_load(const char *path, float *mean, uint32_t c, uint32_t h, uint32_t w);
/* Writes it, at once or not at all. */
int mean_save(const char *path, const float *mean, uint32_t c, uint32_t h, uint32_t w);
/* The average centre crop of all pictures of a .rec that decode; the same bits for any number of threads. */
int mean_make(const char *rec, unsigned threads, float *mean, uint32_t c, uint32_t h, uint32_t w);

#endif
