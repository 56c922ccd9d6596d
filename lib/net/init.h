/*
 * init - a net's first weights, a function of (graph, rule, seed).
 *
 * Biases and betas 0, gammas 1, moving means 0, moving variances 1; the weights
 * by rule: uniform:A (-A..A), normal:SIGMA, xavier:MAGNITUDE (uniform, bound
 * sqrt(MAGNITUDE / fan_in)), msra (normal, sigma sqrt(2 / fan_in)).  Each array
 * draws from a stream of its own.  Source: mxnet python/mxnet/initializer.py.
 */
#ifndef NET_INIT_H
#define NET_INIT_H

#include "net/graph.h"

/* Is this a rule?  0 or ERR_FORMAT. */
int init_check(const char *rule);
/* w [P], aux [A].  Returns 0 or ERR_FORMAT when the rule is none of these. */
int init_weights(const struct graph *g, const char *rule, uint64_t seed, float *w, float *aux);

#endif
