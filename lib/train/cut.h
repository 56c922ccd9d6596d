/*
 * cut - cuts of a run: checkpoints within an epoch, from which a job that lost all its processes goes on.
 *
 *	CUTS-EEEE-SSSSSS.safetensors			a checkpoint (train/checkpoint_find.h)
 *	CUTS-EEEE-SSSSSS.safetensors.manifest		its run, position, size and checksum as JSON
 *
 * CUTS is the prefix that cut_prefix() makes from that of the run's other checkpoints.  The manifest is written after
 * the checkpoint and seals it: a cut without one, or with one that does not fit, is not used.  Threads: no state.
 */
#ifndef TRAIN_CUT_H
#define TRAIN_CUT_H

#include "train/checkpoint_find.h"

#include <stddef.h>
#include <stdint.h>

#define CUT_MANIFEST	4096u	/* most bytes of a manifest */
#define CUT_KEPT	2u	/* newest cuts that stay */
#define CUT_INFIX	".cut-"	/* a part of the names of cuts, and of no other names */

struct cut_manifest {
	uint64_t run;		/* identifies the run: what must be equal in the one that uses the cut */
	uint64_t epoch, step;
	uint64_t bytes;		/* bytes of the checkpoint */
	uint64_t sum;		/* XXH3 of these */
};

/*
 * The prefix of the cuts of a run whose checkpoints are PREFIX-*: in its directory, or in `dir` unless NULL, its name,
 * CUT_INFIX and a hash of its absolute path, so that no two runs share one.  The caller frees it; NULL when out of
 * memory.
 */
char	*cut_prefix(const char *prefix, const char *dir);
/* Reads the text of a manifest.  Returns 0 or ERR_FORMAT. */
int	 cut_parse(const void *text, size_t n, struct cut_manifest *m);
/*
 * Seals the checkpoint of a path; m has its run and position.  Returns 0, ERR_SYS, ERR_NOMEM, or ERR_LIMIT if the disk
 * is full.
 */
int	 cut_seal(const char *path, const struct cut_manifest *m);
/*
 * Finds the newest of a run's checkpoints under `prefix` and cuts under `cuts` (NULL: none).  Cuts of another run or
 * without a manifest that fits are passed over, and their reasons given to refused().  Without refused() a cut is not
 * read: its manifest is believed.  Returns 1 for a checkpoint or 2 for a cut, with its position and *path, which the
 * caller frees, 0 if there is none (or no directory), ERR_SYS or ERR_NOMEM.
 */
int	 cut_find(const char *prefix, const char *cuts, uint64_t run, void (*refused)(const char *why),
    struct checkpoint_name *at, char **path);
/*
 * Removes all cuts of a run but the `most` newest up to an epoch and step.  Later ones go too: the run went on from
 * before them.  Those whose manifest names another run stay.  Returns 0, ERR_SYS or ERR_NOMEM.
 */
int	 cut_prune(const char *cuts, uint64_t run, uint64_t epoch, uint64_t step, uint32_t most);
/* Bytes on disk that become free if all cuts of a run are removed. */
uint64_t cut_bytes(const char *cuts, uint64_t run);

#endif
