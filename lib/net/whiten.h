/*
 * whiten - a first layer that turns patches of the pictures into uncorrelated numbers of variance 1.
 *
 * With E = mean of p p^T over all patches p [C*R*S] of some pictures, and its
 * eigenvalues L and eigenvectors v, the layer's first C*R*S filters are
 * v / sqrt(L + eps), the largest L first, and the next as many are their negatives;
 * what is behind them stays.  Source: Page, "How to train your ResNet 8: bag of
 * tricks", 2019; negatives and eps = 5e-4 as in Jordan, "94% on CIFAR-10 in 3.29
 * seconds on a single GPU", 2024.  Eigenvectors by Jacobi's rotations (Golub,
 * Van Loan, "Matrix computations", 8.5).
 */
#ifndef NET_WHITEN_H
#define NET_WHITEN_H

#include "net/graph/graph.h"

/* Is there a layer that begins so? */
bool	 whiten_wanted(const struct graph *g);
/*
 * Sets the weights of all such layers in w [P] from pictures x [n,c,h,w], of which the first with 2^18 patches count; n 0
 * leaves them.  Returns 0 or ERR_NOMEM.
 */
int	 whiten_weights(const struct graph *g, const float *x, uint32_t n, float *w);

#endif
