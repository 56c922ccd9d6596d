/*
 * frame - typed frames in a byte stream.
 *
 *	u32 length of the payload | u32 type | payload[length]
 *
 * All words are little-endian.  The reader accepts the stream in fragments of any size, as a pipe delivers them.  It
 * refuses a frame above its limit before it allocates memory for it.
 *
 * Ownership: a payload is lent until the next frame_feed.
 * Threads: one at a time for each reader.
 */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

#include "base/buf.h"

#include <stdbool.h>

#define FRAME_HEAD	8u	/* bytes before the payload */

struct frame {
	uint32_t	 type, len;
	const uint8_t	*p;	/* [len] */
};

/* Appends one frame to b; n fits 32 bits.  Returns 0 or ERR_NOMEM. */
int	 frame_put(struct buf *b, uint32_t type, const void *p, size_t n);

/* A new reader is zeros except for max. */
struct frame_reader {
	uint32_t	 max;		/* largest payload, bytes */
	struct buf	 b;		/* bytes received */
	size_t		 at;		/* bytes of b already consumed */
	uint64_t	 skipped;	/* bytes that frame_sync dropped */
};

/*
 * Adds n received bytes.  If the caller calls frame_next until it returns 0 after each feed, the reader holds at most
 * FRAME_HEAD + max + n bytes.  Returns 0 or ERR_NOMEM.
 */
int	 frame_feed(struct frame_reader *in, const void *p, size_t n);

/*
 * Drops all bytes up to the end of the n-byte mark, for example what a login shell prints before our first byte.  The
 * first byte of the mark must not occur in it again.  Returns whether the mark has arrived.
 */
bool	 frame_sync(struct frame_reader *in, const void *mark, size_t n);

/* The next complete frame.  Returns 1, 0 if it has not arrived yet, or ERR_LIMIT. */
int	 frame_next(struct frame_reader *in, struct frame *f);
void	 frame_free(struct frame_reader *in);

#endif
