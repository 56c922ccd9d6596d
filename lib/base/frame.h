/*
 * frame - a stream of bytes cut into typed frames, and put together again.
 *
 *	u32 length of the payload | u32 type | payload[length]
 *
 * Little-endian.  The reader takes the bytes in pieces of any size, as they
 * come from a pipe, and refuses a frame over its bound before it takes memory
 * for it.
 *
 * Ownership: a frame's payload is lent until the next frame_feed.
 * Threads: a reader is for one thread at a time.
 */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

#include "base/buf.h"

#include <stdbool.h>

#define FRAME_HEAD	8u	/* bytes in front of the payload */

struct frame {
	uint32_t	 type, len;
	const uint8_t	*p;	/* [len] */
};

/* Appends one frame to b.  Returns 0 or ERR_NOMEM; n fits 32 bits. */
int	 frame_put(struct buf *b, uint32_t type, const void *p, size_t n);

/* A reader; all zeros but max is a new one. */
struct frame_reader {
	uint32_t	 max;		/* most bytes of a payload */
	struct buf	 b;		/* bytes that came */
	size_t		 at;		/* of them, those already used */
	uint64_t	 skipped;	/* bytes that frame_sync dropped */
};

/*
 * Takes n bytes.  Who calls frame_next until it returns 0 after each feed makes
 * the reader hold at most FRAME_HEAD + max + n bytes.  Returns 0 or ERR_NOMEM.
 */
int	 frame_feed(struct frame_reader *in, const void *p, size_t n);

/*
 * Drops bytes up to and with the mark [n], whose first byte occurs in it only
 * once: what a login shell prints in front of our first byte.  True when the
 * mark has come, false when it has not come yet.
 */
bool	 frame_sync(struct frame_reader *in, const void *mark, size_t n);

/* The next whole frame: 1, 0 when it has not come yet, or ERR_LIMIT. */
int	 frame_next(struct frame_reader *in, struct frame *f);
void	 frame_free(struct frame_reader *in);

#endif
