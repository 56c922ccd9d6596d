/*
 * dataset_server - serves records to other hosts: the event loop of im2rec --serve.
 *
 * A reader connects, proves that it holds the key and sends OPEN.  Until then it is a stranger.  There are at most
 * DATASET_SERVER_STRANGERS, each for at most DATASET_SERVER_OPEN_S (wire/strangers.h).  One thread polls
 * all connections, so that a slow reader delays nobody.  Others read the records, so that a slow disk delays only who
 * reads from it.  For each reader at most DATASET_SERVER_AHEAD bytes and what dataset_sender.h reads ahead wait.
 */
#ifndef DATASET_DATASET_SERVER_H
#define DATASET_DATASET_SERVER_H

#include "base/log_callback.h"
#include "record/recs.h"

#define DATASET_SERVER_STRANGERS	64u
#define DATASET_SERVER_READERS	4096u		/* most connections, with those of strangers */
#define DATASET_SERVER_OPEN_S		10.0
#define DATASET_SERVER_AHEAD		(1u << 20)

struct dataset_server_opt {
	const char	*listen;		/* "host:port"; port 0: the system chooses */
	const struct recs *recs;
	const struct buf *classes;		/* names of their classes, as CLASSES has them (dataset_msg.h) */
	const uint8_t	*key;			/* [CONN_KEY] */
	int		 stop_fd;		/* the server stops once this is readable */
	void		(*listening)(void *arg, const char *where);	/* called with the actual port */
	log_callback_fn	*say;			/* logs readers that connect, leave or are refused; or NULL */
	void		*arg;
};

struct dataset_server_sums {
	uint64_t records, sent;		/* complete records sent, and bytes of messages */
	uint64_t readers, strangers;	/* connections that sent OPEN, and those that did not */
};

/*
 * Serves until it is stopped.  Returns ERR_STOP; ERR_SYS, ERR_FORMAT or ERR_LIMIT if it cannot listen; or ERR_NOMEM.
 * It sets *sums in every case.
 */
int	 dataset_server_run(const struct dataset_server_opt *opt, struct dataset_server_sums *sums);

#endif
