/* seal_test - records of TLS 1.3: the bytes of RFC 8448, and what is refused. */
#include "tap.h"
#include "wire/seal.h"

/* RFC 8448, 3: the client's traffic secret, and its record of the bytes 0 to 49. */
static const uint8_t secret[SEAL_SECRET] = {
	0x9e, 0x40, 0x64, 0x6c, 0xe7, 0x9a, 0x7f, 0x9d, 0xc0, 0x5a, 0xf8, 0x88, 0x9b, 0xce, 0x65, 0x52,
	0x87, 0x5a, 0xfa, 0x0b, 0x06, 0xdf, 0x00, 0x87, 0xf7, 0x92, 0xeb, 0xb7, 0xc1, 0x75, 0x04, 0xa5,
};
static const uint8_t known[] = {
	0x17, 0x03, 0x03, 0x00, 0x43, 0xa2, 0x3f, 0x70, 0x54, 0xb6, 0x2c, 0x94, 0xd0, 0xaf, 0xfa, 0xfe,
	0x82, 0x28, 0xba, 0x55, 0xcb, 0xef, 0xac, 0xea, 0x42, 0xf9, 0x14, 0xaa, 0x66, 0xbc, 0xab, 0x3f,
	0x2b, 0x98, 0x19, 0xa8, 0xa5, 0xb4, 0x6b, 0x39, 0x5b, 0xd5, 0x4a, 0x9a, 0x20, 0x44, 0x1e, 0x2b,
	0x62, 0x97, 0x4e, 0x1f, 0x5a, 0x62, 0x92, 0xa2, 0x97, 0x70, 0x14, 0xbd, 0x1e, 0x3d, 0xea, 0xe6,
	0x3a, 0xee, 0xbb, 0x21, 0x69, 0x49, 0x15, 0xe4,
};

enum { N = 50 };

static uint8_t bytes[N], record[SEAL_RECORD], to[SEAL_RECORD];

static void
test_known(void)
{
	struct seal s, o;
	unsigned type = 0;
	size_t n = 0;

	is(seal_init(&s, true, secret), 0, "a seal is made");
	is(seal_init(&o, false, secret), 0, "the other end of the seal is made");
	is(seal_put(&s, SEAL_DATA, bytes, N, record), 0, "a record is sealed");
	ok(memcmp(record, known, sizeof(known)) == 0, "a record has the bytes of RFC 8448");
	is(seal_length(record), sizeof(known), "a record knows its length");
	ok(seal_get(&o, record, to, &n, &type) && n == N && type == SEAL_DATA && memcmp(to, bytes, N) == 0,
	    "a record is opened");
	ok(!seal_get(&o, record, to, &n, &type), "a repeated record is refused");
	seal_free(&s);
	seal_free(&o);
	ok(s.ctx == NULL && s.secret[0] == 0, "a freed seal has no secret");
}

/* Returns whether a record in which one byte is flipped is opened. */
static bool
open_flipped(size_t at)
{
	struct seal o;
	unsigned type;
	size_t n;
	bool good;

	seal_init(&o, false, secret);
	memcpy(record, known, sizeof(known));
	record[at] ^= 1;
	good = seal_length(record) == sizeof(known) && seal_get(&o, record, to, &n, &type);
	seal_free(&o);
	return good;
}

static void
test_refused(void)
{
	unsigned opened = 0;

	for (size_t i = 0; i < sizeof(known); i++)
		opened += open_flipped(i);
	is(opened, 0, "a record with any byte changed is refused");
	is(seal_length((uint8_t[SEAL_HEAD]){ SEAL_DATA, 3, 3, 0x41, 1 }), 0, "a record that is too long is refused");
	is(seal_length((uint8_t[SEAL_HEAD]){ SEAL_DATA, 3, 3, 0, 16 }), 0, "a record that is too short is refused");
	is(seal_length((uint8_t[SEAL_HEAD]){ SEAL_ALERT, 3, 3, 0, 40 }), 0, "an open alert is refused");
}

/* Records of all lengths, with padding or without any byte, across changes of keys. */
static void
test_many(void)
{
	static uint8_t p[SEAL_MOST];
	struct seal s, o;
	unsigned bad = 0, type;
	size_t n;

	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)(i * 7);
	seal_init(&s, true, secret);
	seal_init(&o, false, secret);
	for (size_t k = 0; k <= SEAL_MOST; k += k < 100 ? 1 : 1357) {
		bad += seal_put(&s, SEAL_DATA, p, k, record) < 0 || seal_length(record) != SEAL_HEAD + k + SEAL_TAIL ||
		    !seal_get(&o, record, to, &n, &type) || n != k || memcmp(to, p, k) != 0 || type != SEAL_DATA;
		bad += k % 10 == 0 && (seal_update(&s) < 0 || seal_update(&o) < 0);
	}
	is(bad, 0, "records of all lengths are opened, also after changes of keys");
	/* The type 0 in place of a type makes the last byte that is not 0 the type: padding. */
	memset(p, 0, 100);
	p[20] = SEAL_HANDSHAKE;
	ok(seal_put(&s, 0, p, 100, record) == 0 && seal_get(&o, record, to, &n, &type) && n == 20 && type == SEAL_HANDSHAKE,
	    "padding is removed");
	p[20] = 0;
	ok(seal_put(&s, 0, p, 100, record) == 0 && !seal_get(&o, record, to, &n, &type), "padding alone is refused");
	seal_update(&s);
	seal_put(&s, SEAL_DATA, p, 10, record);
	ok(!seal_get(&o, record, to, &n, &type), "a record with the next keys is refused before the change");
	seal_free(&s);
	seal_free(&o);
}

int
main(void)
{
	for (unsigned i = 0; i < N; i++)
		bytes[i] = (uint8_t)i;
	test_known();
	test_refused();
	test_many();
	return done();
}
