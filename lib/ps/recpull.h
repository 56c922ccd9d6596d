/*
 * recpull - records that another host holds, as a struct recs: recask among threads and a connection.
 *
 * A thread of its own keeps one connection to the holder (wire/conn.h) and fetches ahead what was wanted.  One that
 * breaks, or that is silent for a quarter of the patience while something was asked for, is made anew, and what has not come is
 * asked for again.  When nothing comes for `patience_s` all readers fail, now and later.
 * A holder that comes back with other records is not believed.
 */
#ifndef PS_RECPULL_H
#define PS_RECPULL_H

#include "record/recs.h"

#include <stdbool.h>

#define RECPULL_PATIENCE_S	60.0
#define RECPULL_MEMORY		(64u << 20)

struct recpull_opt {
	const char	*addr;		/* "host:port" */
	const uint8_t	*key;		/* [CONN_KEY] */
	double		 patience_s;	/* 0: RECPULL_PATIENCE_S */
	size_t		 memory;	/* bytes of records that wait to be read; 0: RECPULL_MEMORY */
	void		(*waiting)(void *arg, const char *whom);	/* tells who is waited for; by any thread; may be NULL */
	void		*arg;
};

/* Whether a text names a holder, HOST:PORT, and not a file that is there. */
bool	 recpull_is_addr(const char *text);
/*
 * Waits until the holder has said what it has.  Returns 0, ERR_PEER, ERR_AUTH (it has another key, or holds no
 * records), ERR_FORMAT, ERR_LIMIT, ERR_SYS or ERR_NOMEM; the line names the address.
 */
int	 recpull_open(struct recs **r, const struct recpull_opt *opt);

#endif
