/*
 * dataset_read_pool - threads in which the senders of a dataset server read records.
 *
 * A file on a slow disk or a dead NFS server makes one thread wait, not the loop that serves all readers.  Reads start
 * in the order of submission and end in any; base/threads hands slots back in order, so that one slow read would hold
 * back all later ones.
 *
 * Threads: one caller at a time.  The pool's threads block all signals.
 */
#ifndef DATASET_DATASET_READ_POOL_H
#define DATASET_DATASET_READ_POOL_H

#include "dataset/dataset_sender.h"

#include <sys/queue.h>

/* A read, in the memory of its owner, who leaves it and its sender alone until the pool hands it back. */
struct dataset_read {
	STAILQ_ENTRY(dataset_read) link;
	struct dataset_sender *sender;
};

STAILQ_HEAD(dataset_reads, dataset_read);

struct dataset_read_pool;

/* Returns 0, ERR_SYS or ERR_NOMEM. */
int	 dataset_read_pool_new(unsigned threads, struct dataset_read_pool **p);
/* Waits for the reads in progress; the others do not start.  NULL does nothing. */
void	 dataset_read_pool_free(struct dataset_read_pool *p);
/* A descriptor that is readable when reads are done. */
int	 dataset_read_pool_fd(const struct dataset_read_pool *p);
/* Submits a read of a sender that said yes to dataset_sender_begin_read(). */
void	 dataset_read_pool_submit(struct dataset_read_pool *p, struct dataset_read *r);
/* Hands back the reads that have not started, as if they were done. */
void	 dataset_read_pool_cancel(struct dataset_read_pool *p);
/* Appends the reads that are done to a list of the caller. */
void	 dataset_read_pool_collect(struct dataset_read_pool *p, struct dataset_reads *done);

#endif
