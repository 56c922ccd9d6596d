/*
 * recs_stream - records in the order in which they come, shuffled within a window: what can be read only once.
 *
 * A window of so many records is filled first; then each that is taken is one
 * of them by chance, and the next to come replaces it.  What comes out is a
 * function of the seed and of the stream.  Memory is the window's records.
 * Threads: recs_stream_take() is called by one at a time, recs_stream_stop() by any.
 */
#ifndef RECORD_RECS_STREAM_H
#define RECORD_RECS_STREAM_H

#include "base/buf.h"

#include <stdbool.h>

struct recs_stream;

struct recs_stream_record {
	struct buf	 room;		/* the record's bytes */
	uint64_t	 at;		/* where in the stream it began */
};

/* Whether path is a pipe or another thing that has no end to seek to.  "-" is standard input. */
bool	 recs_stream_is(const char *path);
/* window 0: none, the stream's own order.  Returns 0, ERR_SYS (the line names path) or ERR_NOMEM. */
int	 recs_stream_open(struct recs_stream **s, const char *path, uint64_t window, uint64_t seed);
void	 recs_stream_close(struct recs_stream *s);	/* NULL is fine */
const char *recs_stream_path(const struct recs_stream *s);
/*
 * Takes a record, in exchange for the memory of the one that r holds.  Returns 1, 0 at the end, ERR_STOP after
 * recs_stream_stop(), or what rec_next() returns; lines name the stream and the byte.
 */
int	 recs_stream_take(struct recs_stream *s, struct recs_stream_record *r);
/* Wakes who waits for bytes; nothing comes any more. */
void	 recs_stream_stop(struct recs_stream *s);

#endif
