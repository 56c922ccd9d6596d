/*
 * im2rec - the parsed command line, the verbs, and what they share.
 *
 * cmd/im2rec packs, checks and serves records.  main reads the options (options.c, check.c) and calls a verb: pack,
 * lists (--make-list), look (--list, --verify, --index), extract, give (--cat, --to-tar) or serve.  watch shows
 * progress, and limit names the options of limits in messages.
 */
#ifndef CMD_IM2REC_IM2REC_H
#define CMD_IM2REC_IM2REC_H

#include "source/lister.h"
#include "record/imrec.h"
#include "record/pack.h"

#define IM2REC_SEED	100	/* default of --seed, im2rec.py's */

struct im2rec;
typedef int im2rec_verb(const struct im2rec *o);

struct im2rec {
	im2rec_verb		*verb;
	const char *const	*path;		/* operands: one or more */
	size_t			 paths;
	const char		*out;		/* NULL: not given */
	bool			 quiet, verbose;
	/* packing */
	struct source_opt	 in;
	struct pack_opt		 pack;
	const char		*rejects;
	bool			 resume;
	/* making lists */
	struct lister_opt	 list;
	/* --cat */
	const char		*which;
	/* --serve */
	const char		*listen;	/* "host:port"; NULL: any port, on all addresses */
	const char		*key;		/* file */
	int			 ready;		/* descriptor to which the address is written; -1: none */
};

/* options.c: parses the command line into o, or ends the process. */
void	 im2rec_options(struct im2rec *o, int argc, char *argv[]);
/* check.c: refuses options without effect, and outputs that would replace an input or have a misleading name. */
void	 im2rec_check(const struct im2rec *o);

/* Each performs its verb, writes messages, and returns the exit status. */
im2rec_verb im2rec_pack;				/* pack.c */
im2rec_verb im2rec_list, im2rec_verify, im2rec_index;	/* look.c */
im2rec_verb im2rec_cat, im2rec_to_tar;			/* give.c */
im2rec_verb im2rec_extract;				/* extract.c */
im2rec_verb im2rec_make_list;				/* lists.c */
im2rec_verb im2rec_serve;				/* serve.c */

/* limit.c: if an item is over --max-pixels or --max-bytes by its error, adds the option to its message. */
void	 im2rec_name_limit(int e);

/*
 * watch.c: progress (front_progress.h), and signals, which are handled between two records so that no record is cut.
 * A signal also ends the pipes that are read, so that nothing waits for their next bytes.  Before a verb reports what
 * the input lacks, it calls im2rec_watch_check().
 */
struct im2rec_watch {
	bool		 shows_progress, begun;
	double		 began_s;
	uint64_t	 before;	/* items done at the start */
};

/* If the first operand is standard input, waits until it has bytes.  A signal then ends the process as usual. */
void	 im2rec_watch_input(const struct im2rec *o);
void	 im2rec_watch_start(struct im2rec_watch *w, bool quiet);
/* Returns 0, or ERR_STOP after a signal. */
int	 im2rec_watch_check(void);
/* Shows the items done and their share of all, 0..1 (negative: unknown).  Returns the same. */
int	 im2rec_watch_step(struct im2rec_watch *w, uint64_t done, uint64_t bytes, double share);
/* Ends the progress.  After a signal it ends the process by that signal. */
void	 im2rec_watch_end(void);

/* Handles a record's image.  Returns 0, ERR_ITEM (the message says what is wrong), or an error that ends the run. */
typedef int im2rec_give(void *ctx, uint64_t number, const struct imrec *rec);
/*
 * give.c: calls fn for each good record of a file and reports each bad one.  Returns 0 or the error
 * that ended the run.
 */
int	 im2rec_each(const char *path, struct im2rec_watch *watch, im2rec_give *fn, void *ctx);
/* give.c: returns 0, or ERR_ITEM for a record with more labels than im2rec packs. */
int	 im2rec_can_pack_again(const struct imrec *rec);

#endif
