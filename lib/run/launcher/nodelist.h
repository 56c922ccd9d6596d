/*
 * nodelist - Slurm's short form of a list of hosts, written out.
 *
 *	node[1-3,07],gpu[01-02]-ib,login	node1 node2 node3 node07 gpu01-ib gpu02-ib login
 *	2(x3),1					2 2 2 1
 *
 * The first is SLURM_JOB_NODELIST, the second SLURM_TASKS_PER_NODE (sbatch(1),
 * OUTPUT ENVIRONMENT VARIABLES).  A number keeps the digits of its range's
 * first; a name may have several brackets, the last counts fastest.
 */
#ifndef RUN_LAUNCHER_NODELIST_H
#define RUN_LAUNCHER_NODELIST_H

#include "base/buf.h"

#define NODELIST_MOST	4096u	/* names */

/*
 * Appends the names, a hosts file's line each (run/launcher/hosts.h): "node1 slots=2\n".  tasks may be NULL: 1 each.
 * Returns 0, ERR_FORMAT, ERR_LIMIT or ERR_NOMEM.
 */
int	 nodelist_hosts(const char *list, const char *tasks, struct buf *out);

#endif
