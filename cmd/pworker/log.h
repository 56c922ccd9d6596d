/*
 * log - writes the events of training as rows (log/tsv.h, log(5)) and as lines for people on stderr.
 *
 * Rows go to stdout, unless that is a terminal, or to a file.  The wording of the lines is that of MXNet 0.8, so that
 * its tools can read them, and on a terminal tally's own.  Rank 0 alone reports figures that are those of all workers.
 */
#ifndef CMD_PWORKER_LOG_H
#define CMD_PWORKER_LOG_H

#include "engine/split/split.h"
#include "train/train.h"
#include "watch/gpuload.h"
#include "watch/load.h"
#include "pworker/lr_find.h"
#include "log/tsv.h"
#include "train/checkpoint.h"

#include <stdio.h>

enum pworker_style { PWORKER_CONSOLE, PWORKER_MXNET, PWORKER_MXNET_2015, PWORKER_TENSORFLOW };

struct pworker_log {
	enum pworker_style style;	/* wording of the lines for people */
	FILE	*rows;			/* NULL: none */
	const struct train_opt *train;
	const char *command, *net_options;	/* texts for the head of the rows */
	char	 host[TSV_HOST];
	uint32_t rank, nworkers;
	bool	 sync;
	const char *net, *engine;
	uint64_t epochs, steps;		/* last epoch and step of the run, as in struct train_opt */
	uint64_t frequent;		/* steps between two lines of progress */
	double	 began;			/* clk_s() of the process's start */
	double	 seconds, samples, correct;	/* sums since the last line of progress */
	uint64_t batches;			/* likewise */
	uint64_t trained;			/* steps of this process */
	uint64_t at_epoch, at_steps;	/* epoch of the last step, and steps of the epoch with it */
	bool	 lost;			/* rows cannot be written */
	bool	 finds;			/* the run tries learning rates */
	bool	 found;			/* the run has diverged */
	struct lr_find rates;
	struct load load;		/* at the previous row of the load */
	struct gpuload *gpus;		/* NULL: no GPU, or no NVML */
	struct split_place place[SPLIT_MOST];	/* [places] the GPUs */
	uint32_t places;
	struct peer_traffic *before;	/* [peers] at the previous rows of the traffic */
	uint64_t sent, received;	/* bytes up to the previous step */
	uint64_t epoch_received, epoch_sent;	/* bytes of the last complete epoch */
	char	 saved[CHECKPOINT_PATH];	/* the newest checkpoint, or "" */
	uint64_t epoch_steps;		/* the epoch's steps, if progress is shown on a terminal; 0: a pipe */
	uint64_t first_step;		/* the first step of this process */
	double	 first_s;		/* clk_s() at that step */
	double	 shown_samples, shown_seconds;	/* sums since the line was last drawn */
};

/* The event function of struct train_opt; arg is the log. */
void	pworker_log_event(void *arg, const struct train_event *ev);

/* Sets rows: a file (of several workers: FILE.RANK), which a run that resumes extends; NULL: stdout, if no terminal. */
void	pworker_log_open(struct pworker_log *l, const char *path, bool append);
/* Frees the memory of the log. */
void	pworker_log_close(struct pworker_log *l);

/* messages.c: lines for people.  Returns false if no style has the name. */
bool	pworker_log_style(const char *name, enum pworker_style *style);
/* Whether this worker reports figures that belong to an epoch: all workers share them if synchronous. */
bool	pworker_log_speaks(const struct pworker_log *l);
void	pworker_log_say(struct pworker_log *l, const struct train_event *ev);
/* The result of a run that tries learning rates. */
void	pworker_log_rates(const struct pworker_log *l);
/* console.c: lines in tally's own words, and what remains after a signal. */
void	pworker_log_console(struct pworker_log *l, const struct train_event *ev);
void	pworker_log_stopped(const struct pworker_log *l);
/* console.c: draws the progress on a terminal.  The steps of the whole run; 0: unknown. */
uint64_t pworker_log_steps(const struct pworker_log *l);
/* The epochs of the whole run; 0: they are not known, or not what ends it. */
uint64_t pworker_log_epochs(const struct pworker_log *l);
void	pworker_log_progress(struct pworker_log *l, const struct train_event *ev);

#endif
