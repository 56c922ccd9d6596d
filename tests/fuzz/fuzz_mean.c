/* fuzz_mean - hostile mean images. */
#include "batch/mean.h"
#include "place.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	float mean[3 * 2 * 2];
	volatile float sum = 0;
	char path[64];

	place_put("mean.bin", p, size);
	snprintf(path, sizeof(path), "%s/mean.bin", place_dir);
	if (mean_load(path, 3, 2, 2, mean) == 0)
		for (int i = 0; i < 12; i++)
			sum = sum + mean[i];
	return 0;
}
