/* batches - a file of records for the tests of batches, and readers of it. */
#ifndef TESTS_LIB_BATCHES_H
#define TESTS_LIB_BATCHES_H

#include "base/err.h"
#include "batch/batch.h"
#include "pics.h"

#define BATCHES_N 101	/* records, of the ids from 1000 on */

static char batches_rec[256];

static void
batches_make(void)
{
	int fd;

	snprintf(batches_rec, sizeof(batches_rec), "%s", pics_path("train.rec"));
	fd = pics_create(batches_rec);
	for (uint64_t i = 0; i < BATCHES_N; i++)
		pics_put(fd, 1000 + i, (float)(i % 7), 3, 12 + (uint32_t)(i % 3), 11);
	close(fd);
}

/* A reader, or the end of the test. */
static struct batch_reader *
batches_open(const struct batch_opt *o)
{
	struct batch_reader *r;

	if (batch_open(o, &r) < 0) {
		printf("Bail out! %s\n", err_line());
		exit(1);
	}
	return r;
}

#endif
