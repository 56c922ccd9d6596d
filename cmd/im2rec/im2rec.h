/*
 * im2rec - what the parts of im2rec share: the command line taken apart, and the verbs.
 */
#ifndef CMD_IM2REC_IM2REC_H
#define CMD_IM2REC_IM2REC_H

#include "source/lister.h"
#include "record/imrec.h"
#include "record/pack.h"

struct im2rec;
typedef int im2rec_verb(const struct im2rec *o);

struct im2rec {
	im2rec_verb		*verb;
	const char *const	*path;		/* operands: one or more */
	size_t			 paths;
	const char		*out;		/* NULL: not said */
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
	int			 ready;		/* descriptor that is told where it listens; -1: none */
};

/* im2rec_opts.c: fills o in from the command line, or ends the process. */
void	 im2rec_options(struct im2rec *o, int argc, char *argv[]);

/* Each does it, with messages, and returns the exit status. */
im2rec_verb im2rec_pack;					/* im2rec_pack.c */
im2rec_verb im2rec_list, im2rec_verify, im2rec_index;		/* im2rec_look.c */
im2rec_verb im2rec_cat, im2rec_to_tar;				/* im2rec_give.c */
im2rec_verb im2rec_extract;					/* im2rec_extract.c */
im2rec_verb im2rec_make_list;					/* im2rec_lists.c */
im2rec_verb im2rec_serve;					/* im2rec_serve.c */

/* The usual ending of a picture's name, by its first bytes; "?" when they are none we know. */
const char *im2rec_kind(const uint8_t *p, size_t n);	/* im2rec_give.c */

/*
 * im2rec_watch.c: progress (front_progress.h), and signals that are taken between two records, so that nothing half-made is left.
 */
struct im2rec_watch {
	bool		 talks, begun;
	double		 began_s;
	uint64_t	 before;	/* what was done when it began */
};

void	 im2rec_watch_start(struct im2rec_watch *w, bool quiet);
/* Shows how many are done, and how much of all, 0..1, or a negative share when nobody knows.  Returns 0, or ERR_STOP after a signal. */
int	 im2rec_watch_step(struct im2rec_watch *w, uint64_t done, uint64_t bytes, double share);
/* At the end.  After a signal it ends the process by it. */
void	 im2rec_watch_end(void);

/* Takes a record's picture.  Returns 0, ERR_ITEM (the line says what is bad about it), or what ends the run. */
typedef int im2rec_give(void *ctx, uint64_t number, const struct imrec *rec);
/* im2rec_give.c: the sound records of a file, one after the other; the others cost a line each.  Returns 0 or what ended it. */
int	 im2rec_each(const char *path, struct im2rec_watch *watch, im2rec_give *fn, void *ctx);

#endif
