/*
 * drop - which elements dropout zeroes: a function of (draw, sample, layer, element), the same in every engine.
 *
 * sample is a number within the batch; element is a place in the sample's [c, h, w].  The key of a sample comes from
 * base/rng.h.  The bits of an element are a hash of key and element without state, so elements may be computed in any
 * order, and several at once.  Hash: the better constants for two multiplications in Wellons, "Prospecting for Hash
 * Functions" (nullprogram.com, 2018).
 *
 * Training scales the elements that stay, so evaluation does nothing.
 * Source: Srivastava et al., "Dropout", JMLR 2014.
 */
#ifndef ENGINE_DROP_H
#define ENGINE_DROP_H

#include "engine/engine.h"

uint32_t drop_key(const struct engine_draw *draw, uint32_t sample, uint32_t layer);

/* An element stays if drop_bits() >= drop_bound(). */
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
