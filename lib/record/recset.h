/*
 * recset - writes a .rec and the files beside it, which appear atomically.
 *
 * TRAIN.rec has TRAIN.idx (idx.h), TRAIN.sum (sum.h) and, if classes have names, TRAIN.labels with the name of class i
 * in line i + 1.  Until the end there are the files of partial.h.  "-" is standard output, which gets only the records,
 * at once.
 */
#ifndef RECORD_RECSET_H
#define RECORD_RECSET_H

#include "record/pack.h"
#include "source/names.h"

#include <stdbool.h>
#include <stdint.h>

struct recset_opt {
	const char	*path;
	const char	*rejects;	/* a file for items left out, one line each: name TAB reason; NULL: none */
	uint64_t	 command;	/* sum_of() all options that influence the records */
	bool		 resume;	/* continue an earlier run of the command */
};

struct recset;

/*
 * Returns 0, ERR_SYS (such as no folder for one of the files), ERR_ARG (partial.h; the rejects are a directory) or
 * ERR_NOMEM; the message names the file.
 */
int	 recset_create(const struct recset_opt *opt, struct recset **s);
/* The number of items that an earlier run packed or left out.  They are the source's first. */
uint64_t recset_kept(const struct recset *s);
/*
 * Skips the next of these items.  *reason is NULL, or why the item was left out, valid until the next call.  Returns 0,
 * ERR_ARG (the earlier run had another item), ERR_SYS or ERR_NOMEM.
 */
int	 recset_pass(struct recset *s, const struct pack_item *item, const char **reason);
/* Append an item's framed record of n bytes, or note that it is left out.  Return 0, ERR_SYS or ERR_NOMEM. */
int	 recset_put(struct recset *s, const struct pack_item *item, const uint8_t *p, size_t n);
int	 recset_reject(struct recset *s, const struct pack_item *item, const char *reason);
/*
 * Writes the rest and renames the files.  Frees s, also on errors.  Old files beside the records are removed before the
 * new records appear, and new ones appear after them: even if interrupted, no file is beside records of another run.
 */
int	 recset_commit(struct recset *s, const struct names *classes);
/* Leaves the files to a later run and frees s.  NULL is fine. */
void	 recset_abandon(struct recset *s);

uint64_t recset_records(const struct recset *s);
uint64_t recset_bytes(const struct recset *s);

#endif
