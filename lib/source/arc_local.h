/*
 * arc_local - reads an archive in this process.  For arc, with the contracts of arc.h.
 */
#ifndef SOURCE_ARC_LOCAL_H
#define SOURCE_ARC_LOCAL_H

#include "source/arc.h"

#include <stdint.h>

struct arc_local;

struct arc_local_opt {
	int		 fd;		/* a file, read from its start; or -1: read from in */
	struct arc_in	 in;
	const uint8_t	*head;		/* its first n bytes, which tell the compression */
	size_t		 n;
	enum arc_kind	 kind;
	bool		 all;		/* all formats; else only those whose readers are safe in this process */
};

int	 arc_local_open(const struct arc_local_opt *opt, struct arc_local **h);
void	 arc_local_close(struct arc_local *h);	/* NULL is fine */
bool	 arc_local_is_packed(const struct arc_local *h);
int	 arc_local_next(struct arc_local *h, const char **name);
int	 arc_local_read(struct arc_local *h, void *p, size_t n, size_t *got);

#endif
