/*
 * suffix - classifies file names by their suffix, in any case.
 *
 * Threads: any.
 */
#ifndef SOURCE_SUFFIX_H
#define SOURCE_SUFFIX_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length of the name without a compression suffix such as .gz. */
size_t	 suffix_unpacked(const char *name);
/* Returns the length of the name without .tar.gz, .zip or another suffix of archives, or 0 if it has none of them. */
size_t	 suffix_archive(const char *name);
/* Whether it names an image.  Unsupported formats count, so that their files are reported and not skipped. */
bool	 suffix_is_image(const char *name);
/* Returns the suffix of a format that tally knows but cannot read, such as .cr2, or NULL if the name has none. */
const char *suffix_not_read(const char *name);
/* Whether it names raw numbers (.bin, -ubyte), compressed or not.  Their bytes may look like an archive. */
bool	 suffix_is_raw(const char *name);
/* Whether it names a list of images (.lst). */
bool	 suffix_is_list(const char *name);
/* Whether the name, of n bytes, ends in `end` and is longer than it. */
bool	 suffix_is(const char *name, size_t n, const char *end);

#endif
