/*
 * dataset_server - records for other hosts: recgive among its connections, what im2rec --serve runs.
 *
 * Readers connect, show that they have the key and say OPEN; until then they are strangers, of whom there are at most
 * DATASET_SERVER_STRANGERS, each for DATASET_SERVER_OPEN_S at most, and the oldest goes when a new one comes.  One thread polls all,
 * so that a slow reader holds up nobody.  For each there wait at most DATASET_SERVER_AHEAD bytes beyond one record.
 */
#ifndef DATASET_DATASET_SERVER_H
#define DATASET_DATASET_SERVER_H

#include "base/log_callback.h"
#include "record/recs.h"

#define DATASET_SERVER_STRANGERS	64u
#define DATASET_SERVER_READERS	4096u		/* connections, strangers counted; the next one is closed */
#define DATASET_SERVER_OPEN_S		10.0
#define DATASET_SERVER_AHEAD		(1u << 20)

struct dataset_server_opt {
	const char	*listen;		/* "host:port", port 0: any */
	const struct recs *recs;
	const uint8_t	*key;			/* [CONN_KEY] */
	int		 stop_fd;		/* ends it when there is something to read */
	void		(*listening)(void *arg, const char *where);	/* with the port it has */
	log_callback_fn	*say;		/* who came, went, was refused; may be NULL */
	void		*arg;
};

struct dataset_server_sums {
	uint64_t records, sent;		/* whole records, and bytes of messages */
	uint64_t readers, strangers;	/* who said OPEN, and who did not */
};

/*
 * Serves until it is stopped.  Returns ERR_STOP; ERR_SYS, ERR_FORMAT or ERR_LIMIT when it cannot listen; ERR_NOMEM.
 * *sums is set in any case.
 */
int	 dataset_server_run(const struct dataset_server_opt *opt, struct dataset_server_sums *sums);

#endif
