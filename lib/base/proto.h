/*
 * proto - writes Protocol Buffers messages.
 *
 *	struct proto p = { 0 };
 *	proto_uint(&p, 1, 8);
 *	at = proto_open(&p, 7);		starts a nested message
 *	proto_text(&p, 2, "tally");
 *	proto_close(&p, at);
 *	if (p.e < 0) ...
 *
 * A field is varint(number << 3 | wire type) and its value; a nested message is a field of bytes.  Fields may come in
 * any order, and a repeated field occurs several times.
 * Source: protobuf.dev, Encoding.
 *
 * The only error, ERR_NOMEM, stays in p.e: later calls then do nothing.
 */
#ifndef BASE_PROTO_H
#define BASE_PROTO_H

#include "base/buf.h"

struct proto {
	struct buf	b;
	int		e;
};

void	 proto_uint(struct proto *p, uint32_t field, uint64_t v);	/* int64 too, in two's complement */
void	 proto_float(struct proto *p, uint32_t field, float v);
void	 proto_double(struct proto *p, uint32_t field, double v);
void	 proto_text(struct proto *p, uint32_t field, const char *text);
/* The tag and length of a field of n bytes, which the caller appends. */
void	 proto_head(struct proto *p, uint32_t field, uint64_t n);

/* The fields written between the two calls form a nested message.  close takes what open returned. */
size_t	 proto_open(struct proto *p, uint32_t field);
void	 proto_close(struct proto *p, size_t at);

#endif
