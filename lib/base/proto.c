/* proto - writes Protocol Buffers messages. */
#include "base/proto.h"

#define VARINT	0u
#define LONG	1u	/* 64 bits */
#define LENGTH	2u
#define WORD	5u	/* 32 bits */
#define LONGEST	10u	/* bytes of the longest varint */

static size_t
encode_varint(uint8_t to[LONGEST], uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	return n;
}

static void
put_bytes(struct proto *p, const void *data, size_t n)
{
	if (p->e == 0 && n > 0)
		p->e = buf_put(&p->b, data, n);
}

static void
put_varint(struct proto *p, uint64_t v)
{
	uint8_t bytes[LONGEST];

	put_bytes(p, bytes, encode_varint(bytes, v));
}

static void
put_tag(struct proto *p, uint32_t field, uint32_t kind)
{
	put_varint(p, (uint64_t)field << 3 | kind);
}

void
proto_uint(struct proto *p, uint32_t field, uint64_t v)
{
	put_tag(p, field, VARINT);
	put_varint(p, v);
}

void
proto_float(struct proto *p, uint32_t field, float v)
{
	uint8_t word[4];

	le_putf32(word, v);
	put_tag(p, field, WORD);
	put_bytes(p, word, sizeof(word));
}

void
proto_double(struct proto *p, uint32_t field, double v)
{
	uint8_t bytes[8];
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	le_put64(bytes, bits);
	put_tag(p, field, LONG);
	put_bytes(p, bytes, sizeof(bytes));
}

void
proto_head(struct proto *p, uint32_t field, uint64_t n)
{
	put_tag(p, field, LENGTH);
	put_varint(p, n);
}

void
proto_text(struct proto *p, uint32_t field, const char *text)
{
	proto_head(p, field, strlen(text));
	put_bytes(p, text, strlen(text));
}

size_t
proto_open(struct proto *p, uint32_t field)
{
	put_tag(p, field, LENGTH);
	return p->b.n;
}

/* The size of the length field is known only now, so the message moves up to make room for it. */
void
proto_close(struct proto *p, size_t at)
{
	uint8_t length[LONGEST];
	size_t n = encode_varint(length, p->b.n - at);

	if (p->e < 0 || (p->e = buf_room(&p->b, n)) < 0)
		return;
	memmove(p->b.p + at + n, p->b.p + at, p->b.n - at);
	memcpy(p->b.p + at, length, n);
	p->b.n += n;
}
