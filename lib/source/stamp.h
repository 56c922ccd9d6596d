/*
 * stamp - size and modification time, which detect that a file was replaced.
 */
#ifndef SOURCE_STAMP_H
#define SOURCE_STAMP_H

#include <stdint.h>

/* All zeros if there is no regular file. */
struct stamp {
	uint64_t bytes;
	int64_t	 s, ns;		/* modification time */
};

struct stamp stamp_of(const char *path);
/* The stamp of an open file, even if its name now belongs to another. */
struct stamp stamp_of_fd(int fd);

#endif
