/* drop - the key of a sample's dropout mask. */
#include "engine/drop.h"

#include "base/rng.h"

#define STREAM	0x64726f70u	/* "drop": differs from the streams of the shuffle and of the initial weights */

uint32_t
drop_key(const struct engine_draw *draw, uint32_t sample, uint32_t layer)
{
	struct rng step = rng_start(draw->seed, STREAM, draw->step);
	struct rng r = rng_start(rng_u64(&step), draw->first + sample, layer);

	return (uint32_t)(rng_u64(&r) >> 32);
}
