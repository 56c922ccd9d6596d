/* fuzz_mnist - hostile MNIST files: the first byte is the length of the file of labels, which follows; the rest is pictures. */
#include "place.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	size_t labels;

	if (size < 1)
		return 0;
	labels = p[0] < size - 1 ? p[0] : size - 1;
	place_put("train-labels-idx1-ubyte", p + 1, labels);
	place_put("train-images-idx3-ubyte", p + 1 + labels, size - 1 - labels);
	place_read(NULL);
	return 0;
}
