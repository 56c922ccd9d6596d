/*
 * pack - packs a source's items into records: checks images, encodes raw pixels, keeps the source's order.
 *
 * image/transcode.h converts the images.  Threads do the work and read files that the source leaves for later.  Their
 * number changes no byte.
 */
#ifndef RECORD_PACK_H
#define RECORD_PACK_H

#include "image/transcode.h"
#include "source/source.h"

/* An item of the source. */
struct pack_item {
	const char	*name;	/* "": the error's message names it */
	uint64_t	 id;
	struct stamp	 stamp;	/* stamp of the file, if the item is one */
};

/* Callbacks in the thread of pack_run(), in the source's order; a result other than 0 ends the run. */
struct pack_sink {
	/* The n bytes of an item's framed record. */
	int	(*record)(void *ctx, const struct pack_item *item, const uint8_t *p, size_t n);
	/* An item that is left out; the message says why. */
	int	(*bad)(void *ctx, const struct pack_item *item, int e);
	void	*ctx;
};

struct pack_opt {
	unsigned	 threads;	/* 0: a default */
	struct transcode_opt	 conv;
};

/* Packs all items.  Returns 0, a result of record() or bad(), an error of the source, or ERR_ARG for wrong options. */
int	 pack_run(struct source *s, const struct pack_opt *opt, const struct pack_sink *sink);

#endif
