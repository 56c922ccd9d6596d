/*
 * beside - the names of the files beside a .rec.
 *
 * TRAIN.rec has TRAIN.idx, TRAIN.sum and TRAIN.labels.  If the name does not end with .rec, the suffix is appended.
 */
#ifndef RECORD_BESIDE_H
#define RECORD_BESIDE_H

/* Returns the name, which the caller frees, or NULL if out of memory. */
char	*beside_name(const char *rec, const char *ending);

#endif
