/*
 * checkpoint_find - the checkpoint finder: the checkpoints of a run, by file name.
 *
 *	PREFIX-EEEE.safetensors		after EEEE epochs
 *	PREFIX-EEEE-SSSSSS.safetensors	and SSSSSS steps of the next
 *
 * Files appear under these names only when they are complete (train/checkpoint.h), so the newest is complete.
 * Threads: no state.
 */
#ifndef TRAIN_CHECKPOINT_FIND_H
#define TRAIN_CHECKPOINT_FIND_H

#include <stddef.h>
#include <stdint.h>

/* The position of a checkpoint, which is its name without the prefix. */
struct checkpoint_name {
	uint64_t epoch, step;
};

/*
 * Lists the checkpoints up to an epoch and step, the newest first; the caller frees *names.  None if there is no
 * directory.  Returns 0, ERR_SYS or ERR_NOMEM; *names is to be freed after an error, too.
 */
int	 checkpoint_list(const char *prefix, uint64_t epoch, uint64_t step, struct checkpoint_name **names, size_t *n);
/* The path of a checkpoint, which the caller frees; NULL when out of memory. */
char	*checkpoint_path(const char *prefix, const struct checkpoint_name *name);
/*
 * Removes all but the `most` newest of the checkpoints up to an epoch and step.  Later ones belong to another run and
 * stay.  Returns 0, ERR_SYS or ERR_NOMEM.
 */
int	 checkpoint_prune(const char *prefix, uint64_t epoch, uint64_t step, uint32_t most);
/* Bytes on disk that become free if these checkpoints are all removed.  A file with another name frees none. */
uint64_t checkpoint_bytes(const char *prefix, uint64_t epoch, uint64_t step);
/* Removes the unfinished files (base/io.h) of a process that was killed while it wrote one of these. */
void	 checkpoint_clean(const char *prefix);

#endif
