/*
 * autotune_cache - the fastest kernels, kept in a text file from run to run.
 *
 * Each line is a choice, in cells that tabs separate:
 *
 *	NVIDIA H200	9.0	9.19.0	12.8	bf16	forward n64 c3 h28 w28 ...	fixed	57 2=1 10=3
 *
 * The cells are the device, its compute capability, the versions of cuDNN and CUDA, the precision, the convolution, the
 * order of sums, and the kernel with its settings.  The order is `fixed`, or `any` if kernels took part whose order
 * changes from run to run.  The first seven cells are the key.  Empty lines and lines that begin with #
 * are comments.  Other lines are ignored, and lost when the file is written next.
 *
 * Processes share the file.  A process that writes locks FILE.lock, reads what others have written, and replaces the
 * file by rename().  Its own entries win over the file's.
 * Threads: several may call find and keep at a time.
 */
#ifndef ENGINE_AUTOTUNE_CACHE_H
#define ENGINE_AUTOTUNE_CACHE_H

#include "engine/engine.h"

#define AUTOTUNE_CACHE_MOST	4096	/* choices; the oldest make room for new ones */
#define AUTOTUNE_CACHE_BYTES	((size_t)4 << 20)	/* the largest file that is read */

struct autotune_cache;

/*
 * Reads a line without its newline.  Returns 1 for a choice, 0 for an empty line or a comment, ERR_FORMAT (the line
 * noted names the cell) or ERR_LIMIT.
 */
int	 autotune_cache_parse(const char *line, char key[ENGINE_KEY], char name[ENGINE_CHOICE]);

/*
 * Reads the file at path.  A missing file is empty.  *ignored gets the number of lines that are neither choices nor
 * comments.  Returns 0, ERR_SYS, ERR_NOMEM, or ERR_LIMIT for a file larger than AUTOTUNE_CACHE_BYTES.
 */
int	 autotune_cache_open(const char *path, uint32_t *ignored, struct autotune_cache **c);
/* Returns 0, or the first error of autotune_cache_keep().  NULL is fine. */
int	 autotune_cache_close(struct autotune_cache *c);

/* As in struct engine_tune, with a struct autotune_cache * as arg. */
bool	 autotune_cache_find(void *c, const char *key, char name[ENGINE_CHOICE]);
/* Stores the choice and writes the file.  Does nothing if key and name do not make a line of the file. */
void	 autotune_cache_keep(void *c, const char *key, const char *name);

#endif
