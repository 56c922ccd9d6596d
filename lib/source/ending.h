/*
 * ending - what the ending of a file's name says about it; letters' case is of no matter.
 *
 * Threads: any.
 */
#ifndef SOURCE_ENDING_H
#define SOURCE_ENDING_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the name without .gz and the like. */
size_t	 ending_unpacked(const char *name);
/* Length of an archive's name without its ending, .tar.gz or .zip; 0: it is none. */
size_t	 ending_archive(const char *name);
/* Whether it is a picture's: of any format, so that what is not read is told, not passed over. */
bool	 ending_is_picture(const char *name);
/* Whether it holds raw numbers (.bin, -ubyte), which may look like the head of an archive; packed or not. */
bool	 ending_is_raw(const char *name);
/* Whether the n bytes of a name end in end. */
bool	 ending_is(const char *name, size_t n, const char *end);

#endif
