/* im2rec_serve - im2rec --serve: records for the workers of other hosts. */
#ifndef CMD_IM2REC_SERVE_H
#define CMD_IM2REC_SERVE_H

#include <stdbool.h>
#include <stddef.h>

struct im2rec_serve {
	const char	*listen;	/* "host:port"; NULL: any port, on all addresses */
	const char	*key;		/* file */
	int		 ready;		/* descriptor that is told where it listens; -1: none */
	bool		 quiet;		/* no line for each reader */
};

/* Serves n > 0 paths as data/recs.h reads them until a signal comes; returns the exit status. */
int	 im2rec_serve(char *const path[], size_t n, const struct im2rec_serve *o);

#endif
