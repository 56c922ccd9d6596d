/*
 * unpack - decompresses gzip, xz and zstd.  For arc_local.
 *
 * libarchive loses what it has decompressed when the rest is missing, and checks no sum of gzip.
 */
#ifndef SOURCE_UNPACK_H
#define SOURCE_UNPACK_H

#include "source/arc.h"

#include <stdint.h>

struct unpack;

/* Whether the first n bytes are of a compression that this module knows. */
bool	 unpack_knows(const uint8_t *head, size_t n);
/* in must live as long.  Returns 0 or ERR_NOMEM. */
int	 unpack_open(struct arc_in in, const uint8_t *head, size_t n, struct unpack **u);
void	 unpack_close(struct unpack *u);	/* NULL is fine */
/*
 * Reads up to n bytes; *got is less only at the end or after an error, and counts the bytes before it.  Returns 0;
 * ERR_SHORT (the data is cut); ERR_FORMAT (damage, a wrong checksum, or other bytes after the data); ERR_NOMEM; or an
 * error of in.
 */
int	 unpack_read(struct unpack *u, void *p, size_t n, size_t *got);

#endif
