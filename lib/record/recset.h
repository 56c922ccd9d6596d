/*
 * recset - a .rec with what stands beside it: records in, files that appear at once.
 *
 * TRAIN.rec gives TRAIN.idx (idx.h), TRAIN.sum (sum.h), and TRAIN.labels with
 * the name of class i in line i + 1, where classes have names.  Until then, and
 * when a run ends early, there is what partial.h says.  "-" is standard output,
 * which gets the records alone, as they come.
 */
#ifndef RECORD_RECSET_H
#define RECORD_RECSET_H

#include "record/pack.h"
#include "source/names.h"

#include <stdbool.h>
#include <stdint.h>

struct recset_opt {
	const char	*path;
	const char	*rejects;	/* a file for what is left out, a line an item: name TAB reason; NULL: none */
	uint64_t	 command;	/* sum_of() all that decides what is packed */
	bool		 resume;	/* go on with what an earlier run of the command left */
};

struct recset;

/* Returns 0, ERR_SYS, ERR_ARG (partial.h) or ERR_NOMEM; the line names the file. */
int	 recset_create(struct recset **s, const struct recset_opt *opt);
/* Items of the source that an earlier run did, and ... */
uint64_t recset_kept(const struct recset *s);
/*
 * ... that come first, each as the source now calls it.  *reason: NULL, or
 * why it was left out, lent until the next call.  Returns 0, ERR_ARG (it was another item), or ERR_SYS or ERR_NOMEM.
 */
int	 recset_pass(struct recset *s, const struct pack_item *item, const char **reason);
/* Appends the n bytes of an item's framed record; or notes that it is left out.  Return 0, ERR_SYS or ERR_NOMEM. */
int	 recset_put(struct recset *s, const struct pack_item *item, const uint8_t *p, size_t n);
int	 recset_reject(struct recset *s, const struct pack_item *item, const char *reason);
/*
 * Writes what is left; the files appear.  Frees s, also on errors.  Old files beside the records go before the new
 * records come, and new ones come after them: whenever it is cut off, no file stands beside records that are not its own.
 */
int	 recset_commit(struct recset *s, const struct names *classes);
/* Leaves what was not committed to a later run, and frees s.  NULL is fine. */
void	 recset_abandon(struct recset *s);

uint64_t recset_records(const struct recset *s);
uint64_t recset_bytes(const struct recset *s);

#endif
