/*
 * check - verifies a .rec: each record's frame, header, image and checksum, and the files beside it.
 *
 * Threads decode all images in full.  If FILE.idx exists beside FILE.rec, it must list each record under its id, and
 * nothing else.  If FILE.sum exists (sum.h), each record must have its checksum.
 */
#ifndef RECORD_CHECK_H
#define RECORD_CHECK_H

#include <stdint.h>

enum check_beside { CHECK_NONE, CHECK_AGREES, CHECK_DIFFERS };

struct check_found {
	uint64_t		 records;	/* records with a valid frame */
	uint64_t		 bad;		/* bad records and damaged places */
	enum check_beside	 index, sums;
};

/* Callbacks in the thread of check_run(), in the file's order; a result other than 0 ends the run. */
struct check_sink {
	/*
	 * A bad record or damage (ERR_ITEM, or ERR_PIXELS), or an error in a file beside it (ERR_FORMAT); the message
	 * names file and offset.
	 */
	int	(*bad)(void *ctx, int e);
	/* Progress: records so far, their bytes, and their share of the file, -1 for a pipe. */
	int	(*step)(void *ctx, uint64_t records, uint64_t bytes, double share);
	void	*ctx;
};

/*
 * Checks path; "-" is standard input.  An image of more pixels is bad.  threads 0: a default.  Returns 0, a result of
 * sink, ERR_SYS or ERR_NOMEM.
 */
int	 check_run(const char *path, unsigned threads, uint32_t pixels, const struct check_sink *sink,
	    struct check_found *found);

#endif
