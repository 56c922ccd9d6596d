/*
 * role - the command line and the environment of one process of a job.
 *
 * Words added after the command's own:
 *
 *	server	--listen ADDR:0 --workers W --server i/S --key-file /dev/fd/K --ready-fd F; if it is started again
 *		when it dies, --listen HOST:PORT --listen-fd L --state /dev/fd/M in place of --listen ADDR:0
 *	worker	WORD VALUE of each of job.each; if there are servers, then
 *		--servers LIST --worker i/W --key-file /dev/fd/K, and --state /dev/fd/M if it is started again;
 *		if it holds a shard, the same with --shard --shard-fd L, and --shard-state /dev/fd/N
 *
 * In an elastic job (job.elastic) W is N..M.
 *
 * A server writes "host:port\n" to descriptor F when it listens.  Descriptor K is a pipe with the
 * job's key, L a socket that listens at HOST:PORT, M and N memories that outlive the process
 * (ps/memory.h).  In a dmlc job only workers get words, those of job.each, and all processes get
 *
 *	DMLC_ROLE DMLC_RANK DMLC_TASK_ID DMLC_NUM_WORKER DMLC_NUM_SERVER DMLC_NODE_HOST
 *	DMLC_WORKER_ID or DMLC_SERVER_ID; DMLC_PS_ROOT_URI DMLC_PS_ROOT_PORT
 *
 * (ps-lite, docs/env.md; dmlc-core, tracker/).  All processes get OMP_WAIT_POLICY=passive and PATH
 * with the agent's own directory first.  A worker gets OMP_NUM_THREADS, its part of the host's
 * processors, and worker 0 TALLY_MAILBOX, the descriptor of its mailbox (ps/mailbox.h).  A value of
 * an OMP_ variable in the job's or the agent's environment takes precedence.
 */
#ifndef RUN_ROLE_H
#define RUN_ROLE_H

#include "run/job.h"
#include "run/words.h"

struct role_place {
	const char	*addr;		/* address of this host */
	const char	*bin;		/* the directory of the agent's program; "": not known */
	const char	*go;		/* text of CTL_GO: the servers' or the scheduler's address; "": not known */
	unsigned	 processors;	/* number of processors of this host */
	int		 key_fd, ready_fd;
	const char	*listen;	/* the address of listen_fd; NULL: the server is not started again */
	int		 listen_fd, memory_fd, shard_fd;	/* -1: none */
	int		 mailbox_fd;	/* ps/mailbox.h; not above 0: none */
};

/* Each fills an empty list.  Returns 0 or ERR_NOMEM. */
int	 role_argv(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *argv);
int	 role_env(const struct job *j, const struct job_child *c, const struct role_place *at, struct words *env);

#endif
