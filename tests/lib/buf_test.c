/* buf_test - bytes that grow, and little-endian words. */
#include "base/buf.h"

#include "base/err.h"
#include "tap.h"

static void
grows(void)
{
	struct buf b = { 0 };
	uint8_t big[1000];
	size_t cap;

	memset(big, 7, sizeof(big));
	is(buf_put(&b, NULL, 0), 0, "nothing can be put");
	ok(b.p == NULL && b.n == 0, "... and takes no memory");
	is(buf_put(&b, "abc", 3), 0, "bytes are put");
	is(buf_put_fmt(&b, "%d-%s", 42, "x"), 0, "text is put");
	is(buf_terminate(&b), 0, "a zero behind");
	is_str((char *)b.p, "abc42-x", "... and all reads as a string");
	is(b.n, 7, "the zero is not counted");
	for (int i = 0; i < 100; i++)
		buf_put(&b, big, sizeof(big));
	is(b.n, 100007, "it grows");
	ok(memcmp(b.p, "abc42-x", 7) == 0 && b.p[100006] == 7, "... and keeps what it has");
	is(buf_room(&b, 5000), 0, "room is made");
	cap = b.cap;
	ok(cap >= b.n + 5000, "... as asked");
	is(buf_room(&b, 5000), 0, "room that is there");
	is(b.cap, cap, "... costs nothing");
	is(buf_room(&b, SIZE_MAX), ERR_NOMEM, "a size that wraps is refused");
	is(buf_room(&b, SIZE_MAX / 2), ERR_NOMEM, "... and one that nearly does");
	is(b.n, 100007, "... and nothing is lost");
	buf_free(&b);
	ok(b.p == NULL && b.n == 0 && b.cap == 0, "free leaves an empty buffer");
	buf_free(&b);
}

static void
words(void)
{
	uint8_t w[16] = { 0 };
	static const uint8_t bytes[] = { 0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01 };

	le_put16(w, 0x1234);
	le_put32(w + 2, 0x12345678);
	le_put64(w + 6, 0x0123456789abcdef);
	ok(memcmp(w, bytes, sizeof(bytes)) == 0, "words are little-endian at any address");
	ok(le_get16(w) == 0x1234 && le_get32(w + 2) == 0x12345678 && le_get64(w + 6) == 0x0123456789abcdef, "... and back");
	le_put16(w, 0xffff);
	is(le_get16(w), 0xffff, "the highest word");
	le_put32(w, 0xffffffffu);
	is(le_get32(w), 0xffffffffu, "... of four bytes");
	le_putf32(w + 1, -1.5f);
	is(le_get32(w + 1), 0xbfc00000u, "a float is its IEEE 754 bits");
	near(le_getf32(w + 1), -1.5, 0, "... and back");
}

int
main(void)
{
	grows();
	words();
	return done();
}
