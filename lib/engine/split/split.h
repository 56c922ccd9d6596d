/*
 * split - several devices as one: each batch in parts, a plan for each part, one gradient.
 *
 * lib/engine/split is split (the devices and their plans), split_pass (passes and sums of gradients) and split_opt (the
 * device optimizer on several devices); split_in.h is what these share.
 *
 * D devices share the n samples of a batch in order: each takes n / D, the first n % D one more.
 *
 * Gradients are added in the order of the devices, ((g0 + g1) + g2) ..., each array as soon as every device has it.
 * One device that accumulates the same parts as micro-batches, on as many threads as each of these has, gives the same
 * bits.  GPUs add the gradients with NCCL, so that only the sum is copied to the host; with the device optimizer, which
 * then runs on each, nothing is.  Three or more GPUs add in another order, which is the same in every run on one
 * machine.
 *
 * Dropout masks depend on a sample's number in the whole batch.  Batch norm uses the statistics of each part, as data
 * parallelism in MXNet and PyTorch does; backward() returns their mean, weighted by samples.
 *
 * Threads: the caller's thread computes the first part and calls the hooks.  Each other plan has its own thread.
 */
#ifndef ENGINE_SPLIT_SPLIT_H
#define ENGINE_SPLIT_SPLIT_H

#include "engine/engine.h"

#define SPLIT_MOST 64	/* devices */

/* The name of a GPU, "gpu:0", and its address on the PCI bus. */
struct split_place {
	char name[16], bus[ENGINE_BUS];
};

/*
 * Opens a list of engines with the numbers of their devices, "cuda:0,cuda:1"; ":0" may be left out.  *e gets the engine
 * that runs *dev, which for one device is that device's own.  devices NULL: device 0 of *e.  The devices divide the
 * threads (0: as in struct engine).  Returns 0, ERR_ARG (a bad list, a device twice), ERR_NOTSUP or ERR_NOMEM.
 */
int	 split_open(const char *devices, unsigned threads, const struct engine **e, struct engine_dev **dev);

/* The GPUs of *dev in order; returns their number. */
uint32_t split_places(const struct engine *e, const struct engine_dev *dev, struct split_place place[SPLIT_MOST]);

/* Why the host adds the gradients although such devices can; NULL if they do, or cannot.  Valid until close(). */
const char *split_remark(const struct engine *e, const struct engine_dev *dev);

#endif
