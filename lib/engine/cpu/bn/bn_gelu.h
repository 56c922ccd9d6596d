/*
 * bn_gelu - polynomials for gelu of bf16, which cpu_act.c and bn_bf16.c use.
 *
 * For |x| <= 4 each is 1/2 + x p(x^2), where p has these coefficients, the highest power first.  Beyond, it keeps its
 * value at -4 or 4.  The odd part is fitted for the smallest largest error, and is -1/2 at -4 and 1/2 at 4 but for 1e-6
 * of the distribution, whose callers limit it to [0, 1], and 1e-5 of the slope.  Errors of the normal distribution and
 * of gelu's slope are at most 4e-5 and 6e-4, and those of gelu at most 1.4e-4.  Near -4 the error of gelu is as large
 * as gelu.  tests/op/act_test.c compares them with the error function.
 */
#ifndef ENGINE_CPU_BN_BN_GELU_H
#define ENGINE_CPU_BN_BN_GELU_H

#define BN_GELU_TERMS	8
#define BN_GELU_MOST	4.0f	/* the largest |x| */

/* P(Z <= x) of a normal Z. */
#define BN_GELU_NORMAL { -1.278794515e-9f, 1.044912636e-7f, -3.710773399e-6f, 7.620412362e-5f, \
	-1.021134318e-3f, 9.581672959e-3f, -6.606449187e-2f, 3.988057077e-1f }
/* The slope of x P(Z <= x). */
#define BN_GELU_SLOPE { -2.150158984e-8f, 1.527717586e-6f, -4.626929513e-5f, 7.875550655e-4f, \
	-8.381834254e-3f, 5.844951421e-2f, -2.662777305e-1f, 7.989683151e-1f }

#endif
