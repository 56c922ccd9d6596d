/* pserver_log - a server's traffic and load as rows of a log; log(5). */
#ifndef CMD_PSERVER_LOG_H
#define CMD_PSERVER_LOG_H

#include "ps/server/serve.h"
#include "watch/load.h"
#include "log/tsv.h"

struct server_log {
	/* The caller's: writes whole rows, lent.  part: the process has a log of its own, with load and epochs. */
	void	 (*write)(void *arg, const char *rows, size_t n);
	void	*arg;
	bool	 part;
	/* server_log's own */
	char	 host[TSV_HOST];
	uint32_t rank, nservers, nworkers;
	bool	 any;			/* a row was written */
	double	 began;
	struct load load;		/* at the previous row of the load */
};

/* Sets its own members. */
void	server_log_begin(struct server_log *l, const struct serve_opt *o);
void	server_log_traffic(struct server_log *l, const struct serve_traffic_report *m);
/* Writes the last row, unless the log is empty. */
void	server_log_end(struct server_log *l, const struct serve_sums *sums);

#endif
