/*
 * check_beside - what an .idx and a .sum say, held against the records that are met.
 *
 * Calls come in the file's order.  The first few faults are kept as lines, the others counted.
 */
#ifndef RECORD_CHECK_BESIDE_H
#define RECORD_CHECK_BESIDE_H

#include "record/check.h"
#include "record/recwalk.h"

struct check_sides;

/* Reads what stands beside the .rec.  Returns 0 or ERR_NOMEM; a file that cannot be read is a fault of it. */
int	 check_sides_open(struct check_sides **s, const char *rec);
void	 check_sides_close(struct check_sides *s);	/* NULL is fine */
/* A record with its id.  Returns 0, or ERR_ITEM when its bytes are not those of the sum. */
int	 check_sides_record(struct check_sides *s, const struct recwalk_rec *r, uint64_t id);
/* Bytes up to here are damage that was told of: what should begin there is not asked for. */
void	 check_sides_lost(struct check_sides *s, uint64_t to);
/* At the end of the file: tells the faults to sink->bad.  Returns 0 or what that returned. */
int	 check_sides_end(struct check_sides *s, const struct check_sink *sink, struct check_found *found);

#endif
