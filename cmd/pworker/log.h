/*
 * log - what happens in training into lines: rows on stdout, words on stderr.
 *
 * Rows are those of log/tsv.h, log(5).  The words are by default MXNet 0.8's, so that its
 * tools read them.  Where figures are those of all workers, rank 0 speaks.
 */
#ifndef CMD_PWORKER_LOG_H
#define CMD_PWORKER_LOG_H

#include "engine/split/split.h"
#include "train/train.h"
#include "watch/gpuload.h"
#include "watch/load.h"
#include "log/tsv.h"

enum worker_style { WORKER_MXNET, WORKER_MXNET_2015, WORKER_TENSORFLOW };

struct worker_log {
	enum worker_style style;	/* of the lines for people */
	char	 host[TSV_HOST];
	uint32_t rank, nworkers;
	bool	 sync;
	const char *net, *engine;
	uint64_t epochs, steps;		/* that the run is to take, as in struct train_opt */
	uint64_t frequent;		/* steps between two lines for people */
	double	 began;			/* clk_s() of the process's start */
	double	 seconds, samples, correct;	/* since the last line for people, */
	uint64_t batches;			/* likewise */
	uint64_t trained;			/* steps of this process */
	struct load load;		/* at the row of it before */
	struct gpuload *gpus;		/* NULL: none, or NVML does not tell */
	struct split_place place[SPLIT_MOST];	/* of them */
	uint32_t places;
	struct peer_traffic *before;		/* [peers] at the rows of traffic before */
	uint64_t sent, got;		/* at the step before */
	uint64_t epoch_in, epoch_out;	/* of the epoch that is over */
	/* progress on a terminal */
	uint64_t epoch_steps;		/* 0: of a pipe */
	uint64_t first_step;		/* that this process began with, */
	double	 first_s;		/* then */
	double	 shown_samples, shown_seconds;	/* since the line was drawn */
};

/* The event function of struct train_opt; arg is the log. */
void	worker_log_event(void *arg, const struct train_event *ev);

/* Gives back what the log holds when no more events come. */
void	worker_log_close(struct worker_log *l);

/* The parts of it.  pworker_say.c: lines for people; false: there is no style of that name. */
bool	worker_log_style(const char *name, enum worker_style *style);
bool	worker_log_speaks(const struct worker_log *l);
void	worker_log_say(struct worker_log *l, const struct train_event *ev);
/* pworker_progress.c: how far the run is. */
void	worker_log_progress(struct worker_log *l, const struct train_event *ev);

#endif
