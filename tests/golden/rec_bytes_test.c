/* rec_bytes_test - the bytes of records, image records and indexes as MXNet writes them. */
#include "record/idx.h"
#include "record/imrec.h"
#include "record/rec.h"
#include "tap.h"

static const char *
hex(const struct buf *b)
{
	static char text[1024];

	text[0] = 0;
	for (size_t i = 0; i < b->n && i < 500; i++)
		snprintf(text + i * 2, 3, "%02x", b->p[i]);
	return text;
}

static void
frame_is(const void *data, size_t n, const char *want, const char *name)
{
	struct buf b = { 0 };

	is(rec_frame(&b, data, n), 0, "%s becomes a record", name);
	is_str(hex(&b), want, "%s has MXNet's bytes", name);
	buf_free(&b);
}

int
main(void)
{
	static const float one = 3, two[] = { 1, 2 };
	struct buf b = { 0 };

	frame_is("abc", 3, "0a23d7ce0300000061626300", "abc");
	frame_is("", 0, "0a23d7ce00000000", "nothing");
	frame_is("AAAA\x0a\x23\xd7\xce", 8, "0a23d7ce04000020414141410a23d7ce00000060", "AAAA and the magic word");
	frame_is("\x0a\x23\xd7\xcezz", 6, "0a23d7ce000000200a23d7ce020000607a7a0000", "the magic word and zz");
	frame_is("AA\x0a\x23\xd7\xce" "BB", 8, "0a23d7ce0800000041410a23d7ce4242", "a magic word that is not aligned");
	frame_is("\x0a\x23\xd7\xce\x0a\x23\xd7\xce", 8, "0a23d7ce000000200a23d7ce000000400a23d7ce00000060",
	    "a record of two magic words");

	is(imrec_encode(&b, 7, &one, 1, "", 0), 0, "an image record with one label is encoded");
	is_str(hex(&b), "000000000000404007000000000000000000000000000000",
	    "an image record with one label has MXNet's bytes");
	b.n = 0;
	is(imrec_encode(&b, 7, two, 2, "xy", 2), 0, "an image record with two labels is encoded");
	is_str(hex(&b), "0200000000000000070000000000000000000000000000000000803f000000407879",
	    "an image record with two labels has MXNet's bytes");
	b.n = 0;
	idx_put(&b, 0, 0);
	idx_put(&b, 18446744073709551615u, 123456789012);
	is_str(hex(&b), "30093" "00a" "3138343436373434303733373039353531363135" "09" "313233343536373839303132" "0a",
	    "an index has MXNet's lines");
	buf_free(&b);
	return done();
}
