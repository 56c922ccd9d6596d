/*
 * checkpoint_find - the newest checkpoint of a run, by its name.
 *
 *	PREFIX-EEEE.safetensors		after EEEE epochs
 *	PREFIX-EEEE-SSSSSS.safetensors	and SSSSSS steps of the next
 *
 * Files appear under these names when they are whole, so the newest is a whole one (train/train.h).
 * Threads: no state.
 */
#ifndef TRAIN_CHECKPOINT_FIND_H
#define TRAIN_CHECKPOINT_FIND_H

#include <stdint.h>

/* 1: *path, to be freed, has the most epochs, then steps; 0: there is none, nor maybe its directory; ERR_SYS, ERR_NOMEM. */
int	 checkpoint_find(const char *prefix, char **path);
/*
 * Of the checkpoints up to that of an epoch and step, the `most` newest stay; later ones, of another run, are let be.
 * Returns 0, ERR_SYS or ERR_NOMEM.
 */
int	 checkpoint_prune(const char *prefix, uint64_t epoch, uint64_t step, uint32_t most);

#endif
