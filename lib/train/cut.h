/*
 * cut - cuts of a run: checkpoints within an epoch, from which a job that lost all its processes goes on.
 *
 *	PREFIX-EEEE-SSSSSS.safetensors			a checkpoint (train/checkpoint_find.h)
 *	PREFIX-EEEE-SSSSSS.safetensors.manifest		its run, position, size and checksum as JSON
 *
 * The prefix of cuts is not that of the run's other checkpoints.  The manifest is written after the checkpoint and
 * seals it: a cut without one, or with one that does not fit, is not used.  Threads: no state.
 */
#ifndef TRAIN_CUT_H
#define TRAIN_CUT_H

#include <stddef.h>
#include <stdint.h>

#define CUT_MANIFEST	4096u	/* most bytes of a manifest */
#define CUT_KEPT	2u	/* newest cuts that stay */

struct cut_manifest {
	uint64_t run;		/* identifies what must not change from the run that made it to one that uses it */
	uint64_t epoch, step;
	uint64_t bytes;		/* of the checkpoint */
	uint64_t sum;		/* XXH3 of these */
};

/* Reads the text of a manifest.  Returns 0 or ERR_FORMAT. */
int	 cut_parse(const void *text, size_t n, struct cut_manifest *m);
/*
 * Seals the checkpoint of a path; m has its run and position.  Returns 0, ERR_SYS, ERR_NOMEM, or ERR_LIMIT if the disk
 * is full.
 */
int	 cut_seal(const char *path, const struct cut_manifest *m);
/*
 * Finds the newest of a run's checkpoints under `prefix` and cuts under `cuts` (NULL: none).  Cuts of another run or
 * without a manifest that fits are passed over, and their reasons given to refused(), which may be NULL.  Returns 1
 * with *path, which the caller frees, 0 if there is none (or no directory), ERR_SYS or ERR_NOMEM.
 */
int	 cut_find(const char *prefix, const char *cuts, uint64_t run, void (*refused)(void *arg, const char *why),
	     void *arg, char **path);
/*
 * Removes all cuts but the `most` newest up to an epoch and step.  Later ones go too: the run went on from before them.
 * Returns 0, ERR_SYS or ERR_NOMEM.
 */
int	 cut_prune(const char *prefix, uint64_t epoch, uint64_t step, uint32_t most);

#endif
