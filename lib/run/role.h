/*
 * role - one process of a job as a command line and an environment.
 *
 * What is added behind the command's own words:
 *
 *	server	--listen ADDR:0 --workers W --server i/S --key-file /dev/fd/K --ready-fd F
 *	worker	WORD VALUE of each of job.each; --servers LIST --worker i/W --key-file /dev/fd/K	(without servers: no more)
 *
 * A server writes "host:port\n" to descriptor F when it listens; descriptor K
 * is a pipe with the job's key.  A dmlc job's processes get no words but its workers' of job.each, and
 *
 *	DMLC_ROLE DMLC_RANK DMLC_TASK_ID DMLC_NUM_WORKER DMLC_NUM_SERVER DMLC_NODE_HOST
 *	DMLC_WORKER_ID or DMLC_SERVER_ID; DMLC_PS_ROOT_URI DMLC_PS_ROOT_PORT
 *
 * (ps-lite, docs/env.md; dmlc-core, tracker/).  All get PATH with the agent's
 * own directory first and OMP_WAIT_POLICY=passive, workers OMP_NUM_THREADS: their part of the
 * host's processors.  What the job's env or the agent's own environment says about the two OMP_ stands.
 */
#ifndef RUN_ROLE_H
#define RUN_ROLE_H

#include "run/job.h"
#include "run/words.h"

struct role_place {
	const char	*addr;		/* of this host */
	const char	*bin;		/* the directory of the agent's program; "" when not known */
	const char	*go;		/* text of CTL_GO: the servers, or the scheduler; "" when not known */
	unsigned	 processors;	/* of this host */
	int		 key_fd, ready_fd;
};

/* Each fills an empty list.  Returns 0 or ERR_NOMEM. */
int	 role_argv(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *argv);
int	 role_env(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *env);

#endif
