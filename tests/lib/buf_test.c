/* buf_test - a byte buffer that grows, and little-endian words. */
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
	is(buf_put(&b, NULL, 0), 0, "buf_put of no bytes succeeds");
	ok(b.p == NULL && b.n == 0, "buf_put of no bytes allocates nothing");
	is(buf_put(&b, "abc", 3), 0, "buf_put appends bytes");
	is(buf_put_fmt(&b, "%d-%s", 42, "x"), 0, "buf_put_fmt appends text");
	is(buf_terminate(&b), 0, "buf_terminate succeeds");
	is_str((char *)b.p, "abc42-x", "a terminated buffer reads as a C string");
	is(b.n, 7, "the terminating zero is not counted");
	for (int i = 0; i < 100; i++)
		buf_put(&b, big, sizeof(big));
	is(b.n, 100007, "buf_put grows the buffer");
	ok(memcmp(b.p, "abc42-x", 7) == 0 && b.p[100006] == 7, "growing keeps the bytes");
	is(buf_room(&b, 5000), 0, "buf_room succeeds");
	cap = b.cap;
	ok(cap >= b.n + 5000, "buf_room allocates the room asked for");
	is(buf_room(&b, 5000), 0, "buf_room succeeds where there is room");
	is(b.cap, cap, "buf_room does not grow a buffer that has room");
	is(buf_room(&b, SIZE_MAX), ERR_NOMEM, "buf_room refuses a size that overflows");
	is(buf_room(&b, SIZE_MAX / 2), ERR_NOMEM, "buf_room refuses a size that nearly overflows");
	is(b.n, 100007, "a refused size leaves the buffer unchanged");
	buf_free(&b);
	ok(b.p == NULL && b.n == 0 && b.cap == 0, "buf_free leaves an empty buffer");
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
	ok(memcmp(w, bytes, sizeof(bytes)) == 0,
	    "le_put writes little-endian words at any address");
	ok(le_get16(w) == 0x1234 && le_get32(w + 2) == 0x12345678 && le_get64(w + 6) == 0x0123456789abcdef,
	    "le_get reads back what le_put wrote");
	le_put16(w, 0xffff);
	is(le_get16(w), 0xffff, "le_get16 reads the largest word");
	le_put32(w, 0xffffffffu);
	is(le_get32(w), 0xffffffffu, "le_get32 reads the largest word");
	le_putf32(w + 1, -1.5f);
	is(le_get32(w + 1), 0xbfc00000u, "le_putf32 writes the IEEE 754 bits");
	near(le_getf32(w + 1), -1.5, 0, "le_getf32 reads them back");
}

int
main(void)
{
	grows();
	words();
	return done();
}
