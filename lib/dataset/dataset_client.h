/*
 * dataset_client - the records of another host as a struct recs, over one connection.
 *
 * A thread of the client keeps a connection to the dataset server (wire/conn.h) and fetches records ahead of their
 * reading.  It connects again if the connection breaks, or is silent for a quarter of `timeout_s` while an answer is
 * due; then it repeats the requests without an answer.  If nothing arrives for `timeout_s`, all reads fail from then
 * on.  A server that returns with other records, or other names of classes, is an error.
 */
#ifndef DATASET_DATASET_CLIENT_H
#define DATASET_DATASET_CLIENT_H

#include "record/recs.h"

#include <stdbool.h>

#define DATASET_CLIENT_TIMEOUT_S	60.0
#define DATASET_CLIENT_MEMORY		(64u << 20)

struct dataset_client_opt {
	const char	*addr;		/* "host:port" */
	const uint8_t	*key;		/* [CONN_KEY], lent until the records are closed */
	double		 timeout_s;	/* 0: DATASET_CLIENT_TIMEOUT_S */
	size_t		 memory;	/* bytes of records that wait to be read; 0: DATASET_CLIENT_MEMORY */
	/* called during long waits, by any thread; or NULL */
	void		(*waiting)(void *arg, const char *whom);
	void		*arg;
};

/* Whether text is HOST:PORT and no existing file. */
bool	 dataset_client_is_addr(const char *text);
/*
 * Connects and waits for the server's first answer.  Returns 0, ERR_PEER, ERR_AUTH (the server has another key, or
 * serves no records), ERR_FORMAT, ERR_LIMIT, ERR_SYS or ERR_NOMEM; the line names the address.
 */
int	 dataset_client_open(const struct dataset_client_opt *opt, struct recs **r);

#endif
