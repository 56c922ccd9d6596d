/*
 * draw - what a seed decides of a job in memory before it begins.
 */
#ifndef TESTS_LAW_DRAW_H
#define TESTS_LAW_DRAW_H

#include "base/rng.h"

#include <stdbool.h>
#include <stdlib.h>

/* How many jobs are enough: instrumented code is many times slower. */
__attribute__((unused)) static unsigned
world_jobs(unsigned n)
{
	const char *san = getenv("SAN");

	return san != NULL && san[0] != 0 ? n / 10 : n;
}

/* Rules of what is frozen that leave something to learn in either net; for NULL all learns. */
__attribute__((unused)) static const char *
world_freeze(struct rng *c, bool bn)
{
	static const char *const rules[] = { "freeze:a_*", "freeze-to:a_weight", "freeze:*_bias", "freeze:b_*",
	    "freeze:bn*", "freeze-to:bn_beta" };
	uint64_t i = rng_below(c, bn ? 9 : 7);

	return i < 4 ? rules[i] : i >= 7 ? rules[i - 3] : NULL;
}

/* Rules of codecs for either net, which send a gradient of ones as it is if this is asked; for NULL all is f32. */
__attribute__((unused)) static const char *
world_codec(struct rng *c, bool ones)
{
	static const char *const rules[] = { "codec:*=f32", "codec:*=bf16", "codec:*=fp16", "codec:*_weight=bf16",
	    "codec:*=fp16;codec:a_*=bf16;codec:b_bias=f32",
	    "codec:*=2bit", "codec:*=topk:0.25", "codec:*=2bit:0.5;codec:a_*=topk:0.3;codec:b_*=bf16",
	    "codec:*=powersgd:1", "codec:*=bf16;codec:*_weight=powersgd:2" };
	uint64_t i = rng_below(c, 14);

	return i < (ones ? 6 : 10) ? rules[i] : NULL;
}

/* Do the weights after this step go into a mean? */
__attribute__((unused)) static bool
world_marked(uint64_t step)
{
	return step % 3 == 1;
}

#endif
