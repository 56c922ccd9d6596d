/*
 * muon - updates a whole matrix by its orthogonalised momentum.
 *
 * w, m and g are [rows, cols]; a convolution's weight is [K, C*R*S].  With d = g / n, each element clipped to [-clip,
 * clip]:
 *
 * 	m = momentum m + d;  u = d + momentum m;  X = u / (|u| + eps)
 * 	turns times:  A = X X^T;  X = 3.4445 X + (-4.7750 A + 2.0315 A A) X
 * 	w = (1 - lr wd) w - lr sqrt(max(1, rows / cols)) X
 *
 * |.| is the Frobenius norm.  A matrix with more rows than columns is transposed for the middle line.  These
 * Newton-Schulz steps move the singular values of X close to 1.  With `unit`, w is first scaled to |w| = sqrt(rows),
 * unless it is 0. Sources: Jordan and others, "Muon: An optimizer for hidden layers in neural networks", 2024
 * (kellerjordan.github.io/posts/muon); unit: github.com/KellerJordan/cifar10-airbench, airbench94_muon.py.
 *
 * All arithmetic is f32, each sum in a fixed order, and fmaf() adds the products of matrices: the same bits on every
 * machine and for every number of OpenMP threads.  Threads: different matrices at the same time.
 */
#ifndef NET_OPTIM_MUON_H
#define NET_OPTIM_MUON_H

#include "net/optim/opt.h"

/* Floats of scratch memory that an update needs. */
size_t	 muon_room(size_t rows, size_t cols);
/* Performs one update; ignores l1.  room [muon_room()] is scratch memory. */
void	 muon_step(float *w, float *m, const float *g, size_t rows, size_t cols, double n, const struct opt_hyper *h,
	     float *room);

#endif
