/*
 * whiten - a first layer initialized to whiten patches of the images: uncorrelated outputs of variance 1.
 *
 * Let E be the mean of p p^T over all patches p [C*R*S] of some images, with eigenvalues L and eigenvectors v.  The
 * layer's first C*R*S filters are v / sqrt(L + eps), the largest L first.  The next C*R*S filters are their negatives.
 * Further filters stay unchanged.
 *
 * Sources: Page, "How to train your ResNet 8: bag of tricks", 2019; negatives and eps = 5e-4: Jordan, "94% on CIFAR-10
 * in 3.29 seconds on a single GPU", 2024; eigenvectors by Jacobi rotations: Golub, Van Loan, "Matrix computations",
 * 8.5.
 */
#ifndef NET_WHITEN_H
#define NET_WHITEN_H

#include "net/graph/graph.h"

/* Whether a layer of g has begin=whiten. */
bool	 whiten_wanted(const struct graph *g);
/*
 * Sets the weights of all such layers in w [P] from images x [n,c,h,w], of which it uses the first with 2^18 patches
 * together.  Changes nothing if n is 0.  Returns 0 or ERR_NOMEM.
 */
int	 whiten_weights(const struct graph *g, const float *x, uint32_t n, float *w);

#endif
