/*
 * arc_here - an archive's members by libarchive, in this process: serves arc, whose contracts these are.
 */
#ifndef SOURCE_ARC_HERE_H
#define SOURCE_ARC_HERE_H

#include "source/arc.h"

#include <stdint.h>

struct arc_here;

/* What is read, and as what. */
struct arc_here_opt {
	int		 fd;		/* a file, read from its beginning; or -1: ... */
	struct arc_in	 in;		/* ... this */
	const uint8_t	*head;		/* its first bytes, n of them, for a look at how they are packed */
	size_t		 n;
	enum arc_kind	 kind;
	bool		 all;		/* formats; otherwise those alone whose readers are safe in this process */
};

int	 arc_here_open(struct arc_here **h, const struct arc_here_opt *opt);
void	 arc_here_close(struct arc_here *h);	/* NULL is fine */
bool	 arc_here_is_packed(const struct arc_here *h);
int	 arc_here_next(struct arc_here *h, const char **name);
int	 arc_here_read(struct arc_here *h, void *p, size_t n, size_t *got);

#endif
