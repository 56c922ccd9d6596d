/* batch_in - what the files of batch share: the reader, its ring of pieces, its threads. */
#ifndef BATCH_BATCH_IN_H
#define BATCH_BATCH_IN_H

#include "base/threads.h"
#include "record/recimg.h"
#include "record/recs_stream.h"
#include "batch/batch.h"
#include "batch/batch_cache.h"
#include "batch/batch_order.h"

#include <pthread.h>

#define BATCH_AHEAD	4u	/* most pieces in the ring: of small samples more only leave the processor's cache */
#define BATCH_PART	4u	/* records that a thread takes at a time ... */
#define BATCH_MIXED	16u	/* ... where samples are mixed, and the one behind them is made too */
#define BATCH_NONE	UINT32_MAX

/* A piece in the ring, in work or done. */
struct batch_piece {
	uint64_t	 step;
	uint64_t	 first;		/* of the epoch's order; of the stream */
	uint32_t	 n;
	uint64_t	*record;	/* [n + more] numbers; not of a stream */
	uint32_t	 more;		/* 1: one behind the last, to mix it with */
	void		*room;		/* of sample */
	void		*sample;	/* [n] pixels or numbers */
	uint8_t		*mirror;	/* [n], of pixels */
	int32_t		*y;
	struct samples_held *held;	/* [n] in place of pixels */
	struct samples_mix *mix;
	uint64_t	*id;
	uint8_t		*good;		/* [n] whether a sample was made */
	char		**why;		/* [n] the line of a bad one, or NULL */
	pthread_mutex_t	 lock;		/* of what follows */
	uint32_t	 came;		/* of a stream: records before its end */
	uint32_t	 fail_at;	/* the first record that cannot be read, or BATCH_NONE */
	int		 fail;
	char		 line[512];
};

/* A record whose picture a device holds. */
struct batch_held {
	size_t		 at;		/* bytes into what the device was given */
	uint32_t	 h, w;
	uint64_t	 id;
	float		 label;
	char		*why;		/* the line of one that is left out, or NULL */
};

/* What a thread has of its own. */
struct batch_lane {
	struct recimg	*decoder;
	struct aug_room	*room;
	struct buf	 part;		/* of a picture */
	struct buf	 other;		/* sample to mix one with */
	struct recs_stream_record taken[BATCH_PART];
};

struct batch_reader {
	struct batch_opt opt;
	struct recs	*recs, *own;	/* own: opened here; NULL both when records come in a stream */
	struct batch_order *order;
	struct batch_cache *cache;	/* or NULL */
	struct batch_held *held;	/* [records], or NULL: pictures are made here */
	struct recs_stream *stream, *own_stream;	/* or NULL */
	pthread_mutex_t	 turn_lock;	/* of the stream and of turn */
	pthread_cond_t	 turn_came;
	uint64_t	 turn;		/* the record that the stream gives next */
	bool		 over;		/* the stream has ended */
	struct threads	*crew;
	struct batch_lane *lane;	/* [opt.threads] */
	uint64_t	 records, steps, epoch;
	uint64_t	 whole;		/* records of a step */
	bool		 pixels;	/* samples are pixels ... */
	struct samples_norm norm;	/* ... of which this makes numbers */
	size_t		 sample;	/* bytes */
	uint32_t	 part;		/* records that a thread takes at a time */
	uint64_t	 step;		/* of the piece to be given next ... */
	uint32_t	 piece;		/* ... and which of mine it is */
	uint64_t	 planned;	/* records of the stream that pieces were given */
	struct batch_piece ring[BATCH_AHEAD];
	uint32_t	 ahead;		/* pieces in use of it */
	struct batch	 out, next;	/* next: what is behind out, where it was looked at */
	bool		 peeked;
};

/* Which of the record's labels is the class.  Returns 0, or ERR_ITEM when it has not so many. */
int	 batch_class(const struct batch_reader *r, const struct imrec *rec, float *label);

/* batch_hold.c: sample `record` as a part of what the device holds.  Returns 0, ERR_ITEM. */
int	 batch_hold_sample(const struct batch_reader *r, uint64_t record, struct batch_item *item, struct samples_held *to,
	     struct aug_plan *plan);
void	 batch_hold_free(struct batch_reader *r);

/* The crew's work: makes samples of part of a piece. */
void	 batch_sample_part(void *ctx, unsigned worker, uint32_t slot, uint32_t part);

/* Whether pieces and sample are such as can be.  Returns 0 or ERR_ARG. */
int	 batch_cut_check(const struct batch_opt *o);
/* The records of a step, of all pieces. */
uint64_t batch_cut_whole(const struct batch_opt *o);
/* Which of the epoch's records make up a piece of a step. */
void	 batch_cut(const struct batch_reader *r, uint64_t step, uint32_t piece, uint64_t *first, uint32_t *n);

#endif
