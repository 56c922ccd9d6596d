/*
 * strangers - how many connections a process holds of peers that have not proved who they are, and a log of those
 * that it refuses.
 *
 * A listener adds each connection that it accepts, runs it at once, and removes it when the peer has proved itself or
 * the connection is closed.  If there are `most`, the listener closes one before it adds another: the oldest of the
 * address that has the most.  Silent connections of one host then cost other hosts nothing.
 *
 * A peer whose first bytes show that it belongs to the job (conn_credible()) is a stranger still, but the listener
 * closes it after all others and handles it before them, and it costs nothing.  So it gets in beside a flood from its
 * own address.  An eavesdropper cannot repeat these bytes: the listener knows the latest that it has seen.
 *
 * Connections cost processor time, most of it in the system: to accept, hear and close one takes about 20 us.  While
 * the listener expects nobody, it accepts STRANGERS_ACCEPTS of them a second, and runs those that are not credible then
 * STRANGERS_TURNS times a second, so that a flood takes about 1 % of a processor.  The others wait in the system's
 * queue, or unread.  Addresses with few connections are handled first.  To see that one has gone costs little, and
 * clears the way for others of its address: that is no turn.
 *
 * Threads: one at a time.
 */
#ifndef WIRE_STRANGERS_H
#define WIRE_STRANGERS_H

#include "base/log_callback.h"
#include "wire/conn.h"
#include "wire/tls.h"

#include <stdbool.h>
#include <stdint.h>

#define STRANGERS_ROWS	256u
#define STRANGERS_LINES	6u	/* most refusals that are logged in STRANGERS_S seconds */
#define STRANGERS_S	60.0
#define STRANGERS_ACCEPTS	200.0	/* a second */
#define STRANGERS_TURNS		50.0	/* a second */
#define STRANGERS_OPEN		25.0	/* `times` of a listener to which peers come at any time, behind strangers */
#define STRANGERS_BATCH		64	/* most connections that a listener accepts in one turn */
#define STRANGERS_EVICTED	"proved nothing before too many others came"

enum strangers_cost { STRANGERS_ACCEPT, STRANGERS_TURN, STRANGERS_COSTS };

/* What strangers may cost: a bucket that leaks at a rate. */
struct strangers_budget {
	double		 used, at;	/* how full it was at that time */
	bool		 spent;		/* it was full, and has not leaked for a while */
};

struct strangers {
	uint32_t	 most;			/* connections; set before the first call, as the next four */
	double		 times;			/* factor of the rates above */
	double		 burst_s;		/* seconds whose budget may be spent at once */
	log_callback_fn	*say;			/* NULL: nothing is logged */
	void		*arg;
	bool		 expects;		/* peers are missing: nothing is limited */
	struct strangers_budget budget[STRANGERS_COSTS];
	uint32_t	 n;
	uint32_t	 row[STRANGERS_ROWS];	/* connections by a hash of their address, less the credible ones */
	struct tls_hellos hellos;
	double		 since;			/* time of the first line of this period */
	uint32_t	 lines;
	uint64_t	 left_out;		/* refusals that were not logged */
};

/* One connection; zero: it is not counted. */
struct stranger {
	uint32_t	 row;			/* its row and 1 */
	uint64_t	 nth;			/* order of arrival */
	bool		 credible;
};

/*
 * Accepts a connection at the socket fd, to a peer of this role (conn_take()).  Returns 1; 0 if none waits; or
 * ERR_NOMEM if the process or the system has no memory or descriptor for it.
 */
int	 strangers_take(struct strangers *s, int fd, const uint8_t *key, const char *role, struct conn **c);
/* Counts the connection of `peer`, "host:port", which arrived as the nth. */
void	 strangers_add(struct strangers *s, const char *peer, uint64_t nth, struct stranger *g);
void	 strangers_remove(struct strangers *s, struct stranger *g);	/* does nothing the second time */
bool	 strangers_full(const struct strangers *s);
/* Whether the listener closes a before b. */
bool	 strangers_before(const struct strangers *s, const struct stranger *a, const struct stranger *b);
/* Whether the listener runs a before b. */
bool	 strangers_precedes(const struct strangers *s, const struct stranger *a, const struct stranger *b);
/* Whether the listener may accept a connection, or run one that has something to read. */
bool	 strangers_may(struct strangers *s, enum strangers_cost cost);
void	 strangers_charge(struct strangers *s, enum strangers_cost cost);	/* it has done so */
/* After c was run: whether its peer is credible, or no stranger. */
bool	 strangers_believe(struct strangers *s, const struct conn *c, struct stranger *g);
/* Whether the listener runs it whenever it has something to read: it is credible, or no stranger. */
bool	 strangers_trust(const struct stranger *g);
/* Seconds until strangers_may() returns true for what it last refused; INFINITY if it refused nothing. */
double	 strangers_wait_s(const struct strangers *s);
/* Logs "refused WHO", WHO being "host:port: reason", or counts it if there were STRANGERS_LINES lines lately. */
void	 strangers_refused(struct strangers *s, const char *who);
/* Logs how many refusals were not logged, if any. */
void	 strangers_end(struct strangers *s);

#endif
