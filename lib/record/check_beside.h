/*
 * check_beside - compares an .idx and a .sum with the records of a .rec.
 *
 * Calls are in the file's order.  The first few errors are kept as messages, the others are counted.
 */
#ifndef RECORD_CHECK_BESIDE_H
#define RECORD_CHECK_BESIDE_H

#include "record/check.h"
#include "record/recwalk.h"

struct check_sides;

/* Opens the files beside the .rec.  Returns 0 or ERR_NOMEM; an unreadable file is reported at the end. */
int	 check_sides_open(const char *rec, struct check_sides **s);
void	 check_sides_close(struct check_sides *s);	/* NULL is fine */
/* Checks a record.  Returns 0, or ERR_ITEM if its checksum differs. */
int	 check_sides_record(struct check_sides *s, const struct recwalk_rec *r, uint64_t id);
/* Notes damage up to an offset: records that should begin before it are not missed. */
void	 check_sides_lost(struct check_sides *s, uint64_t to);
/* At the end of the file, reports the errors to sink->bad().  Returns 0 or its result. */
int	 check_sides_end(struct check_sides *s, const struct check_sink *sink, struct check_found *found);

#endif
