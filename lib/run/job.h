/*
 * job - the processes that an agent starts, in memory and as the payload of CTL_JOB.
 *
 * lib/run starts the processes of a job on many hosts and supervises them.  Read its headers in
 * this order:
 *
 *	job, role		which processes there are, with which arguments and environment
 *	launcher/hosts, roster	on which host each process runs, and how it ended
 *	launcher/launch		the launcher: dlaunch on the user's machine
 *	ctl, chan		the messages between launcher and agents, and the pipe under them
 *	agent/agent, proc, shim	the agent: dlaunch on each host; its processes and their supervisors
 *	attach/attach, launcher/job_record, jobdir	detached jobs: how a launcher comes back
 *	rendezvous/rendezvous	how pworker and pserver find each other without dlaunch
 *	here, pidstat		a host; one of its processes, as /proc shows it
 *	child, session, family	a process that is started; processes that are killed
 *	lines, outq, spool, outfile, consequence	output: read by lines, queued, written, judged
 *	words, recipe		lists of words; options from a file
 *
 * A tally job has servers, which report the addresses they listen on, and workers, which get those
 * addresses.  If several workers have no servers, each holds a shard of the weights itself, and the agents
 * report on which addresses they will listen.  A dmlc job runs one command in all roles, which the
 * environment distinguishes (dmlc-core, doc/ and tracker/; ps-lite, docs/env.md).  It has a scheduler
 * besides, for which the agent chooses a free port.
 *
 * Ownership: a job from job_get owns its texts until job_free.  The caller owns all that job_put
 * reads.
 */
#ifndef RUN_JOB_H
#define RUN_JOB_H

#include "base/buf.h"

#include <stdbool.h>

#define JOB_KEY		64u	/* hexadecimal digits of the job's key */
#define JOB_MOST	65536u	/* most processes, words of a command, and variables */

#define JOB_UNJOINED	69	/* EX_UNAVAILABLE of sysexits.h: pworker could not join an elastic job */

enum job_role { JOB_SCHEDULER, JOB_SERVER, JOB_WORKER };

/* What the launcher knows of a process: an agent that follows another one finds it running, or need not start it. */
enum job_stage { JOB_NEW, JOB_STARTED, JOB_ENDED };

struct job_child {
	uint32_t	 role, rank;
	uint32_t	 stage;
};

/* The lists of texts end with NULL. */
struct job {
	bool		 dmlc;			/* one command runs in all roles */
	bool		 input;			/* worker 0 reads what CTL_INPUT brings; others read nothing */
	uint32_t	 workers, servers;	/* numbers of processes in the whole job */
	/* Workers at the start, if the number changes while the job runs: `workers` is the most then.  0: fixed. */
	uint32_t	 elastic;
	const char	*key;			/* [JOB_KEY] digits; "" for a dmlc job and a single worker */
	const char	*dir;			/* the working directory of the processes */
	const char	*addr;			/* this host's address; "": see here_addr */
	const char	*iface;			/* the interface to use; "": any */
	const char	*host;			/* this host's name, used if there is no address */
	uint32_t	 silence_ms;		/* the agent gives up a launcher that is silent for so long */
	uint32_t	 spool_kib;		/* unsent output that a host stores; then its processes wait */
	/* times an hour that a process that a signal ended is started again with its state; 0: none keeps a state */
	uint32_t	 respawn;
	char		**env;			/* "NAME=VALUE" */
	char		**argv;			/* command of workers; in a dmlc job of all processes */
	char		**server_argv;		/* command of servers */
	char		**each;			/* "WORD=V:V:...": WORD and value i are added for worker i */
	struct job_child *child;		/* [nchildren] processes of this agent */
	uint32_t	 nchildren;
	uint8_t		*bytes;			/* what the texts of a job from job_get point into */
	char		*own_key;		/* the key of a job from job_get: a secret of JOB_KEY + 1 bytes */
};

/* Appends the payload of CTL_JOB.  Returns 0 or ERR_NOMEM. */
int	 job_put(const struct job *j, struct buf *b);
/* Reads one.  Returns 0, ERR_FORMAT or ERR_NOMEM; after an error *j needs no free. */
int	 job_get(const void *p, size_t n, struct job *j);
void	 job_free(struct job *j);

/*
 * Whether a worker that has ended with a status as of wait(2) could not join an elastic job, which goes on: pworker(1)
 * says so, or could not be run.
 */
bool	 job_unjoined(uint32_t elastic, const struct job_child *c, int status);
/* Whether the workers of a job are also its servers: pworker(1) --shard. */
bool	 job_has_shards(bool dmlc, uint32_t servers, uint32_t workers);

/* "scheduler", "server" or "worker". */
const char *job_role(uint32_t role);

#endif
