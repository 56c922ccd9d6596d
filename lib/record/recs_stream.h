/*
 * recs_stream - records in order of arrival, shuffled within a window: for streams that can be read only once.
 *
 * The records come from a pipe, or are made of images on arrival.  The window is filled first.  Then each record taken
 * is a random one of the window, and the next to arrive replaces it.  The order is a function of the seed and the
 * stream.  Memory holds the window's records.  Threads: one at a time calls recs_stream_take(), any recs_stream_stop()
 * and recs_stream_waited().
 */
#ifndef RECORD_RECS_STREAM_H
#define RECORD_RECS_STREAM_H

#include "base/buf.h"
#include "record/imrec.h"
#include "record/recmaker.h"

#include <stdbool.h>

struct recs_stream;

struct recs_stream_record {
	struct buf	 room;		/* the record's bytes, or the message for a bad image */
	uint64_t	 at;		/* offset in the stream */
	bool		 bad;
};

/* Whether path is a pipe or another file that cannot seek.  "-" is standard input. */
bool	 recs_stream_is(const char *path);
/* Opens a stream; window 0: its own order.  Returns 0, ERR_SYS (the message names path) or ERR_NOMEM. */
int	 recs_stream_open(const char *path, uint64_t window, uint64_t seed, struct recs_stream **s);
/* Opens the records of maker, which must outlive s, in their order.  Returns 0 or ERR_NOMEM. */
int	 recs_stream_open_maker(struct recmaker *maker, struct recs_stream **s);
void	 recs_stream_close(struct recs_stream *s);	/* NULL is fine */
/* Puts the name of r in front of the message; rec is as in recimg_blame(). */
void	 recs_stream_blame(const struct recs_stream *s, const struct recs_stream_record *r, const struct imrec *rec);
/*
 * Takes a record into r and reuses the memory that r holds.  Returns 1, 0 at the end, ERR_STOP after
 * recs_stream_stop(), or an error of rec_next() or recmaker_next() other than ERR_ITEM; messages name the stream and
 * the offset.
 */
int	 recs_stream_take(struct recs_stream *s, struct recs_stream_record *r);
/* Seconds that a thread has waited for bytes of the pipe so far; 0 if none waits, and always with a maker. */
double	 recs_stream_waited(const struct recs_stream *s);
/* Ends the stream and wakes a thread that waits for bytes. */
void	 recs_stream_stop(struct recs_stream *s);

#endif
