/* batch_in - the reader of batches: its ring of micro-batches and its threads; internal to batch. */
#ifndef BATCH_BATCH_IN_H
#define BATCH_BATCH_IN_H

#include "base/err.h"
#include "base/threads.h"
#include "record/recimg.h"
#include "record/recs_stream.h"
#include "batch/batch.h"
#include "batch/batch_cache.h"
#include "batch/batch_order.h"

#include <pthread.h>

#define BATCH_AHEAD	4u	/* most micro-batches in the ring: more would not stay in the processor's cache */
#define BATCH_PART	4u	/* records of one unit of work of a thread */
#define BATCH_MIXED	16u	/* the same if samples are mixed: each unit also makes the sample after its last */
#define BATCH_NONE	UINT32_MAX

/* A micro-batch in the ring, in progress or complete. */
struct batch_micro {
	uint64_t	 step;
	uint64_t	 first;		/* its first place in the epoch's order or in the stream */
	uint32_t	 n;
	uint64_t	*record;	/* [n + more] record numbers; unused for a stream */
	uint32_t	 more;		/* 1: another record follows, to mix the last one with */
	void		*room;		/* the allocation of sample */
	void		*sample;	/* [n] pixels or floats */
	uint8_t		*mirror;	/* [n] whether to mirror, for pixels */
	int32_t		*y;
	float		*target;	/* [n,targets]; NULL: samples have classes */
	struct samples_cached *cached;	/* [n] places in the device cache, instead of pixels */
	struct samples_mix *mix;
	uint64_t	*id;
	uint8_t		*good;		/* [n] whether the sample could be made */
	char		**why;		/* [n] the message for a bad record, or NULL */
	pthread_mutex_t	 lock;		/* protects the following members */
	uint32_t	 received;		/* records received of a stream */
	uint32_t	 fail_at;	/* the first record that cannot be read, or BATCH_NONE */
	int		 fail;		/* the error of that record */
	char		 line[ERR_LINE];	/* its message */
};

/* A record whose image is in the device cache. */
struct batch_cached_image {
	size_t		 at;		/* offset in bytes in the device cache */
	uint32_t	 h, w;
	uint64_t	 id;
	const float	*label;		/* [labels] a part of cached_label */
	char		*why;		/* the message for an omitted record, or NULL */
};

/* The memory of one thread. */
struct batch_lane {
	struct recimg	*decoder;
	struct aug_room	*room;
	struct buf	 part;		/* a decoded part of an image */
	struct buf	 other;		/* the sample after the last, to mix with it */
	float		*label;		/* [labels] labels of the record that is read */
	struct recs_stream_record taken[BATCH_PART];
};

struct batch_reader {
	struct batch_opt opt;
	struct recs	*recs, *own;	/* own: opened by this reader; both are NULL for a stream */
	struct batch_order *order;
	struct batch_cache *cache;	/* cache of decoded images, or NULL */
	struct batch_cached_image *cached;	/* [records] if a device cache holds the images, else NULL */
	float		*cached_label;	/* [records,labels] labels of these */
	struct recs_stream *stream, *own_stream;	/* stream that is read, and the one that is owned; or NULL */
	pthread_mutex_t	 turn_lock;	/* protects the stream and turn */
	pthread_cond_t	 turn_changed;
	uint64_t	 turn;		/* number of the stream's next record */
	bool		 over;		/* the stream has ended */
	struct threads	*pool;
	struct batch_lane *lane;	/* [opt.threads] */
	uint64_t	 records, steps, epoch;
	uint64_t	 whole;		/* records of a step */
	bool		 pixels;	/* samples are pixels, else floats */
	struct samples_norm norm;	/* the conversion of pixels to floats */
	size_t		 sample;	/* bytes of a sample */
	uint32_t	 labels;	/* labels that a record needs: class or targets, and its weight */
	uint32_t	 part;		/* records of one unit of work of a thread */
	uint64_t	 step;		/* step of the next micro-batch to plan */
	uint32_t	 every;		/* from one of its steps to the next */
	uint32_t	 micro;		/* index of that micro-batch among this reader's */
	uint64_t	 planned;	/* records of the stream that are assigned to micro-batches */
	struct batch_micro ring[BATCH_AHEAD];
	uint32_t	 ahead;		/* slots in use of the ring */
	struct batch	 out, next;	/* the last batch returned; the next one if peeked */
	bool		 peeked;	/* batch_peek() made next */
};

/* Reads the class or the targets, then the weight, if any.  Returns 0, or ERR_ITEM if the record has too few labels. */
int	 batch_labels(const struct batch_reader *r, const struct imrec *rec, float *label);

/* batch_device_cache.c: the sample of a record as a part of an image in the device cache.  Returns 0 or ERR_ITEM. */
int	 batch_device_cache_sample(const struct batch_reader *r, uint64_t record, struct batch_item *item,
	     struct samples_cached *to, struct aug_plan *plan);
void	 batch_device_cache_free(struct batch_reader *r);

/* The work of the thread pool: makes the samples of a part of a micro-batch. */
void	 batch_sample_part(void *ctx, unsigned worker, uint32_t slot, uint32_t part);

/* Checks the options for micro-batches and samples.  Returns 0 or ERR_ARG. */
int	 batch_cut_check(const struct batch_opt *o);
/* The number of records of a step, over all micro-batches. */
uint64_t batch_cut_whole(const struct batch_opt *o);
/* The places in the epoch's order of a micro-batch of a step. */
void	 batch_cut(const struct batch_reader *r, uint64_t step, uint32_t micro, uint64_t *first, uint32_t *n);

#endif
