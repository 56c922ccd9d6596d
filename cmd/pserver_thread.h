/*
 * pserver_thread - a server in a thread of a process that does more: the shard of pworker(1) --shard.
 *
 * A process has at most one.  It ends when all workers have said goodbye.  If the process exits before, it tells them.
 * Its lines for people begin with "shard I: ", where I is its rank.
 *
 * Threads: the functions are called from one thread.
 */
#ifndef CMD_PSERVER_THREAD_H
#define CMD_PSERVER_THREAD_H

#include "ps/server/serve.h"

#include <stdio.h>

/*
 * Starts it, and returns when it listens.  serve: as in struct pserver_run, without stop_fd; what it points to is lent
 * until the end of the process.  state: file of what outlives the process, or NULL.  Returns 0 or an error of
 * pserver_run().
 */
int	 pserver_thread_start(const struct serve_opt *serve, const char *state);
/* Writes its rows to this file from now on, those before too; NULL: drops them. */
void	 pserver_thread_set_rows(FILE *rows);
/* Waits until all workers have said goodbye to it.  Returns 0, also if none was started, or the error that ended it. */
int	 pserver_thread_wait(void);

#endif
