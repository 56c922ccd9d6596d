/*
 * batch - records in, batches out: what one training step eats.
 *
 * The plan of an epoch is a function of (seed, epoch) and the number of records
 * alone: a permutation of all records (or their own order), dealt in pieces.
 * A step has `pieces` pieces of `batch` records, or of `sizes[p]` where machines
 * differ; the pieces of a step, and the steps, hold the permutation's records in
 * order.  In the last step the records left are cut as evenly as can be, the
 * first pieces longer by one, or in the proportion of the sizes; a piece may be
 * empty.  So every record comes exactly once an epoch, over any number of
 * workers, and W workers read what one that takes W pieces reads.
 *
 * With a window the permutation keeps records near their own order: see
 * batch_order.h.  A path that is a pipe is read as a stream: records in the order
 * in which they come, through a window of as many, for one epoch whose length
 * nobody knows; each worker has a stream of its own, whose pieces are all full up to its end.
 *
 * Samples are R G B or grey, as pixels wherever that loses nothing: see samples.h.
 * Where samples are mixed, each is with the one behind it in the epoch's order, unmixed, which reads a record more a piece;
 * the epoch's last, and one before a record that does not decode, stay as they are.  A stream's cannot be mixed.
 * What becomes of a picture is a function of (seed, epoch, id), see aug.h, so threads,
 * timing and the cut over workers change no pixel.
 *
 * Records are decoded ahead by threads of the reader's own.
 * Ownership: a batch is lent until the next call on the reader.
 * Threads: the reader's functions are for one thread at a time.
 */
#ifndef BATCH_BATCH_H
#define BATCH_BATCH_H

#include "batch/aug.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recs;
struct recs_stream;

struct batch_opt {
	const char	*path;		/* what recs_open() opens, or a pipe; not looked at where recs or stream is given */
	struct recs	*recs;		/* lent until close; NULL: opened from path */
	struct recs_stream *stream;	/* lent until close, in place of both, or NULL */
	uint32_t	 batch;		/* records a piece; the most of mine where there are sizes */
	const uint32_t	*sizes;		/* [pieces] records of each, at least 1; NULL: all are of `batch`.  Lent until close. */
	struct aug	 aug;		/* the sample; a picture too small for it is a bad record */
	bool		 shuffle;
	uint64_t	 window;	/* of records; 0: all of them, and 1024 of a stream */
	uint32_t	 pieces;	/* of a step, over all workers; 0 counts as 1 */
	uint32_t	 first_piece, my_pieces;	/* those that this reader gives; my_pieces 0 counts as 1 */
	size_t		 cache;		/* bytes of decoded pictures that are kept from epoch to epoch; 0: none */
	size_t		 prefetch;	/* bytes of samples made ahead, at least two pieces; 0: a choice */
	unsigned	 threads;	/* that decode; 0: a choice of the reader's */
	uint32_t	 label_at;	/* which of a record's labels is the class, from 0 */
	uint32_t	 classes;	/* labels must be below; 0: not looked at */
	uint64_t	 limit;		/* use only the first so many records; 0: all */
};

struct batch {
	struct samples	 s;	/* 0..opt.batch; pixels where aug_plain_norm() says so, else numbers */
	const uint64_t	*id;	/* [n] the records' ids */
	uint64_t	 step;	/* of the epoch, from 0 */
	uint32_t	 bad;	/* records left out of this batch because they do not decode ... */
	const char *const *why;	/* ... and [bad] their names and reasons */
};

struct batch_reader;

/*
 * Returns 0, ERR_SYS, ERR_FORMAT, ERR_SHORT (file and place named), ERR_ARG (or the first record has no label_at, and is
 * named) or ERR_NOMEM.
 */
int	 batch_open(const struct batch_opt *opt, struct batch_reader **r);
void	 batch_close(struct batch_reader *r);	/* NULL is fine */
/* Bytes of the samples that such a reader makes ahead; of aug the sample and what becomes of a picture are looked at. */
uint64_t batch_takes(const struct batch_opt *opt);
/* Of an epoch; 0: a stream's, which nobody knows. */
uint64_t batch_records(const struct batch_reader *r);
uint64_t batch_steps(const struct batch_reader *r);
/* Pictures that the cache holds, and the bytes that they take. */
uint64_t batch_cached(const struct batch_reader *r, size_t *bytes);

/*
 * Before the first batch_start(): decodes all records, *pixels [*bytes] for a device to hold, which the caller frees.  From
 * then on samples are parts of it, and no record is read again.  A record that does not decode is left out of its batches
 * as ever.  Returns 0, ERR_ARG (of a pipe; samples that are more than cut out and mirrored), ERR_NOMEM, or what reading gives.
 */
int	 batch_hold(struct batch_reader *r, uint8_t **pixels, size_t *bytes);
/* Begins reading ahead at a step of an epoch, dropping what was read ahead before; a stream ends by that, but the first time. */
int	 batch_start(struct batch_reader *r, uint64_t epoch, uint64_t step);
/* The next piece: 1, 0 at the end of the epoch and ever after, or an error of the records. */
int	 batch_next(struct batch_reader *r, const struct batch **b);
/* What batch_next() will give, if it is made already: 1, else 0.  The batch that was given last stays as it is. */
int	 batch_peek(struct batch_reader *r, const struct batch **b);

#endif
