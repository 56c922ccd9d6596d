/* proto_test - fields compared with protobuf.dev, Encoding, and lengths of one, two and three bytes. */
#include "base/proto.h"
#include "tap.h"

#include <stdlib.h>

static void
check_bytes(struct proto *p, const char *want, size_t n, const char *what)
{
	ok(p->e == 0 && p->b.n == n && memcmp(p->b.p, want, n) == 0, "%s", what);
	buf_free(&p->b);
}

/* A nested message of n bytes has the header of a field of n bytes. */
static void
check_nested(size_t n)
{
	char *text = calloc(1, n + 1);
	struct proto a = { 0 }, b = { 0 };
	size_t at;

	memset(text, 'x', n);
	at = proto_open(&a, 3);
	buf_put(&a.b, text, n);
	proto_close(&a, at);
	proto_uint(&a, 1, 1);
	proto_head(&b, 3, n);
	buf_put(&b.b, text, n);
	proto_uint(&b, 1, 1);
	check_bytes(&a, (const char *)b.b.p, b.b.n, "a nested message and the field after it");
	buf_free(&b.b);
	free(text);
}

int
main(void)
{
	struct proto p = { 0 };
	size_t out, in;

	proto_uint(&p, 1, 150);
	check_bytes(&p, "\x08\x96\x01", 3, "proto_uint writes a varint");
	proto_text(&p, 2, "testing");
	check_bytes(&p, "\x12\x07testing", 9, "proto_text writes a field of bytes");
	out = proto_open(&p, 3);
	proto_uint(&p, 1, 150);
	proto_close(&p, out);
	check_bytes(&p, "\x1a\x03\x08\x96\x01", 5, "proto_open and proto_close write a nested message");
	proto_uint(&p, 2, (uint64_t)-2);
	check_bytes(&p, "\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "proto_uint writes a negative number in ten bytes");
	proto_float(&p, 20, 1);
	check_bytes(&p, "\xa5\x01\0\0\x80\x3f", 6, "proto_float writes a float after a tag of two bytes");
	proto_double(&p, 1, -2);
	check_bytes(&p, "\x09\0\0\0\0\0\0\0\xc0", 9, "proto_double writes a double");
	out = proto_open(&p, 1);
	in = proto_open(&p, 2);
	proto_close(&p, in);
	proto_close(&p, out);
	check_bytes(&p, "\x0a\x02\x12\0", 4, "an empty message is nested in another");
	for (size_t n = 126; n < 130; n++)
		check_nested(n);
	check_nested(16383);
	check_nested(16384);
	return done();
}
