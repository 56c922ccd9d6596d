/*
 * job - a synchronous job of whole processes in simulated time: serve_run() and worker.h on hosts of their own.
 *
 * One integer decides everything: the job (law/world.h), when its messages arrive, which process runs, and what fails.
 * A process that dies is started again with its memory, as an agent does, and a server with its listener.  Whatever
 * fails, the job must end with the bits of sums by hand (law/hand.h), and each process with success.
 *
 * Some jobs make checkpoints and cuts by lib/train, on disks of their hosts (law/sim/disk.h).  Such a job may lose all
 * its processes with their memories.  Then it begins again, as `dlaunch --restart` does, and must go on from the newest
 * checkpoint or cut that is sealed on any disk that is left.  What a disk does not take may be missing, and nothing
 * else.
 */
#ifndef TESTS_LAW_JOB_H
#define TESTS_LAW_JOB_H

#include "law/world.h"

enum job_fault {
	JOB_SERVER_STORE,	/* a server dies after a store to its memory, of which it may have done a part */
	JOB_WORKER_STORE,
	JOB_SERVER_KILL,	/* it dies anywhere else */
	JOB_WORKER_KILL,
	JOB_BREAK,		/* a connection breaks, and nobody dies */
	JOB_PARTITION,		/* nothing passes between two hosts for a time */
	JOB_ONE_WAY,		/* only one way */
	JOB_UNREACHABLE,	/* as JOB_PARTITION, and attempts to connect fail */
	JOB_PAUSE,		/* a process does nothing for a time */
	/* Jobs with cuts: */
	JOB_PROCESSES_LOST,	/* all processes die with their memories */
	JOB_HOST_LOST,		/* and the disk of a host is gone */
	JOB_POWER,		/* the power of all hosts fails */
	JOB_DISK_FULL,		/* a disk is full for a time */
	JOB_DISK_FLUSH,		/* what is written does not reach it */
	JOB_DISK_SHORT,		/* writes take a part */
	JOB_DISK_SLOW,		/* and longer */
	JOB_FAULTS
};

extern const char *const job_fault_names[JOB_FAULTS];

/* Seeds from JOB_ONE * (1 + fault) to the next such number have this fault alone. */
#define JOB_ONE	UINT64_C(1000000000)

struct job_figures {
	uint64_t fault[JOB_FAULTS];
	uint64_t changes;	/* of settings */
	uint64_t shares[2];	/* changes that a worker made, by a log and by speed */
	uint64_t locals;	/* steps of the workers' own optimizers */
	uint64_t turns;
	double	 seconds;	/* simulated */
};

/* Runs the job of a seed.  Returns whether it holds, or prints what is wrong.  Adds to *f. */
bool	 job_run(uint64_t seed, bool trace, struct job_figures *f);

#endif
