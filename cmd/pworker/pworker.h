/*
 * pworker - what the command line of pworker(1) asks for, as its files share it.
 *
 * The options stand in themes, a file each: a table of them, what takes one, and what looks whether they go together.
 * A new option is a row of its theme's table and a line of its `take`; a new theme is a file and a line in
 * pworker_opts.c.  Texts are the command line's own.  What fails is said and ends the process, as by cmd/front.h.
 */
#ifndef CMD_PWORKER_PWORKER_H
#define CMD_PWORKER_PWORKER_H

#include "engine/autotune_cache.h"
#include "net/rename.h"
#include "net/graph/script.h"
#include "train/train.h"
#include "pworker/options_batch.h"
#include "pworker/log.h"

#include <getopt.h>

#define WORKER_SERVERS	1024	/* most servers */

#define WORKER_NEEDS	64	/* most rules about what options need */

struct rendezvous;

/* How weights change; a number that was not given is NAN. */
struct worker_learn {
	enum opt_rule	 rule;
	double		 momentum, beta2, eps, trust, turns;
	double		 wd, l1, clip, clip_norm;
	bool		 unit;
	struct average	 average;
	struct buf	 mults;		/* text of ps/shard_plan.h */
	unsigned	 said;		/* the theme's options that stand on the command line itself, a bit each */
};

enum worker_verdict { WORKER_SCORE, WORKER_ROWS, WORKER_STATISTICS };

struct pworker {
	struct train_opt train;
	struct worker_learn learn;
	struct buf	 freeze;	/* what --freeze was given, each with a zero behind it */
	struct worker_batch batch;
	const char	*net, *engine, *mean;
	struct autotune_cache	*choices;		/* of kernels, by --autotune */
	const char	*key, *data_key;	/* files */
	struct buf	 data;			/* names with commas between */
	char		*server[WORKER_SERVERS];
	struct script_opt option[SCRIPT_OPTS];	/* of the net */
	uint32_t	 noption;
	uint32_t	 c, h, w, classes;
	struct rename_rules *start_rename;
	uint64_t	 frequent;
	const char	*trace;			/* FILE, or NULL: traces trace_steps steps from the trace_first-th on */
	uint64_t	 trace_first, trace_steps;
	enum worker_style style;	/* of the lines for people */
	bool		 print, last, plain;
	const char	*judged;	/* weights that are to be judged, not trained; NULL: none */
	char		**picture;		/* [npicture] operands: what it is judged by */
	size_t		 npicture;
	bool		 no_average;		/* judge the weights though the file holds their average */
	enum worker_verdict verdict;	/* what of them is wanted */
	uint32_t	 top;		/* rows a picture, most probable classes first */
	char		*list;		/* of servers, by a tracker's scheduler */
	char		*found;		/* by last; the checkpoint to resume from, or NULL */
	bool		 said[WORKER_NEEDS];	/* the option of that rule stands on the command line itself */
};

struct worker_theme {
	const struct option *longs;	/* ends with a zero; flag is NULL, val from 0 on within the theme */
	void	(*take)(struct pworker *p, int val, char *text);
	void	(*settle)(struct pworker *p);	/* behind the last option; may be NULL */
};

extern const struct worker_theme worker_data_theme, worker_device_theme, worker_freeze_theme, worker_job_theme,
    worker_judge_theme,
    worker_keep_theme, worker_learn_theme, worker_net_theme, worker_tell_theme;

/* pworker_opts.c: fills p in from the command line; worker_release() frees what that took. */
void	 worker_options(struct pworker *p, int argc, char *argv[]);
void	 worker_release(struct pworker *p);
/* A screen of help for --help-THEME, and the end. */
void	 worker_help(const char *text) __attribute__((noreturn));

/*
 * pworker_needs.c: an option that has nothing to do as the others are ends the process; but not a recipe's, since who
 * names one may turn what it describes into something else.  Note each as it comes; check behind the last.
 */
void	 worker_needs_note(struct pworker *p, const char *option);
void	 worker_needs_check(const struct pworker *p);

/* pworker_net.c: the graph of --net, with what is frozen marked. */
struct graph *worker_net(struct pworker *p);
/* A long option that is none of pworker's is the net's: --layers 110 and --layers=110 are --net-opt layers=110. */
void	 worker_net_option(struct pworker *p, int argc, char *argv[]);

/* pworker_freeze.c: marks what is frozen in g, and adds it to the job's rules. */
void	 worker_freeze(struct pworker *p, struct graph *g);

/* pworker_job.c: reads the job's key, and learns from a tracker what options do not say.  NULL: from nobody. */
struct rendezvous *worker_meet(struct pworker *p, uint8_t *key);

/* pworker_keep.c: worker 0 finds the checkpoint of --resume-last. */
void	 worker_find_last(struct pworker *p);

/* The three things that a pworker does; each returns the exit status. */
int	 worker_judge(struct pworker *p);			/* pworker_judge.c */
int	 worker_print(struct pworker *p);			/* pworker_print.c */
/* pworker_run.c; began_s: clk_s() of the process's start */
int	 worker_run(struct pworker *p, double began_s);

#endif
