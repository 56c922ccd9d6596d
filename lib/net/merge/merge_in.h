/* merge_in - the internals of a merge: where each output tensor comes from. */
#ifndef NET_MERGE_MERGE_IN_H
#define NET_MERGE_MERGE_IN_H

#include "net/merge/merge.h"

/* The source of an output tensor in each file; a join has one file. */
struct merge_from {
	const struct tensor	**x;		/* [n]; in a join NULL for all files but one */
	bool			 one;		/* taken from the one file whose x is set, as in a join */
	bool			 same;		/* must be equal in all files */
	const struct tensor	**mean;		/* [n] the means that belong to a running variance, else NULL */
};

struct merge {
	const struct merge_opt	*o;
	struct tensors		*in;		/* [n] */
	struct tensors		 out;
	struct merge_from	*from;		/* [out.n] */
	bool			*picks, *drops;	/* [npick], [ndrop] whether the pattern fits a tensor */
	uint64_t		 done, all;	/* bytes of the output, for progress */
	void			*raw;		/* [MERGE_PIECE] elements of any type */
	double			*x, *sum, *mid;	/* [MERGE_PIECE] */
};

/* Builds the output's table and finds each tensor's source; the files are open.  Returns as merge_open(). */
int	 merge_plan(struct merge *m);
/* Returns 0, or ERR_ARG if the files of a join are parts of merge_split() by their names, and one is missing. */
int	 merge_check_parts(const struct merge_opt *o);

#endif
