/*
 * recs_stream - records in the order in which they come, shuffled within a window: what can be read only once.
 *
 * They are the records of a pipe, or pictures of which records are made as they come.
 *
 * A window of so many records is filled first; then each that is taken is one
 * of them by chance, and the next to come replaces it.  What comes out is a
 * function of the seed and of the stream.  Memory is the window's records.
 * Threads: recs_stream_take() is called by one at a time, recs_stream_stop() by any.
 */
#ifndef RECORD_RECS_STREAM_H
#define RECORD_RECS_STREAM_H

#include "base/buf.h"
#include "record/imrec.h"
#include "record/recpics.h"

#include <stdbool.h>

struct recs_stream;

struct recs_stream_record {
	struct buf	 room;		/* the record's bytes; of a bad picture the line that says why */
	uint64_t	 at;		/* where in the stream it began */
	bool		 bad;
};

/* Whether path is a pipe or another thing that has no end to seek to.  "-" is standard input. */
bool	 recs_stream_is(const char *path);
/* window 0: none, the stream's own order.  Returns 0, ERR_SYS (the line names path) or ERR_NOMEM. */
int	 recs_stream_open(struct recs_stream **s, const char *path, uint64_t window, uint64_t seed);
/* Records of pictures, in their order; lent.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 recs_stream_open_pics(struct recs_stream **s, struct recpics *pics);
void	 recs_stream_close(struct recs_stream *s);	/* NULL is fine */
/* Puts the name of what r holds in front of the line; rec: what is known of it, as by record/recimg.h. */
void	 recs_stream_blame(const struct recs_stream *s, const struct recs_stream_record *r, const struct imrec *rec);
/*
 * Takes a record, in exchange for the memory of the one that r holds.  Returns 1, 0 at the end, ERR_STOP after
 * recs_stream_stop(), or what rec_next() or recpics_next() returns, ERR_ITEM aside; lines name
 * the stream and the byte.
 */
int	 recs_stream_take(struct recs_stream *s, struct recs_stream_record *r);
/* Wakes who waits for bytes; nothing comes any more. */
void	 recs_stream_stop(struct recs_stream *s);

#endif
