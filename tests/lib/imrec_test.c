/* imrec_test - image records are encoded and decoded; too few bytes are refused. */
#include "base/err.h"
#include "record/imrec.h"
#include "tap.h"

int
main(void)
{
	static const float label[] = { 1.5f, -2, 7 };
	struct buf b = { 0 };
	struct imrec r;
	uint8_t many[IMREC_HEAD] = { 0xff, 0xff, 0xff, 0xff };

	is(imrec_encode(&b, 0x123456789abcdef0u, label, 3, "picture", 7), 0, "a record of three labels is encoded");
	is(imrec_decode(&r, b.p, b.n), 0, "a record of three labels is decoded");
	ok(r.id == 0x123456789abcdef0u && r.id2 == 0, "the id");
	is(r.labels, 3, "the number of labels");
	ok(imrec_label(&r, 0) == 1.5f && imrec_label(&r, 1) == -2 && imrec_label(&r, 2) == 7, "the labels");
	ok(r.n == 7 && memcmp(r.image, "picture", 7) == 0, "the image");
	is(imrec_decode(&r, b.p, IMREC_HEAD + 11), ERR_FORMAT, "truncated labels are refused");
	is(imrec_decode(&r, b.p, IMREC_HEAD + 12), 0, "a record without an image is decoded");
	is(r.n, 0, "a record without an image has an empty one");
	b.n = 0;
	is(imrec_encode(&b, 1, label, 1, "p", 1), 0, "a record of one label is encoded");
	is(imrec_decode(&r, b.p, b.n), 0, "a record of one label is decoded");
	ok(r.labels == 1 && imrec_label(&r, 0) == 1.5f && r.n == 1, "the record has its label and image");
	is(imrec_decode(&r, b.p, IMREC_HEAD - 1), ERR_FORMAT, "a truncated header is refused");
	is(imrec_decode(&r, many, sizeof(many)), ERR_FORMAT, "2^32 - 1 labels in 24 bytes are refused");
	is(imrec_encode(&b, 1, label, IMREC_LABELS + 1, "p", 1), ERR_LIMIT, "too many labels are refused");
	buf_free(&b);
	return done();
}
