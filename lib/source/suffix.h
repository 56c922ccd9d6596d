/*
 * suffix - what the ending of a file's name says about it; letters' case is of no matter.
 *
 * Threads: any.
 */
#ifndef SOURCE_SUFFIX_H
#define SOURCE_SUFFIX_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the name without .gz and the like. */
size_t	 suffix_unpacked(const char *name);
/* Length of an archive's name without its ending, .tar.gz or .zip; 0: it is none. */
size_t	 suffix_archive(const char *name);
/* Whether it is a picture's: of any format, so that what is not read is told, not passed over. */
bool	 suffix_is_image(const char *name);
/* Whether it holds raw numbers (.bin, -ubyte), which may look like the head of an archive; packed or not. */
bool	 suffix_is_raw(const char *name);
/* Whether the n bytes of a name end in end. */
bool	 suffix_is(const char *name, size_t n, const char *end);

#endif
