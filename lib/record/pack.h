/*
 * pack - a source in, records out: pictures checked, raw pixels encoded, in the source's order.
 *
 * What becomes of a picture is conv's affair.  The work is done by threads,
 * files that the source leaves to be read later are read by them, too; their
 * number changes no byte.
 */
#ifndef RECORD_PACK_H
#define RECORD_PACK_H

#include "image/transcode.h"
#include "source/source.h"

/* The item of the source that something is of. */
struct pack_item {
	const char	*name;	/* "": what is wrong with it names it */
	uint64_t	 id;
	struct stamp	 stamp;	/* of the file that was read, where the item is one */
};

/* Both are called in the thread that runs pack_run(), in the source's order. */
struct pack_sink {
	/* Takes the n bytes of an item's framed record.  Anything but 0 ends the run. */
	int	(*record)(void *ctx, const struct pack_item *item, const uint8_t *p, size_t n);
	/* An item that is left out; the line says why.  Anything but 0 ends the run. */
	int	(*bad)(void *ctx, const struct pack_item *item, int e);
	void	*ctx;
};

struct pack_opt {
	unsigned	 threads;	/* 0: a choice */
	struct transcode_opt	 conv;
};

/* Returns 0, what record() or bad() returned, what ended the source, or ERR_ARG of the options. */
int	 pack_run(struct source *s, const struct pack_opt *opt, const struct pack_sink *sink);

#endif
