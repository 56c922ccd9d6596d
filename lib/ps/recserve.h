/*
 * recserve - records for other hosts: recgive among its connections, what im2rec --serve runs.
 *
 * Readers connect, show that they have the key and say OPEN; until then they are strangers, of whom there are at most
 * RECSERVE_STRANGERS, each for RECSERVE_OPEN_S at most, and the oldest goes when a new one comes.  One thread polls all,
 * so that a slow reader holds up nobody.  For each there wait at most RECSERVE_AHEAD bytes beyond one record.
 */
#ifndef PS_RECSERVE_H
#define PS_RECSERVE_H

#include "base/tell.h"
#include "record/recs.h"

#define RECSERVE_STRANGERS	64u
#define RECSERVE_READERS	4096u		/* connections, strangers counted; the next one is closed */
#define RECSERVE_OPEN_S		10.0
#define RECSERVE_AHEAD		(1u << 20)

struct recserve_opt {
	const char	*listen;		/* "host:port", port 0: any */
	const struct recs *recs;
	const uint8_t	*key;			/* [CONN_KEY] */
	int		 stop_fd;		/* ends it when there is something to read */
	void		(*listening)(void *arg, const char *where);	/* with the port it has */
	tell_fn	*say;		/* who came, went, was refused; may be NULL */
	void		*arg;
};

struct recserve_sums {
	uint64_t records, sent;		/* whole records, and bytes of messages */
	uint64_t readers, strangers;	/* who said OPEN, and who did not */
};

/*
 * Serves until it is stopped.  Returns ERR_STOP; ERR_SYS, ERR_FORMAT or ERR_LIMIT when it cannot listen; ERR_NOMEM.
 * *sums is set in any case.
 */
int	 recserve_run(const struct recserve_opt *opt, struct recserve_sums *sums);

#endif
