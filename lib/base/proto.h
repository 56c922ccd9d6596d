/*
 * proto - fields of a message of Protocol Buffers into bytes.
 *
 *	struct proto p = { 0 };
 *	proto_uint(&p, 1, 8);
 *	at = proto_open(&p, 7);		a message within
 *	proto_text(&p, 2, "tally");
 *	proto_close(&p, at);
 *	if (p.e < 0) ...
 *
 * A field is varint(number << 3 | kind) and its value; a message within is
 * bytes.  Fields may come in any order, and again for more of them.
 * Source: protobuf.dev, Encoding.
 *
 * The one error there is, ERR_NOMEM, stays in p.e: later calls do nothing.
 */
#ifndef BASE_PROTO_H
#define BASE_PROTO_H

#include "base/buf.h"

struct proto {
	struct buf	b;
	int		e;
};

void	 proto_uint(struct proto *p, uint32_t field, uint64_t v);	/* also int64: its two's complement */
void	 proto_float(struct proto *p, uint32_t field, float v);
void	 proto_text(struct proto *p, uint32_t field, const char *text);
/* The head of a field of n bytes, which follow from elsewhere. */
void	 proto_head(struct proto *p, uint32_t field, uint64_t n);

/* What is put between them is a message within. */
size_t	 proto_open(struct proto *p, uint32_t field);
void	 proto_close(struct proto *p, size_t at);

#endif
