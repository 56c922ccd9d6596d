/*
 * job - what an agent is told to run, in memory and as the bytes of CTL_JOB.
 *
 * A tally job has servers, which say where they listen, and workers, which are
 * told so.  A dmlc job runs one command in all roles, told apart by the
 * environment (dmlc-core, doc/ and tracker/; ps-lite, docs/env.md), beside a
 * scheduler for whose port the agent sees.
 *
 * Ownership: a job from job_get holds its texts until job_free.  For job_put
 * all is the caller's.
 */
#ifndef RUN_JOB_H
#define RUN_JOB_H

#include "base/buf.h"

#include <stdbool.h>

#define JOB_KEY		64u	/* hexadecimal digits of the job's key */
#define JOB_MOST	65536u	/* processes, words of a command, variables */

enum job_role { JOB_SCHEDULER, JOB_SERVER, JOB_WORKER };

struct job_child {
	uint32_t	 role, rank;
};

struct job {
	bool		 dmlc;
	bool		 input;			/* worker 0 has a standard input, by CTL_INPUT; the others' is empty */
	uint32_t	 workers, servers;	/* in the whole job */
	const char	*key;			/* [JOB_KEY] digits; "" for a dmlc job */
	const char	*dir;			/* where the children run */
	const char	*addr;			/* the host's own address; "": by interface, or as the remote shell came in */
	const char	*iface;			/* "": not said */
	const char	*host;			/* the host's name, for want of an address */
	uint32_t	 silence_ms;		/* the launcher is lost when it says nothing for so long */
	uint32_t	 spool_kib;		/* the most that waits on a host of what its processes printed; then they wait */
	char		**env;			/* "NAME=VALUE", as the others ending with NULL */
	char		**argv;			/* of workers; in a dmlc job of all */
	char		**server_argv;		/* of servers */
	char		**each;			/* "WORD=V:V:...": WORD and a value each, behind the words of each worker */
	struct job_child *child;		/* [nchildren] of this agent */
	uint32_t	 nchildren;
	uint8_t		*bytes;			/* job_get's own */
};

/* Appends the payload of CTL_JOB.  Returns 0 or ERR_NOMEM. */
int	 job_put(const struct job *j, struct buf *b);
/* Reads one.  Returns 0, ERR_FORMAT or ERR_NOMEM; *j then needs no free. */
int	 job_get(struct job *j, const void *p, size_t n);
void	 job_free(struct job *j);

/* "scheduler", "server" or "worker". */
const char *job_role(uint32_t role);

#endif
