/*
 * meet - how the processes of a job find each other when all they know is where to meet: under dmlc's trackers.
 *
 *	DMLC_ROLE		scheduler, server or worker
 *	DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT	where the scheduler listens
 *	DMLC_NUM_WORKER, DMLC_NUM_SERVER
 *	DMLC_WORKER_ID or DMLC_SERVER_ID, else DMLC_TASK_ID	the rank; may be unset: the scheduler then gives one
 *	DMLC_NODE_HOST		where others reach this process; unset: at the address it reaches the scheduler from
 *
 * (ps-lite, docs/env.md; dmlc-core, tracker/.)  Servers and workers connect to the scheduler with the job's key and say in
 * the payload of a MSG_HELLO
 *
 *	meet 1 tally 0.1 role server rank 0 workers 2 servers 2		("rank any" for want of one)
 *	at 10.0.0.3:41234						(servers, when they listen)
 *
 * and are told in that of a MSG_WELCOME
 *
 *	rank 0
 *	servers 10.0.0.3:41234,10.0.0.4:33871				(workers, when all servers listen)
 *
 * or why not in that of a MSG_REFUSE.  They stay connected until they end, and then so does the scheduler.
 */
#ifndef PS_MEET_H
#define PS_MEET_H

#include "wire/addr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEET_ANY	UINT32_MAX	/* no rank of its own */
#define MEET_TEXT	256		/* bytes of what a server or worker says, with a zero */
#define MEET_PATIENCE_S	60.0		/* for the scheduler to listen */

enum meet_role { MEET_NONE, MEET_SCHEDULER, MEET_SERVER, MEET_WORKER };

/* What the environment says. */
struct meet_env {
	enum meet_role	 role;		/* MEET_NONE: nothing */
	char		 at[ADDR_TEXT];	/* of the scheduler */
	uint32_t	 workers, servers;
	uint32_t	 rank;		/* or MEET_ANY */
	const char	*host;		/* DMLC_NODE_HOST, or NULL */
};

/* Returns 0, or ERR_ARG: the line names the variable. */
int	 meet_env(struct meet_env *env);

/* A server's or worker's end.  Threads: for one at a time. */
struct meet;

/*
 * Joins: env->rank becomes the rank.  The scheduler may come MEET_PATIENCE_S later.  Returns 0, ERR_PEER, ERR_AUTH (another
 * key), ERR_ARG (refused; the line says why), ERR_FORMAT, ERR_SYS or ERR_NOMEM.
 */
int	 meet_join(struct meet_env *env, const uint8_t *key, struct meet **m);
/* Leaves; NULL is fine. */
void	 meet_leave(struct meet *m);
/* The address of this host as the scheduler sees it, or as the environment says, ready for ":port".  0 or ERR_SYS. */
int	 meet_host(const struct meet *m, const struct meet_env *env, char host[ADDR_TEXT]);
/* A server: here it listens.  As meet_join. */
int	 meet_here(struct meet *m, const char *where);
/* A worker: *list, to be freed, is "host:port,host:port" of all servers, waited for as long as it takes.  As meet_join. */
int	 meet_servers(struct meet *m, char **list);

/* The scheduler.  Returns 0 when all came and went; ERR_STOP; ERR_SYS, ERR_FORMAT (it cannot listen), ERR_NOMEM. */
struct meet_opt {
	const struct meet_env *env;
	const uint8_t	*key;
	int		 stop_fd;	/* ends it when there is something to read */
	void		(*say)(void *arg, const char *line);
	void		*arg;
};
int	 meet_run(const struct meet_opt *opt);

/* What a server or worker says, out of foreign bytes: join or at.  Returns 0 or ERR_FORMAT. */
struct meet_word {
	bool		 join;
	char		 tally[16];
	enum meet_role	 role;
	uint32_t	 rank, workers, servers;
	char		 at[ADDR_TEXT];
};
int	 meet_parse(const void *p, size_t n, struct meet_word *w);

#endif
