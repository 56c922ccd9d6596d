/*
 * pworker - the command line of pworker(1), as its files share it.
 *
 * The files of cmd/pworker are:
 *	main, options*				the command line
 *	open_data, look, check_data, classes, class_weights	the records, and whether they fit the net
 *	run, lr_find				training
 *	log, console, messages			what a run writes
 *	evaluate, confusion, outputs		evaluation and prediction
 *	print_net, profile_net, weights_net	a net's layers, their costs, and the net of a checkpoint
 *
 * Options are grouped into themes.  Each theme is a file, options_THEME.c or evaluate.c: a table of options, the
 * functions that read values of unusual form, and a function that checks their combination.  A new option is a row of
 * its theme's table.  A new theme is a file and a line in options.c.  An error prints a message and ends the process,
 * as in cmd/front.h.
 */
#ifndef CMD_PWORKER_PWORKER_H
#define CMD_PWORKER_PWORKER_H

#include "engine/autotune_cache.h"
#include "net/rename.h"
#include "source/names.h"
#include "net/graph/script.h"
#include "train/train.h"
#include "pworker/log.h"
#include "pworker/look.h"
#include "front_option.h"

#include <stddef.h>

#define PWORKER_SERVERS	1024	/* most servers */
#define PWORKER_OPTIONS	160	/* most options */

struct recs;
struct rendezvous;

/* The optimizer's options.  A number whose default depends on the rule is NAN if it was not given, turns 0. */
struct pworker_learn {
	enum opt_rule	 rule;
	double		 momentum, beta2, eps, trust, wd, l1, clip, clip_norm;
	uint32_t	 turns;
	bool		 unit;
	struct average	 average;
	struct buf	 mults;		/* text of ps/shard_plan.h */
};

enum pworker_mode { PWORKER_TRAIN, PWORKER_EVAL, PWORKER_PREDICT, PWORKER_STATISTICS };
enum pworker_given { PWORKER_ABSENT, PWORKER_BY_RECIPE, PWORKER_GIVEN };

/* The names of classes: classes.c. */
struct pworker_classes {
	struct names	 names;		/* names of the classes of the net; empty: not known */
	char		*text;		/* the same as lines, or NULL; owned */
	bool		 foreign;	/* the labels of records to predict are other classes */
	uint32_t	*of, *val_of;	/* class_of of struct batch_opt, for data and val, or NULL; owned */
};

struct pworker {
	struct train_opt train;
	struct pworker_learn learn;
	enum pworker_mode mode;
	const char	*weights;	/* file to evaluate; NULL when training */
	char		**image;	/* [nimage] operands: images to evaluate or predict */
	struct buf	 operands;	/* the memory of image */
	const char	*before;	/* the option without a value in front of the first operand, or NULL */
	size_t		 nimage;
	bool		 confusion;	/* print the matrix of labels and predicted classes */
	bool		 no_average;	/* evaluate the weights even if the file has their average */
	uint32_t	 top;		/* rows of an image in a prediction, most probable classes first; 0: 1 */
	struct buf	 freeze;	/* the values of --freeze, each with a zero after it */
	uint32_t	*batch, nbatch;	/* [nbatch] the values of --batch; NULL: none */
	uint32_t	 local_steps;	/* 0: none */
	const char	*balance;	/* "auto", or the log of the run whose batches are repeated; NULL: none */
	struct balance_schedule schedule;
	const char	*class_weights;	/* CLASS=W,... or balanced, or NULL */
	const char	*net, *engine, *mean;
	struct autotune_cache *autotune;
	const char	*key, *data_key;	/* files */
	const char	*state;		/* file of what outlives this process, or NULL */
	const char	*shard_state;	/* the same of its shard */
	int		 shard_fd;	/* socket on which the shard listens; 0: it makes one */
	struct buf	 data;		/* the values of --data with commas between them */
	char		*server[PWORKER_SERVERS];
	char		*list;		/* list of servers, from a tracker's scheduler; owned */
	struct script_opt option[SCRIPT_OPTS];	/* options of the net */
	uint32_t	 noption;
	char		 held[24];	/* a path of pworker_hold_weights() */
	char		*taken;		/* the text that pworker_take_net() read, or NULL; owned */
	bool		 weights_net;	/* the net is that of --resume or --start */
	struct buf	 net_text;	/* the net and its options, for checkpoints */
	uint32_t	 c, h, w, classes;
	struct rename_rules *start_rename;
	uint64_t	 frequent;	/* steps between two lines of progress */
	const char	*log;		/* FILE for the rows of the log, or NULL */
	struct buf	 command;	/* the command line as a shell would take it */
	const char	*trace;		/* FILE, or NULL */
	uint64_t	 trace_first, trace_steps;
	enum pworker_style style;	/* wording of the lines for people */
	uint64_t	 profile;	/* steps to profile instead of training; 0: none */
	bool		 print, resume_last, plain, lr_find, shard;
	struct pworker_classes class;
	const char	*cut_dir;	/* DIR, or NULL */
	char		*cuts;		/* the prefix of cuts; owned */
	struct buf	 server_rules;	/* with local steps: the rules that servers need, text of ps/shard_plan.h */
	char		*found;		/* the checkpoint that --resume-last found, or NULL; owned */
	uint8_t		 given[PWORKER_OPTIONS];	/* enum pworker_given of each row of all tables */
};

/* How the value of an option is read: as in front_option.h, and in more ways. */
enum pworker_option_kind {
	PWORKER_FLAG = FRONT_FLAG,
	PWORKER_SET = FRONT_SET,
	PWORKER_TEXT = FRONT_TEXT,
	PWORKER_WHOLE = FRONT_WHOLE,
	PWORKER_REAL = FRONT_REAL,
	PWORKER_HELP = FRONT_HELP,
	PWORKER_RANGE = FRONT_KINDS,	/* struct aug_range: LO,HI, or one number for both */
	PWORKER_SYMMETRIC,	/* struct aug_range: V for -V to V */
	PWORKER_CHANNELS,	/* float[3]: R,G,B, or one number for all */
	PWORKER_VALUE,		/* apply() reads the value */
	PWORKER_ACTION		/* apply() without a value */
};

/* Conditions without which an option has no effect; options.c has the message of each. */
enum worker_need {
	NEED_TRAINING = 1,		/* none of --eval, --predict and --statistics */
	NEED_EVALUATION = 2,		/* --eval, --predict or --statistics */
	NEED_PREDICTION = 4,		/* --predict */
	NEED_EPOCH = 8,			/* training or --statistics */
	NEED_LABELS = 16,		/* training, --eval or --predict */
	NEED_VIEWS = 32,		/* images to evaluate or predict: --val, --eval or --predict */
	NEED_NET = 64,			/* --net */
	NEED_FOREIGN = 128,		/* --start, or --net with --eval, --predict or --statistics */
	NEED_RESIZED_CROP = 256,	/* --rand-resized-crop */
	NEED_BORDER = 512,		/* the fill value: --pad without --pad-reflect, or a rotation, shear or bound */
	NEED_NO_ROTATE = 1024,		/* no --rotate */
	NEED_SHUFFLE = 2048,		/* no --no-shuffle */
	NEED_REMOTE = 4096,		/* records of a dataset server */
	NEED_FILE = 8192,		/* records that can be read again: no pipe */
	NEED_EVAL = 16384,		/* --eval */
	NEED_PAD = 32768,		/* --pad */
	NEED_RUN = 65536,		/* no --print */
	NEED_PLAN = 131072		/* no --print, or --print with --batch */
};

struct pworker_option {
	const char	*name;
	enum pworker_option_kind kind;
	size_t		 at, size;	/* the member of struct pworker */
	double		 lo, hi;	/* bounds; hi of 2^63 and more: none */
	void		(*apply)(struct pworker *p, const char *option, char *text);	/* option: with its hyphens */
	unsigned	 needs;
	const char	*text;		/* text of PWORKER_HELP */
};
#define PWORKER_MEMBER(m) .at = offsetof(struct pworker, m), .size = sizeof(((struct pworker *)NULL)->m)

struct pworker_theme {
	const struct pworker_option *options;	/* the last has no name */
	void	(*settle)(struct pworker *p);	/* runs after the last option; or NULL */
};

extern const struct pworker_theme pworker_checkpoint_theme, pworker_data_theme, pworker_device_theme,
    pworker_eval_theme, pworker_job_theme, pworker_learn_theme, pworker_log_theme, pworker_net_theme;

/* options.c: fills p from the command line; pworker_release() frees what that allocated. */
void	 pworker_options(struct pworker *p, int argc, char *argv[]);
void	 pworker_release(struct pworker *p);
/* Whether an option, without its hyphens, is on the command line itself, or in a recipe alone. */
enum pworker_given pworker_given(const struct pworker *p, const char *option);

/*
 * options_net.c: the graph of --net, with its frozen arrays marked and their rules added to the job's.  Options that
 * are not given get the defaults of its script.
 */
struct graph *pworker_net(struct pworker *p);
/* Passes a long option that is not pworker's to the net: --layers 110 and --layers=110 are --net-opt layers=110. */
void	 pworker_net_option(struct pworker *p, int argc, char *argv[]);
/*
 * options_checkpoint.c: weights that come from a pipe are read once, to a file, as they are needed several times.  The
 * path is then that of this file.  A worker of a job leaves them as they are.
 */
void	 pworker_hold_weights(struct pworker *p);
/*
 * weights_net.c: takes the net of --resume or --start without --net.  If the file has a net of the same name, takes
 * also the options and the shape that are not given; an option that differs is reported.
 */
void	 pworker_take_net(struct pworker *p);
/* Writes the net and its options for the metadata of checkpoints: train.net_text. */
void	 pworker_describe_net(struct pworker *p);
/* The option of pworker that is most like a word; NULL: none is. */
const char *pworker_nearest(const char *word);
/* Refuses an option, without its hyphens, that is like one of pworker.  Returns if none is. */
void	 pworker_propose(const char *option);

/*
 * options_job.c: reads the job's key, and asks a tracker of dmlc for what the options leave open.  A server or a
 * scheduler of a tracker becomes pserver(1).  Returns NULL without a tracker.
 */
struct rendezvous *pworker_join_rendezvous(struct pworker *p);
/* The largest batch of --batch, or the default. */
uint32_t pworker_largest_batch(const struct pworker *p);
/* Sets the batch of this worker and of the others, as soon as rank and number of workers are known. */
void	 pworker_settle_batch(struct pworker *p);

/* options_learn.c: after pworker_net(), with local steps: leaves the rules of the optimizer in the worker. */
void	 pworker_divide_rules(struct pworker *p);

/* options_checkpoint.c: worker 0 finds the checkpoint of --resume-last, or reports those of another run. */
void	 pworker_find_last(struct pworker *p);

/*
 * open_data.c: opens files, as record/recs.h names them, or the dataset server HOST:PORT.  key is the server's, or
 * NULL.  Returns NULL for a pipe, whose records have no numbers.
 */
struct recs *pworker_open_records(const char *path, const uint8_t *key);
/* Prints for whom the reader of records waits. */
void	 pworker_report_wait(void *arg, const char *whom);
/*
 * check_data.c: compares records with the net before the first step.  Looks at the records (look.h), and sets the
 * number of outputs without --classes and the shape of samples without --shape.
 */
void	 pworker_choose_sample(struct pworker *p, struct pworker_look *l);
/* Sets --resize without options for sizes, if the images are smaller or much larger than samples. */
void	 pworker_choose_size(struct pworker *p, const struct graph *g, const struct pworker_look *l);
/* Says if images are of another size than those that weights were trained on.  side: their shorter side; 0: differs. */
void	 pworker_compare_sizes(const struct pworker *p, const char *weights, uint32_t side, const struct graph *g,
	    const struct pworker_look *l);
/* Refuses records none of whose images gives a sample, and labels that are no classes of the net. */
void	 pworker_check_data(const struct pworker *p, const struct graph *g, const struct pworker_look *l);

/*
 * classes.c: finds the names of classes, in the weights of a file (NULL: none) or else beside the records, and the
 * class that each label of the records stands for.  Refuses records with a class that the weights lack.
 */
void	 pworker_open_classes(struct pworker *p, const char *weights, const struct graph *g);
void	 pworker_close_classes(struct pworker_classes *k);
/* class_weights.c: the weight of each class in the loss, which the caller frees; NULL without --class-weights. */
void	 pworker_open_class_weights(const struct pworker *p, const struct graph *g, float **weight);

/*
 * Prepares images as the weights in `weights` were trained (NULL: as the options and the net's script say).  An option
 * given on the command line or by a recipe wins, and the difference is reported.  Returns the mean image [c,h,w] of the
 * net's input, read, made or from that file, which the caller frees; NULL: none.
 */
float	*pworker_open_preprocess(struct pworker *p, const char *weights, const struct graph *g,
	    const struct pworker_look *l);

/* The same for the label that is the class, which must be known before the records are looked at. */
void	 pworker_take_label(struct pworker *p, const char *weights);

/* print_net.c: the graph of --net, with the shape and the classes that the records decide on, as in training. */
struct graph *pworker_net_of_records(struct pworker *p);

/* The modes of pworker; each returns the exit status. */
int	 pworker_evaluate(struct pworker *p);			/* evaluate.c */
int	 pworker_print(struct pworker *p);			/* print_net.c */
int	 pworker_profile(struct pworker *p);			/* profile_net.c */
int	 pworker_run(struct pworker *p, double began_s);		/* run.c; clk_s() of the process's start */

#endif
