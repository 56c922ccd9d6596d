/*
 * pserver_run - a server with its log: the whole of pserver(1), or the shard of pworker(1) --shard.
 *
 * Threads: pserver_run() uses the thread that calls it.  In a process that does more, that is a thread of its own.
 */
#ifndef CMD_PSERVER_RUN_H
#define CMD_PSERVER_RUN_H

#include "pserver_log.h"

#include "ps/server/serve.h"

struct pserver_run {
	struct serve_opt serve;		/* without incarnation, memory, listening, say, report_traffic and arg */
	const char	*state;		/* file of what outlives the process, or NULL */
	const char	*name;		/* precedes its lines, as in "shard 0: "; "": the process is no more than it */
	struct server_log log;		/* with the caller's members alone */
	void		(*listening)(void *arg, const char *where);	/* called when it listens; or NULL */
	void		*arg;
	bool		 listened;	/* set by pserver_run() */
};

/*
 * Serves as serve_run() does, with its results, and prints what happens.  If all workers have said goodbye, the state
 * is removed.  ERR_ARG: another process uses the state.
 */
int	 pserver_run(struct pserver_run *r);
/* Reads the number of a descriptor that listens, for the member listen_fd. */
int	 pserver_take_listener(const char *option, const char *text);

#endif
