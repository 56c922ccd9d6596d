/* fuzz_source - hostile archives, from a file and from a pipe, whatever pictures their names claim. */
#include "place.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	place_put("a", p, size);
	place_read("a");
	place_pipe(p, size);
	return 0;
}
