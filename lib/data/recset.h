/*
 * recset - a .rec with its .idx and .labels beside it: records in, three files that appear at once.
 *
 * TRAIN.rec gives TRAIN.idx, and TRAIN.labels with the name of class i in line
 * i + 1, where classes have names.  "-" is standard output, which gets the
 * records alone, as they come.
 */
#ifndef DATA_RECSET_H
#define DATA_RECSET_H

#include "data/names.h"

#include <stdint.h>

struct recset;

/* Each returns 0, ERR_SYS or ERR_NOMEM; the line names the file. */
int	 recset_create(struct recset **s, const char *path);
/* Appends the n bytes of a framed record. */
int	 recset_put(struct recset *s, uint64_t id, const uint8_t *p, size_t n);
/*
 * Writes what is left; the files appear, the records last.  Frees s, also on errors: then the records are as they were,
 * but a new .idx or .labels may stand beside them.
 */
int	 recset_commit(struct recset *s, const struct names *classes);
/* Drops what was not committed, and frees s.  NULL is fine. */
void	 recset_abandon(struct recset *s);

uint64_t recset_records(const struct recset *s);
uint64_t recset_bytes(const struct recset *s);

#endif
