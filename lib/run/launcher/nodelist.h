/*
 * nodelist - expands Slurm's short form of a list of hosts.
 *
 *	node[1-3,07],gpu[01-02]-ib,login	node1 node2 node3 node07 gpu01-ib gpu02-ib login
 *	2(x3),1					2 2 2 1
 *
 * The first is SLURM_JOB_NODELIST, the second SLURM_TASKS_PER_NODE (sbatch(1), OUTPUT ENVIRONMENT
 * VARIABLES).  A number has as many digits as the first of its range.  A name may have several
 * brackets; the last one varies fastest.
 */
#ifndef RUN_LAUNCHER_NODELIST_H
#define RUN_LAUNCHER_NODELIST_H

#include "base/buf.h"

#define NODELIST_MOST	4096u	/* most names */

/*
 * Appends a line of a hosts file (run/launcher/hosts.h) for each name: "node1 slots=2\n".  If tasks
 * is NULL, lines have no slots.  Returns 0, ERR_FORMAT, ERR_LIMIT or ERR_NOMEM.
 */
int	 nodelist_hosts(const char *list, const char *tasks, struct buf *out);

#endif
