/*
 * checkpoint_find - the checkpoint finder: the newest checkpoint of a run, by file name.
 *
 *	PREFIX-EEEE.safetensors		after EEEE epochs
 *	PREFIX-EEEE-SSSSSS.safetensors	and SSSSSS steps of the next
 *
 * Files appear under these names only when they are complete (train/checkpoint.h), so the newest is complete.
 * Threads: no state.
 */
#ifndef TRAIN_CHECKPOINT_FIND_H
#define TRAIN_CHECKPOINT_FIND_H

#include <stdint.h>

/*
 * Finds the checkpoint with the most epochs, then steps.  Returns 1 with *path, which the caller frees, 0 if there is
 * none (or no directory), ERR_SYS or ERR_NOMEM.
 */
int	 checkpoint_find(const char *prefix, char **path);
/*
 * Removes all but the `most` newest of the checkpoints up to an epoch and step.  Later ones belong to another run and
 * stay.  Returns 0, ERR_SYS or ERR_NOMEM.
 */
int	 checkpoint_prune(const char *prefix, uint64_t epoch, uint64_t step, uint32_t most);
/* Bytes on disk that become free if these checkpoints are all removed: none of a file that has another name too. */
uint64_t checkpoint_bytes(const char *prefix, uint64_t epoch, uint64_t step);

#endif
