/*
 * recid - records in, 64 bits that tell them from other records.
 *
 * The hash of their number and of the bytes of at most RECID_LOOKS of them, the first, the last and others evenly
 * between: processes that are to read the same records compare it.  It finds mistakes, not malice.
 */
#ifndef RECORD_RECID_H
#define RECORD_RECID_H

#include "record/recs.h"

#define RECID_LOOKS	64u

/* A record that cannot be read is told by that.  Returns 0, ERR_PEER or ERR_NOMEM. */
int	 recid_of(const struct recs *r, uint64_t *id);

#endif
