/*
 * strangers - how many connections a process holds of peers that have not proved who they are, and a log of those
 * that it refuses.
 *
 * A listener adds each connection that it accepts, and removes it when the peer has proved itself or the connection
 * is closed.  If there are `most`, the listener closes one before it accepts another: the oldest of the address that
 * has the most.  Silent connections of one host then cost other hosts nothing.
 *
 * Threads: one at a time.
 */
#ifndef WIRE_STRANGERS_H
#define WIRE_STRANGERS_H

#include "base/log_callback.h"

#include <stdbool.h>
#include <stdint.h>

#define STRANGERS_ROWS	256u
#define STRANGERS_LINES	6u	/* most refusals that are logged in STRANGERS_S seconds */
#define STRANGERS_S	60.0
#define STRANGERS_EVICTED	"proved nothing before too many others came"

struct strangers {
	uint32_t	 most;			/* connections; set before the first call, as `say` and `arg` */
	log_callback_fn	*say;			/* NULL: nothing is logged */
	void		*arg;
	uint32_t	 n;
	uint32_t	 row[STRANGERS_ROWS];	/* connections by a hash of their address */
	double		 since;			/* time of the first line of this period */
	uint32_t	 lines;
	uint64_t	 left_out;		/* refusals that were not logged */
};

/* One connection; zero: it is not counted. */
struct stranger {
	uint32_t	 row;			/* its row and 1 */
	uint64_t	 nth;			/* order of arrival */
};

/* Counts the connection of `peer`, "host:port", which arrived as the nth. */
void	 strangers_add(struct strangers *s, const char *peer, uint64_t nth, struct stranger *g);
void	 strangers_remove(struct strangers *s, struct stranger *g);	/* does nothing the second time */
bool	 strangers_full(const struct strangers *s);
/* Whether the listener closes a before b. */
bool	 strangers_before(const struct strangers *s, const struct stranger *a, const struct stranger *b);
/* Logs "refused WHO", WHO being "host:port: reason", or counts it if there were STRANGERS_LINES lines lately. */
void	 strangers_refused(struct strangers *s, const char *who);
/* Logs how many refusals were not logged, if any. */
void	 strangers_end(struct strangers *s);

#endif
