/* fuzz_cifar - hostile CIFAR-10 files. */
#include "place.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	place_put("data_batch_1.bin", p, size);
	place_read("data_batch_1.bin");
	return 0;
}
