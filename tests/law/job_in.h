/* job_in - what the files of job share: its processes. */
#ifndef TESTS_LAW_JOB_IN_H
#define TESTS_LAW_JOB_IN_H

#include "law/hand.h"
#include "law/job.h"
#include "law/sim/sim.h"

#include "train/kept.h"

#define JOB_STEPS	7
/* What a connection survives.  Only synchronous jobs survive its end at any time. */
#define JOB_SILENCE_S(j)	((j)->x.slack == STALE_SYNC ? 2.0 : 60.0)

struct job;

/* A server or worker, in all its lives. */
struct job_process {
	struct job	*job;
	uint32_t	 index, host;
	bool		 server;
	int		 proc;		/* number of its process; -1: none runs */
	bool		 over;		/* it has ended with success */
	struct memory	 memory;
	uint64_t	 stores, dies_at;	/* to its memory, in all lives; the one after which it dies, 0: none */
	/* A worker's: what it has read after its last step, `last`, once it is complete. */
	float		*w, *aux, *exact, *state, *average;
	uint32_t	 averaged;
	uint64_t	 last;
	bool		 complete;
	uint64_t	 pushed;	/* steps whose gradients it has begun to push, in any life */
};

struct job {
	struct world	 x;
	struct job_process process[WORLD_SERVERS + WORLD_WORKERS];	/* the servers first */
	uint32_t	 n;
	char		 address[WORLD_SERVERS][32];
	char		*server[WORLD_SERVERS];
	bool		 streams;	/* a sum precedes all that a step waits for */
	bool		 shm;		/* processes of one machine share memory */
	unsigned	 kinds;		/* bits of enum job_fault that may happen */
	unsigned	 left;		/* faults that may still happen */
	uint64_t	 outage;	/* nanoseconds of outages that may still happen */
	struct job_figures *figures;
};

/* job_worker.c: the main function of a worker. */
void	 job_worker_main(void *arg);
/* job_fault.c: now and then, something fails. */
void	 job_fault_draw(struct job *j);
void	 job_fault_turn(struct job *j);
/* For processes: a moment at which something may well fail. */
void	 job_fault_soon(struct job *j);
/* Takes a part of the outages that may still happen: 1 ms or more, seldom seconds. */
uint64_t job_fault_outage(struct job *j);

#endif
