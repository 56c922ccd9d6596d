/*
 * split - several devices as one: each batch in parts, a plan on each, one gradient.
 *
 * D devices take n samples in their order, n / D each and the first n % D one more.
 * The gradients are added in that order, g = ((g0 + g1) + g2) ..., each array as soon
 * as all have it, so the bits are the same on every run, and those of one device that
 * takes the same parts one after the other (--accumulate D) on as many threads as each
 * of these has.  Dropout's masks depend on a sample's number in the whole batch.
 *
 * Where all are GPUs, NCCL adds the gradients on them, so that one sum comes down to the host; of three devices and
 * more in an order of its own, which on one machine is the same on every run.
 *
 * Batch norm takes the statistics of its own part, as in MXNet's and PyTorch's data
 * parallelism; what leaves is their mean, weighted by samples.
 *
 * The devices' threads run beside each other: the first part's pass is the caller's, who
 * alone calls the hooks, and each other plan has a thread of its own.
 */
#ifndef ENGINE_SPLIT_SPLIT_H
#define ENGINE_SPLIT_SPLIT_H

#include "engine/engine.h"

#define SPLIT_MOST 64	/* devices */

/*
 * Opens "cpu:0,cpu:1": engines with numbers of devices, :0 may be left out; one alone is that engine's own device.
 * threads (0: as in struct engine) are divided.  *e gets the engine that runs *dev.  Returns 0, ERR_ARG (a list that
 * is none, a device twice), ERR_NOTSUP or ERR_NOMEM.
 */
int	 split_open(const char *devices, unsigned threads, const struct engine **e, struct engine_dev **dev);
/* A GPU as people call it, "gpu:0", and its address on the PCI bus. */
struct split_place {
	char name[16], bus[ENGINE_BUS];
};

/* Those of *dev in their order; returns how many, processors not counted. */
uint32_t split_places(const struct engine *e, const struct engine_dev *dev, struct split_place place[SPLIT_MOST]);
/* Why gradients are added up on the host though devices of the kind can do it; NULL when there is nothing to say. */
const char *split_remark(const struct engine *e, const struct engine_dev *dev);

#endif
