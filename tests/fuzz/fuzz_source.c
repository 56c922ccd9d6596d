/* fuzz_source - hostile archives, whatever pictures their names claim. */
#include "place.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	place_put("a", p, size);
	place_read("a");
	return 0;
}
