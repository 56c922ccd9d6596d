/*
 * settings - options of a job that a user changes while it runs: dlaunch set.
 *
 *	lr=0.01 momentum=0.8 slack=4 wd=0.0005		a change
 *	120:lr=0.01,slack=4 300:lr=0.001		changes, each from a step on: TALLY_SET, checkpoints
 *
 * Worker 0 asks server 0 for a change.  Server 0 decides from which step on it holds, gives it the next number, stores
 * it and tells all workers.  In a synchronous job that is the step after the one that its slice `lead` is at: a worker
 * has heard of the change when it has the weights with which that step begins.  In any other job it is the lowest step
 * of any worker, and in an elastic one the next batch of worker 0, so that all workers follow at once.  Each worker
 * passes what it has heard on to all servers before its next gradients, so that no server takes a gradient of that step
 * before it knows the change.
 *
 * A server uses momentum and wd of the step that a gradient is of, and a worker the rate.  Gradients have the codec of
 * their step, and weights that of the step before; in a job that is not synchronous weights have the last one.  Slack
 * has no step: each server uses the last one at once.
 *
 * Threads: no state.
 */
#ifndef PS_SETTINGS_H
#define PS_SETTINGS_H

#include "base/buf.h"
#include "ps/memory.h"
#include "wire/codec.h"

#include <stdbool.h>
#include <stdint.h>

#define SETTINGS_MOST	256u		/* most changes of a job */
#define SETTINGS_TEXT	256u		/* bytes of the text of a change, with its zero */
#define SETTINGS_NAMES	"codec, lr, momentum, slack and wd"

/* What a change sets: bits. */
#define SETTING_LR	1u
#define SETTING_MOMENTUM 2u
#define SETTING_SLACK	4u
#define SETTING_WD	8u
#define SETTING_CODEC	16u
#define SETTING_ALL	31u

#define SETTING_BYTES	56u		/* u64 id, from | u32 number, has, slack, codec | f64 lr, momentum, wd */

struct setting {
	uint64_t id;			/* id of the request; 0: it was there at the start */
	uint64_t from;			/* step */
	uint32_t number;		/* from 1; 0: server 0 has not decided it yet */
	uint32_t has;			/* SETTING_ bits of the members that count */
	uint32_t slack;			/* slack of ps/stale.h, not STALE_SYNC */
	uint32_t codec;			/* codec of the gradients and weights of all arrays, at most CODEC_FP16 */
	double	 lr, momentum, wd;
};

struct settings {
	uint64_t n;
	struct setting at[SETTINGS_MOST];	/* in the order of numbers */
};

/* Settings in a memory that outlives a server. */
struct settings_kept {
	struct memory_word word;
	struct settings record[2];
};

/*
 * Parses a change: NAME=VALUE, separated by blanks or commas.  Returns 0 or ERR_ARG; the line names what is wrong.
 * Only has, slack, codec, lr, momentum and wd are set.
 */
int	 settings_parse_change(const char *text, struct setting *s);
/* Writes it, separated by `between`, so that it is parsed to the same bits. */
void	 settings_change_text(const struct setting *s, char between, char text[SETTINGS_TEXT]);
/* Parses changes with their steps.  NULL or "": none.  Returns 0 or ERR_ARG. */
int	 settings_parse(const char *text, struct settings *all);
/* Appends their text and a zero.  Returns 0 or ERR_NOMEM. */
int	 settings_put(const struct settings *all, struct buf *text);

/* Adds a change that follows the last one by its number.  Returns false if it does not: it is a repetition. */
bool	 settings_add(struct settings *all, const struct setting *s);
/* The change of a request, or NULL. */
const struct setting *settings_find(const struct settings *all, uint64_t id);
/* Whether two changes set the same. */
bool	 settings_same(const struct setting *a, const struct setting *b);
/* All that holds at a step: of each member the last change at or before it. */
void	 settings_at(const struct settings *all, uint64_t step, struct setting *s);
/* The codec that holds at a step and is one of the changes; false: none does. */
bool	 settings_codec(const struct settings *all, uint64_t step, struct codec *c);
/* Sets *slack to that of the last change, and *most to the largest of all and the first *slack. */
void	 settings_slack(const struct settings *all, uint32_t *slack, uint32_t *most);

/* Writes a change as bytes of a message. */
void	 settings_put_change(const struct setting *s, uint8_t to[SETTING_BYTES]);
/* Reads one from untrusted bytes.  Returns 0 or ERR_FORMAT. */
int	 settings_get_change(const uint8_t from[SETTING_BYTES], struct setting *s);
/* Adds those of a message's payload that are new.  Returns how many, or ERR_FORMAT and adds none. */
int	 settings_take(struct settings *all, const void *p, size_t n);

/* What the memory of a server holds. */
const struct settings *settings_kept(const struct settings_kept *k);

#endif
