/*
 * pack - a source in, records out: pictures checked, raw pixels encoded, in the source's order.
 *
 * An encoded picture goes into its record unchanged, after a full decode has
 * shown that it is one; raw pixels become PNG.  The work is done by threads,
 * whose number changes no byte.
 */
#ifndef DATA_PACK_H
#define DATA_PACK_H

#include "data/source.h"

/* Both are called in the thread that runs pack_run(), in the source's order. */
struct pack_sink {
	/* Takes the n bytes of a framed record.  Anything but 0 ends the run. */
	int	(*record)(void *ctx, uint64_t id, const uint8_t *p, size_t n);
	/* An item that is left out; the line says why.  name may be "": then the line names it. */
	void	(*bad)(void *ctx, const char *name, int e);
	void	*ctx;
};

/* threads 0: a choice.  Returns 0, what record() returned, or what ended the source. */
int	 pack_run(struct source *s, unsigned threads, const struct pack_sink *sink);

#endif
