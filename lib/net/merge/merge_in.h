/* merge_in - a merge and where its tensors come from: serves merge. */
#ifndef NET_MERGE_MERGE_IN_H
#define NET_MERGE_MERGE_IN_H

#include "net/merge/merge.h"

/* Where a tensor of the output comes from, in each file (a join: in one). */
struct merge_from {
	const struct tensor	**x;		/* [n]; NULL where a join has none */
	const struct tensor	**mean;		/* [n], of a running variance: its means; else NULL */
};

struct merge {
	const struct merge_opt	*o;
	struct tensors		*in;		/* [n] */
	struct tensors		 out;
	struct merge_from	*from;		/* [out.n] */
	uint64_t		 done, all;	/* bytes of the output */
	void			*raw;		/* [MERGE_PIECE] of any type */
	double			*x, *sum, *mid;	/* [MERGE_PIECE] */
};

/* The table of the output, and the source of each of its tensors; the files are open.  Returns as merge_open(). */
int	 merge_plan(struct merge *m);

#endif
