/*
 * batch - reads records and makes batches: the input of one training step.
 *
 * lib/batch, in reading order: aug (augmentation of one image, aug_geometry, aug_colour, aug_normal, aug_mix, planes),
 * samples (the input of a net), batch (this reader, batch_order, batch_micro, batch_sample, batch_cache,
 * batch_device_cache), mean (mean images).
 *
 * The order of an epoch is a function of (seed, epoch) and the number of records: a permutation of all records, or
 * their own order.  A step has `micros` micro-batches of `batch` records, or of `sizes[p]` if machines differ.  The
 * micro-batches of a step, and the steps, take the records in that order.  The last step divides the remaining records
 * evenly, the first micro-batches one record larger, or in proportion to the sizes; a micro-batch may be empty.  So
 * each record occurs exactly once per epoch, over any number of workers, and W workers read what one worker with W
 * micro-batches reads.  With drop_last there is no such step, and the epoch ends before the remaining records.
 *
 * With a window the permutation keeps records near their own order (batch_order.h).  If the path is a pipe, it is read
 * as a stream: the records in order of arrival, through a window of that many, for one epoch of unknown length.  Each
 * worker has its own stream, whose micro-batches are full until it ends.
 *
 * Samples are RGB or grey.  They are pixels unless that loses information (samples.h).  If samples are mixed, each is
 * mixed with the next one in the epoch's order, unmixed, so a micro-batch reads one more record.  The last sample of
 * the epoch, and one before a record that does not decode, are not mixed.  Samples of a stream cannot be mixed.
 * Augmentation is a function of (seed, epoch, id) (aug.h), so threads, timing and the number of workers change no
 * pixel.
 *
 * The reader has its own threads, which decode records ahead.  Ownership: a batch is valid until the next call on the
 * reader.  Threads: one thread at a time uses a reader.
 */
#ifndef BATCH_BATCH_H
#define BATCH_BATCH_H

#include "batch/aug.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recs;
struct recs_stream;

struct batch_opt {
	/* a path for recs_open(), or a pipe; with recs or stream, its name in messages */
	const char	*path;
	struct recs	*recs;		/* lent until close; NULL: opened from path */
	struct recs_stream *stream;	/* lent until close, replaces path and recs; or NULL */
	uint32_t	 batch;		/* records of a micro-batch; with sizes, the largest of this reader's */
	/*
	 * [micros] records of each, at least 1, lent until close; NULL: all `batch`.  Before batch_start() others may
	 * be there that have the same sum.
	 */
	const uint32_t	*sizes;
	struct aug	 aug;		/* the sample; an image that is too small for it is a bad record */
	bool		 shuffle;
	uint64_t	 window;	/* in records; 0: all records, or 1024 of a stream */
	uint32_t	 micros;	/* micro-batches of a step, over all workers; 0 counts as 1 */
	uint32_t	 first_micro, my_micros;	/* this reader's micro-batches; my_micros 0 counts as 1 */
	size_t		 cache;		/* most bytes of decoded images kept between epochs; 0: none */
	size_t		 prefetch;	/* bytes of samples made ahead, at least two micro-batches; 0: a default */
	unsigned	 threads;	/* threads that decode; 0: a default */
	uint32_t	 label_at;	/* index of the label that is the class, or of the first target, from 0 */
	uint32_t	 targets;	/* labels from label_at on that outputs are compared with; 0: a class */
	bool		 unit_targets;	/* they must be from 0 to 1, or -1: unknown */
	bool		 unlabelled;	/* labels do not matter: a sample without a class is of class -1 */
	bool		 single_label;	/* a record with one label has its class there, whatever label_at is */
	bool		 weighted;	/* label weight_at multiplies the sample's loss */
	uint32_t	 weight_at;
	uint32_t	 classes;	/* labels must be below it; 0: not checked */
	const uint32_t	*class_of;	/* [labels] the class that each label stands for, lent; NULL: itself */
	uint32_t	 labels;
	/* [classes] weight of a sample in the loss, or of targets of 1 [targets] (samples.h), lent; NULL: 1 */
	const float	*class_weight;
	uint64_t	 limit;		/* number of records to use, from the first; 0: all */
	bool		 drop_last;	/* an epoch has full steps only, and leaves out the last records of its order */
	/* batch_next() calls this once if it has waited 3 seconds for bytes of a pipe, which whom names; or NULL */
	void		(*waiting)(void *arg, const char *whom);
	void		*arg;
	const volatile sig_atomic_t *stop;	/* other than 0: batch_next() waits for no pipe; or NULL */
};

struct batch {
	struct samples	 s;	/* 0..opt.batch; pixels if aug_plain_norm() returns true, else floats */
	const uint64_t	*id;	/* [s.n] the records' ids */
	uint64_t	 step;	/* step of the epoch, from 0 */
	uint32_t	 bad;	/* records that the batch omits because they do not decode */
	const char *const *why;	/* [bad] names of the omitted records, with reasons */
};

struct batch_reader;

/*
 * Returns 0, ERR_SYS, ERR_FORMAT, ERR_SHORT (names file and offset), ERR_ARG (also if the first record has no label
 * label_at) or ERR_NOMEM.
 */
int	 batch_open(const struct batch_opt *opt, struct batch_reader **r);
void	 batch_close(struct batch_reader *r);	/* NULL is fine */
/* Bytes of the samples that such a reader makes ahead; of opt uses aug, batch and prefetch. */
uint64_t batch_takes(const struct batch_opt *opt);
/* Records and steps of an epoch; 0 for a stream, whose length is unknown. */
uint64_t batch_records(const struct batch_reader *r);
uint64_t batch_steps(const struct batch_reader *r);
/* The number of images in the cache, and their bytes. */
uint64_t batch_cached(const struct batch_reader *r, size_t *bytes);

/*
 * Decodes all records to *pixels [*bytes] for a device cache; the caller frees it.  Call it before the first
 * batch_start(). From then on samples are parts of these images and no record is read again.  Batches omit a record
 * that does not decode. Returns 0, ERR_ARG (a pipe, or samples that are more than cropped and mirrored), ERR_NOMEM, or
 * an error of reading.
 */
int	 batch_device_cache(struct batch_reader *r, uint8_t **pixels, size_t *bytes);
/*
 * Starts to read ahead at a step of an epoch and drops what was read ahead.  A second call ends a
 * stream.
 */
void	 batch_start(struct batch_reader *r, uint64_t epoch, uint64_t step);
/* Reads every n-th step of an epoch, at first each of them.  batch_start() must follow. */
void	 batch_every(struct batch_reader *r, uint32_t n);
/*
 * The next micro-batch: returns 1, 0 at and after the end of the epoch, an error of the records, or ERR_STOP if *stop
 * is set while a pipe has no records.
 */
int	 batch_next(struct batch_reader *r, const struct batch **b);
/* The micro-batch that batch_next() will return: 1 if it is ready, else 0.  The last batch stays valid. */
int	 batch_peek(struct batch_reader *r, const struct batch **b);

#endif
