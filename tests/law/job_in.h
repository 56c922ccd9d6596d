/* job_in - what the files of job share: its processes. */
#ifndef TESTS_LAW_JOB_IN_H
#define TESTS_LAW_JOB_IN_H

#include "law/hand.h"
#include "law/job.h"
#include "law/sim/disk.h"
#include "law/sim/sim.h"

#include "ps/mailbox.h"
#include "ps/worker/worker.h"
#include "train/train_in.h"

#define JOB_STEPS	7	/* of most jobs */
#define JOB_CHANGES	3u	/* most changes of shares by a log */
#define JOB_LENT_LEAST	16384u	/* bytes of a slice that is lent, as in wire/conn.c */
/* What a connection survives.  Only synchronous jobs survive its end at any time. */
#define JOB_SILENCE_S(j)	((j)->x.slack == STALE_SYNC ? 2.0 : 60.0)

struct job;

/* A server or worker, in all its lives. */
#define JOB_WAS	32768

struct job_process {
	struct job	*job;
	uint32_t	 index, host;
	bool		 server;
	int		 proc;		/* number of its process; -1: none runs */
	bool		 over;		/* it has ended with success */
	struct memory	 memory;
	float		*was;		/* [JOB_WAS] the first bytes of the memory after the last store */
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
	uint64_t	 cut;		/* steps from one cut to the next; 0: no checkpoints and cuts */
	uint32_t	 copies;	/* workers after rank 0 that make them too */
	uint64_t	 newest;	/* the step of the newest of them when the processes were lost last */
	uint64_t	 steps;
	/* Shares that change, by this schedule or by the time of a sample: */
	struct balance_schedule schedule;
	struct balance_change change[JOB_CHANGES];
	uint32_t	 batch[WORLD_WORKERS], changed[JOB_CHANGES][WORLD_WORKERS];	/* at first, and later */
	uint64_t	 sample_ns[WORLD_WORKERS];
	/* Settings that change: */
	struct mailbox	 box;		/* of worker 0, without a memory of its own: */
	struct mailbox_page page;
	uint64_t	 settled_at;	/* when the launcher hears the answer; 0: there is none yet */
	struct settings	 stored, given;	/* what the launcher has stored, and had when the processes were started */
	enum job_fault	 one;		/* the only fault; JOB_FAULTS: what is drawn */
	unsigned	 kinds;		/* bits of enum job_fault that may happen */
	unsigned	 left;		/* faults that may still happen */
	unsigned	 losses;	/* of all processes at cuts, besides these */
	unsigned	 deaths;	/* of workers that lend what they pushed or have new shares, besides these */
	uint64_t	 outage;	/* nanoseconds of outages that may still happen */
	struct job_figures *figures;
};

/* One life of a worker. */
struct job_life {
	struct job_process *p;
	struct world	*x;
	struct kept	 kept;
	struct worker	*wk;
	struct loan	 lends;		/* where g is */
	float		*g, *stats, *state;
	uint64_t	 step, first;	/* first: at which it, or its first predecessor, joined */
	bool		 returned;
	double		 running;	/* its figures of the epoch so far */
	struct train_opt o;
	struct train	 t;		/* what of it the job uses */
	uint64_t	 since;		/* shares by speed: when the step before was over */
	double		 waited_s;	/* and how long it had waited in all */
	/* With cuts: */
	char		 save[DISK_PATH + 8], *cuts, *found;
};

/* job_worker.c: the main function of a worker. */
void	 job_worker_main(void *arg);
/* job.c: all processes die with their memories, and start again. */
void	 job_lose(struct job *j);
#define JOB_OTHER_EPOCH	9u	/* later than all of a job */

/* job_cut.c: leaves a sealed cut of an earlier run on the disk of a host, at JOB_OTHER_EPOCH. */
void	 job_cut_leave(struct job *j, uint32_t host);
/* job_cut.c: before worker_open(); what the job starts with; after worker_begin(). */
int	 job_cut_open(struct job_life *l);
int	 job_cut_first(struct job_life *l, struct worker_first *first);
int	 job_cut_join(struct job_life *l);
/* Before a step, before its first gradient, after the sums of an epoch's end, and after the last step. */
int	 job_cut_step(struct job_life *l);
void	 job_cut_keep(struct job_life *l, double figure);
int	 job_cut_epoch(struct job_life *l);
int	 job_cut_end(struct job_life *l);
void	 job_cut_close(struct job_life *l);
/*
 * job_local.c: some jobs have optimizers in the workers; for open_train(), once its memory is there, and at the end of a
 * life; instead of a gradient.
 */
void	 job_local_draw(struct job *j);
void	 job_local_options(struct job_life *l);
int	 job_local_open(struct job_life *l);
void	 job_local_close(struct job_life *l);
int	 job_local_run(struct job_life *l, uint32_t samples);
/* job_share.c: in some jobs the shares of the workers change; after the loss of all processes; for open_train(). */
void	 job_share_draw(struct job *j);
void	 job_share_lose(struct job *j);
void	 job_share_options(struct job_life *l);
/* Before a step, and after it with its samples. */
int	 job_share_step(struct job_life *l);
void	 job_share_time(struct job_life *l, uint32_t samples);
/* job_set.c: some jobs change settings; in each turn; after the loss of all processes. */
void	 job_set_draw(struct job *j);
void	 job_set_turn(struct job *j);
void	 job_set_lose(struct job *j);
/* Before a step; once its weights are there. */
int	 job_set_step(struct job_life *l);
int	 job_set_rate(struct job_life *l, float *rate);
/* job_fault.c: now and then, something fails. */
void	 job_fault_draw(struct job *j);
bool	 job_fault_needs_cuts(enum job_fault f);
bool	 job_fault_needs_sync(enum job_fault f);
void	 job_fault_turn(struct job *j);
/* For processes: a moment at which something may well fail. */
void	 job_fault_soon(struct job *j);
/*
 * For a worker that shares memory and has pushed, or whose shares have changed: it may die within so many nanoseconds,
 * while servers read what it lends, or before others go on.
 */
void	 job_fault_worker(struct job_process *p, uint64_t ns);
/* For a worker that is about to say goodbye: a server may be unreachable, which must not pass for one that has ended. */
void	 job_fault_parting(struct job_process *p);
/* For disk_watch() of a job: all may be lost. */
void	 job_fault_saver(void *arg);
/* Takes a part of the outages that may still happen: 1 ms or more, seldom seconds. */
uint64_t job_fault_outage(struct job *j);

#endif
