/*
 * buf - a byte buffer that grows, and little-endian words at any address.
 *
 * A zeroed struct buf is an empty buffer.  Ownership: p belongs to the buffer, and each call that adds bytes or makes
 * room may move it.  Only buf_free and buf_trim give memory back.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
	uint8_t	*p;
	size_t	 n;	/* bytes in use */
	size_t	 cap;	/* bytes allocated */
	bool	 wipes;	/* memory is wiped before it is given back: set it in an empty buffer; buf_free() keeps it */
};

/* Makes room for that many bytes after the n in use.  Returns 0 or ERR_NOMEM. */
int	 buf_room(struct buf *b, size_t more);
/* Append bytes or formatted text.  Each returns 0 or ERR_NOMEM. */
int	 buf_put(struct buf *b, const void *p, size_t n);
int	 buf_put_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes a zero byte after the last without counting it, so that p reads as a C string.  Returns 0 or ERR_NOMEM. */
int	 buf_terminate(struct buf *b);
/* Frees the memory and leaves an empty buffer. */
void	 buf_free(struct buf *b);
/* Empties the buffer, and frees its memory if that exceeds keep bytes. */
void	 buf_trim(struct buf *b, size_t keep);

/* Little-endian words at any address. */
static inline void
le_put16(void *p, uint16_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
}

static inline void
le_put32(void *p, uint32_t v)
{
	le_put16(p, (uint16_t)v);
	le_put16((uint8_t *)p + 2, (uint16_t)(v >> 16));
}

static inline void
le_put64(void *p, uint64_t v)
{
	le_put32(p, (uint32_t)v);
	le_put32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

static inline uint16_t
le_get16(const void *p)
{
	const uint8_t *b = p;

	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t
le_get32(const void *p)
{
	return le_get16(p) | (uint32_t)le_get16((const uint8_t *)p + 2) << 16;
}

static inline uint64_t
le_get64(const void *p)
{
	return le_get32(p) | (uint64_t)le_get32((const uint8_t *)p + 4) << 32;
}

static inline void
le_putf32(void *p, float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	le_put32(p, u);
}

static inline float
le_getf32(const void *p)
{
	uint32_t u = le_get32(p);
	float v;

	memcpy(&v, &u, sizeof(v));
	return v;
}

static inline void
le_putf64(void *p, double v)
{
	uint64_t u;

	memcpy(&u, &v, sizeof(u));
	le_put64(p, u);
}

static inline double
le_getf64(const void *p)
{
	uint64_t u = le_get64(p);
	double v;

	memcpy(&v, &u, sizeof(v));
	return v;
}

#endif
