/*
 * check - a .rec gone through from end to end: each record's frame, head, picture and sum, and what stands beside it.
 *
 * Pictures are decoded in full, by threads.  Where FILE.idx stands beside
 * FILE.rec, each record must be in it under its id, and nothing else; where
 * FILE.sum does (sum.h), each record's bytes must be those that were written.
 */
#ifndef RECORD_CHECK_H
#define RECORD_CHECK_H

#include <stdint.h>

enum check_beside { CHECK_NONE, CHECK_AGREES, CHECK_DIFFERS };

struct check_found {
	uint64_t		 records;	/* with a sound frame; damage between records is not counted */
	uint64_t		 bad;		/* records, and places passed over */
	enum check_beside	 index, sums;
};

/* Called in the thread that runs check_run(), in the file's order; anything but 0 ends the run. */
struct check_sink {
	/* A record that is bad or damage (ERR_ITEM), or a fault of a file beside (ERR_FORMAT); the line names file and byte. */
	int	(*bad)(void *ctx, int e);
	/* Now and then: records so far, their bytes, and which share of the file that is, or -1 for a pipe. */
	int	(*step)(void *ctx, uint64_t records, uint64_t bytes, double share);
	void	*ctx;
};

/* "-" is standard input.  threads 0: a choice.  Returns 0, what sink returned, ERR_SYS or ERR_NOMEM. */
int	 check_run(const char *path, unsigned threads, const struct check_sink *sink, struct check_found *found);

#endif
