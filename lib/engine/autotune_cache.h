/*
 * autotune_cache - which kernel won for what, kept in a text file from run to run.
 *
 * A line a choice, cells behind tabs:
 *
 *	NVIDIA H200	9.0	9.19.0	12.8	bf16	forward n64 c3 h28 w28 ...	fixed	57 2=1 10=3
 *
 * the device, its compute capability, the versions of cuDNN and CUDA, the precision, the convolution, the order of sums
 * (fixed, or any: those whose order changes from run to run took part), the kernel and how its knobs are set.  The
 * first seven are the key, tabs and all.  Lines that are empty or begin with # are comments; what else is no such line
 * is passed over, and is gone when the file is written next.
 *
 * Processes share the file: it is written whole, by rename, under a lock on FILE.lock, with what others wrote since.
 * An entry that a process has in memory wins over the file's.
 * Threads: find and keep may be called by several at a time.
 */
#ifndef ENGINE_AUTOTUNE_CACHE_H
#define ENGINE_AUTOTUNE_CACHE_H

#include "engine/engine.h"

#define AUTOTUNE_CACHE_MOST	4096	/* choices kept: of more the oldest go */
#define AUTOTUNE_CACHE_BYTES	((size_t)4 << 20)	/* most of a file that is read */

struct autotune_cache;

/*
 * Reads a line, without its newline.  Returns 1 for a choice, 0 for an empty line or a comment, ERR_FORMAT (the line
 * noted names the cell) or ERR_LIMIT.
 */
int	 autotune_cache_parse(const char *line, char key[ENGINE_KEY], char name[ENGINE_CHOICE]);

/*
 * Reads the file at path; one that is not there is empty.  *strange gets how many lines were none.  Returns 0, ERR_SYS,
 * ERR_NOMEM, or ERR_LIMIT for a file that is larger than any that this writes.
 */
int	 autotune_cache_open(struct autotune_cache **c, const char *path, uint32_t *strange);
/* Returns 0, or why autotune_cache_keep() could not write, the first time.  NULL is fine. */
int	 autotune_cache_close(struct autotune_cache *c);

/* As in struct engine_tune, with a struct autotune_cache * as arg. */
bool	 autotune_cache_find(void *c, const char *key, char name[ENGINE_CHOICE]);
/* Remembers it and writes the file.  What is no line of the format is not kept. */
void	 autotune_cache_keep(void *c, const char *key, const char *name);

#endif
