/*
 * beside - the names of the files that stand beside a .rec.
 *
 * TRAIN.rec has TRAIN.idx, TRAIN.sum and TRAIN.labels; a name without the ending .rec is only added to.
 */
#ifndef RECORD_BESIDE_H
#define RECORD_BESIDE_H

/* The name, which is the caller's to free; NULL when out of memory. */
char	*beside_name(const char *rec, const char *ending);

#endif
