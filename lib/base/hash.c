/* hash - a 64-bit hash: FNV-1a. */
#include "base/hash.h"

#define PRIME	0x100000001b3u

uint64_t
hash_update(uint64_t h, const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * PRIME;
	return h;
}
