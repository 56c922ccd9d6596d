/*
 * recid - a hash that identifies a set of records.
 *
 * It covers the number of records and the bytes of at most RECID_LOOKS of them: the first, the last and others evenly
 * spaced. Processes that must read the same records compare it.  It detects mistakes, not attacks.
 */
#ifndef RECORD_RECID_H
#define RECORD_RECID_H

#include "record/recs.h"

#define RECID_LOOKS	64u

/* Computes the hash.  An unreadable record counts as such.  Returns 0, ERR_PEER or ERR_NOMEM. */
int	 recid_of(const struct recs *r, uint64_t *id);

#endif
