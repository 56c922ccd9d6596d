/* num_finite - whether all floats of an array are finite. */
#include "base/isa.h"
#include "base/num.h"

#include <string.h>

/* Compares the exponent bits, which the compiler vectorizes. */
ISA_CLONES(extern, bool, num_finite, (const float *p, size_t n), (p, n))
{
	uint32_t bits, bad = 0;

	for (size_t i = 0; i < n; i++) {
		memcpy(&bits, p + i, sizeof(bits));
		bad |= (bits & 0x7f800000u) == 0x7f800000u;
	}
	return bad == 0;
}
