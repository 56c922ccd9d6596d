/*
 * opt - the rules by which a gradient changes weights, over any range of floats.
 *
 * The sum of the gradients of n samples comes in; it is divided here, so that
 * who summed what in which order stays the caller's.  Element by element and
 * in one order: equal input gives equal bits on every machine, however a range
 * is cut.  Threads: ranges that do not overlap may be updated at once.
 */
#ifndef NET_OPT_H
#define NET_OPT_H

#include <stddef.h>
#include <stdint.h>

enum opt_rule {
	OPT_SGD,	/* momentum and weight decay, below; one float of state a weight */
	OPT_FOLD	/* running statistics: w = momentum * w + (1 - momentum) * g / n; no state */
};

struct opt_hyper {
	float lr;
	float momentum;
	float wd;	/* weight decay */
	float clip;	/* each element of g/n is cut to [-clip, clip]; 0: not */
};

/*
 *	d = g / n;  m = momentum * m - lr * (d + wd * w);  w = w + m
 * as MXNet's SGD (optimizer.py, 2015).  w, m, g [count].
 */
void opt_sgd(float *w, float *m, const float *g, size_t count, double n, const struct opt_hyper *h);

/* w = momentum * w + (1 - momentum) * g / n.  w, g [count]; batch norm's aux. */
void opt_fold(float *w, const float *g, size_t count, double n, float momentum);

#endif
