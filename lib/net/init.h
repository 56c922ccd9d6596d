/*
 * init - a net's first weights, a function of (graph, rule, seed).
 *
 * Biases and betas 0, gammas 1, moving means 0, moving variances 1; the weights
 * by rule: uniform:A (-A..A), normal:SIGMA, xavier:MAGNITUDE (uniform, bound
 * sqrt(MAGNITUDE / fan_in)), msra (normal, sigma sqrt(2 / fan_in)).  Each array
 * draws from a stream of its own.  Source: mxnet python/mxnet/initializer.py.
 *
 * A layer that begins as the identity (net/graph/graph.h) has, of each group, as many
 * filters as it has channels hand one channel on as it is, by a 1 in the middle
 * of zeros; the filters behind them begin by the rule.  Source: PyTorch,
 * torch.nn.init.dirac_, as Jordan, "94% on CIFAR-10 in 3.29 seconds", 2024, has it.
 */
#ifndef NET_INIT_H
#define NET_INIT_H

#include "net/graph/graph.h"

/* Is this a rule?  0 or ERR_FORMAT. */
int init_check(const char *rule);
/* w [P], aux [A].  Returns 0 or ERR_FORMAT when the rule is none of these. */
int init_weights(const struct graph *g, const char *rule, uint64_t seed, float *w, float *aux);

#endif
