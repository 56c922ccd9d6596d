/*
 * suffix - classifies file names by their suffix, in any case.
 *
 * Threads: any.
 */
#ifndef SOURCE_SUFFIX_H
#define SOURCE_SUFFIX_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the name without a compression suffix such as .gz. */
size_t	 suffix_unpacked(const char *name);
/* Length of an archive's name without its suffix, such as .tar.gz or .zip; 0 if it is not an archive. */
size_t	 suffix_archive(const char *name);
/* Whether it is an image of any format, also of one that is not supported: such a file is reported, not skipped. */
bool	 suffix_is_image(const char *name);
/* The listed suffix, of a format that is known and not read, that the name has; NULL: none. */
const char *suffix_not_read(const char *name);
/* Whether it holds raw numbers (.bin, -ubyte), which may look like an archive header; compressed or not. */
bool	 suffix_is_raw(const char *name);
/* Whether the name of n bytes ends in end and is longer. */
bool	 suffix_is(const char *name, size_t n, const char *end);

#endif
