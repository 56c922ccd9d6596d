/*
 * drop - which elements dropout leaves out: a function of (draw, sample, layer, element), the same in every engine.
 *
 * Sample is the number within the batch, element the place in a picture's
 * [c, h, w].  A sample's key comes from rng's generator, each element's 32 bits
 * from a mix of key and number that has no state, so that elements may be taken
 * in any order and many at a time.  Mix: Wellons, "Prospecting for hash
 * functions" (nullprogram.com, 2018), its best of two multiplications.
 *
 * Source: Srivastava et al., "Dropout", JMLR 2014; scaled in training, so that
 * evaluation has nothing to do.
 */
#ifndef ENGINE_DROP_H
#define ENGINE_DROP_H

#include "engine/engine.h"

uint32_t drop_key(const struct engine_draw *draw, uint32_t sample, uint32_t layer);

/* An element stays where drop_bits() >= drop_bound(). */
static inline uint32_t
drop_bound(float drop)
{
	return (uint32_t)((double)drop * 4294967296.0);
}

static inline uint32_t
drop_bits(uint32_t key, uint32_t element)
{
	uint32_t h = key ^ element * 0x9e3779b1u;

	h ^= h >> 16;
	h *= 0x21f0aaadu;
	h ^= h >> 15;
	h *= 0xd35a2d97u;
	return h ^ h >> 15;
}

#endif
