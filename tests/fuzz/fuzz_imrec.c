/* fuzz_imrec - hostile image records: labels and image are inside the bytes, and encoding returns them. */
#include "record/imrec.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	struct buf b = { 0 };
	struct imrec r;
	float *label;

	if (imrec_decode(&r, p, size) < 0)
		return 0;
	if (r.labels < 1 || r.image < p || r.image + r.n != p + size || r.label < p || r.label + r.labels * 4 > p + size)
		abort();
	label = malloc(r.labels * sizeof(*label));
	for (uint32_t i = 0; i < r.labels; i++)
		label[i] = imrec_label(&r, i);
	if (r.labels <= IMREC_LABELS) {
		struct imrec back;

		if (imrec_encode(&b, r.id, label, r.labels, r.image, r.n) < 0 || imrec_decode(&back, b.p, b.n) < 0 ||
		    back.id != r.id || back.labels != r.labels || back.n != r.n ||
		    memcmp(back.label, r.label, r.labels * 4) != 0 || memcmp(back.image, r.image, r.n) != 0)
			abort();
	}
	free(label);
	buf_free(&b);
	return 0;
}
