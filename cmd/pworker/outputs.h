/*
 * outputs - figures of evaluated samples whose outputs are compared with numbers: several labels, or values.
 *
 * A label is there if its target is at least 1/2, and predicted if its probability is.  The figures of a label count
 * the samples that have it: precision, recall, their harmonic mean F1, and the average precision, the sum of (R[n] -
 * R[n-1]) P[n] over the distinct probabilities in descending order, as scikit-learn computes it.
 */
#ifndef CMD_PWORKER_OUTPUTS_H
#define CMD_PWORKER_OUTPUTS_H

#include "base/buf.h"
#include "net/graph/graph.h"
#include "source/names.h"

struct outputs {
	enum graph_loss	 loss;
	uint32_t	 n;		/* outputs of a sample */
	const struct names *names;	/* names of the outputs, or as many as there are */
	struct buf	 pairs;		/* [samples, n] probability and target of each, for labels */
	uint64_t	 samples, right;	/* right: samples whose known labels are all predicted right */
	uint64_t	 known;		/* targets of all samples that are not NaN */
	double		 sum, squares, distances;	/* sums of the samples' losses and of the errors of values */
};

/* Adds a sample with outputs p [n] and targets [n].  Returns 0 or ERR_NOMEM. */
int	 outputs_add(struct outputs *o, const float *target, const float *p);
/* Prints a header and a row; with each also a table of the labels.  Returns 0 or ERR_NOMEM. */
int	 outputs_print(const struct outputs *o, bool each);
/* Prints the values p of a sample, a row each. */
void	 outputs_print_values(const struct outputs *o, const char *id, const float *p);
void	 outputs_close(struct outputs *o);

#endif
