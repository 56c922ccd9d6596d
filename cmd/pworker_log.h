/*
 * pworker_log - what happens in training into lines: rows on stdout, words on stderr.
 *
 * Rows are those of run/tsv.h, log(5).  The words are MXNet 0.8's, so that its
 * tools read them.  Where figures are those of all workers, rank 0 speaks.
 */
#ifndef CMD_PWORKER_LOG_H
#define CMD_PWORKER_LOG_H

#include "ps/train.h"
#include "run/load.h"
#include "run/tsv.h"

struct worker_log {
	char	 host[TSV_HOST];
	uint32_t rank, nworkers;
	bool	 sync;
	const char *net, *engine;
	uint64_t epochs, steps;		/* that the run is to take, as in struct train_opt */
	uint64_t frequent;		/* steps between two lines for people */
	double	 began;			/* clk_s() of the process's start */
	double	 seconds, samples, correct;	/* since the last line for people */
	struct load load;		/* at the row of it before */
	struct toll *before;		/* [peers] at the rows of traffic before */
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
/* pworker_progress.c: the same, behind it: draws how far the run is. */
void	worker_log_progress(struct worker_log *l, const struct train_event *ev);

#endif
