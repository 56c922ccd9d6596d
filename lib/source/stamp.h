/*
 * stamp - what tells a file from another one that is given its name later: its size and date.
 */
#ifndef SOURCE_STAMP_H
#define SOURCE_STAMP_H

#include <stdint.h>

/* All 0: there is no plain file. */
struct stamp {
	uint64_t bytes;
	int64_t	 s, ns;		/* of the last change */
};

struct stamp stamp_of(const char *path);
/* The open file, whatever its name is given to meanwhile. */
struct stamp stamp_of_fd(int fd);

#endif
