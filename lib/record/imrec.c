/* imrec - an image record: a header, labels and an encoded image. */
#include "record/imrec.h"
#include "base/err.h"

#include <assert.h>

int
imrec_decode(struct imrec *r, const uint8_t *data, size_t n)
{
	uint32_t flag;
	size_t bytes;	/* bytes of the labels after the header */

	if (n < IMREC_HEAD)
		return err_fail(ERR_FORMAT, "%zu bytes are too few for an image record", n);
	flag = le_get32(data);
	if (flag > (n - IMREC_HEAD) / 4)
		return err_fail(ERR_FORMAT, "%zu bytes are too few for an image record of %u labels", n, flag);
	bytes = (size_t)flag * 4;
	*r = (struct imrec){
		.id = le_get64(data + 8),
		.id2 = le_get64(data + 16),
		.labels = flag > 0 ? flag : 1,
		.label = flag > 0 ? data + IMREC_HEAD : data + 4,
		.image = data + IMREC_HEAD + bytes,
		.n = n - IMREC_HEAD - bytes,
	};
	return 0;
}

float
imrec_label(const struct imrec *r, uint32_t i)
{
	assert(i < r->labels);
	return le_getf32(r->label + (size_t)i * 4);
}

int
imrec_encode(struct buf *out, uint64_t id, const float *label, uint32_t labels, const void *image, size_t n)
{
	uint32_t flag = labels > 1 ? labels : 0;
	uint8_t *p;

	assert(labels >= 1);
	if (labels > IMREC_LABELS)
		return err_fail(ERR_LIMIT, "%u labels are too many for an image record", labels);
	ERR_TRY(buf_room(out, IMREC_HEAD + (size_t)flag * 4));
	p = out->p + out->n;
	le_put32(p, flag);
	le_putf32(p + 4, flag > 0 ? 0 : label[0]);
	le_put64(p + 8, id);
	le_put64(p + 16, 0);
	for (uint32_t i = 0; i < flag; i++)
		le_putf32(p + IMREC_HEAD + (size_t)i * 4, label[i]);
	out->n += IMREC_HEAD + (size_t)flag * 4;
	return buf_put(out, image, n);
}
