/*
 * dataset_client - records that another host holds, as a struct recs: recask among threads and a connection.
 *
 * A thread of its own keeps one connection to the holder (wire/conn.h) and fetches ahead what was wanted.  One that
 * breaks, or that is silent for a quarter of the patience while something was asked for, is made anew, and what has not come is
 * asked for again.  When nothing comes for `patience_s` all readers fail, now and later.
 * A holder that comes back with other records is not believed.
 */
#ifndef DATASET_DATASET_CLIENT_H
#define DATASET_DATASET_CLIENT_H

#include "record/recs.h"

#include <stdbool.h>

#define DATASET_CLIENT_PATIENCE_S	60.0
#define DATASET_CLIENT_MEMORY		(64u << 20)

struct dataset_client_opt {
	const char	*addr;		/* "host:port" */
	const uint8_t	*key;		/* [CONN_KEY] */
	double		 patience_s;	/* 0: DATASET_CLIENT_PATIENCE_S */
	size_t		 memory;	/* bytes of records that wait to be read; 0: DATASET_CLIENT_MEMORY */
	void		(*waiting)(void *arg, const char *whom);	/* tells who is waited for; by any thread; may be NULL */
	void		*arg;
};

/* Whether a text names a holder, HOST:PORT, and not a file that is there. */
bool	 dataset_client_is_addr(const char *text);
/*
 * Waits until the holder has said what it has.  Returns 0, ERR_PEER, ERR_AUTH (it has another key, or holds no
 * records), ERR_FORMAT, ERR_LIMIT, ERR_SYS or ERR_NOMEM; the line names the address.
 */
int	 dataset_client_open(struct recs **r, const struct dataset_client_opt *opt);

#endif
