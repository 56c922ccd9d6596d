/*
 * arc_local - an archive's members by libarchive, in this process: serves arc, whose contracts these are.
 */
#ifndef SOURCE_ARC_LOCAL_H
#define SOURCE_ARC_LOCAL_H

#include "source/arc.h"

#include <stdint.h>

struct arc_local;

/* What is read, and as what. */
struct arc_local_opt {
	int		 fd;		/* a file, read from its beginning; or -1: ... */
	struct arc_in	 in;		/* ... this */
	const uint8_t	*head;		/* its first bytes, n of them, for a look at how they are packed */
	size_t		 n;
	enum arc_kind	 kind;
	bool		 all;		/* formats; otherwise those alone whose readers are safe in this process */
};

int	 arc_local_open(struct arc_local **h, const struct arc_local_opt *opt);
void	 arc_local_close(struct arc_local *h);	/* NULL is fine */
bool	 arc_local_is_packed(const struct arc_local *h);
int	 arc_local_next(struct arc_local *h, const char **name);
int	 arc_local_read(struct arc_local *h, void *p, size_t n, size_t *got);

#endif
