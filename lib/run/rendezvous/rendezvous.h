/*
 * rendezvous - how the processes of a job find each other when all they know is where to meet: under dmlc's trackers.
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
#ifndef RUN_RENDEZVOUS_RENDEZVOUS_H
#define RUN_RENDEZVOUS_RENDEZVOUS_H

#include "wire/addr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RENDEZVOUS_ANY	UINT32_MAX	/* no rank of its own */
#define RENDEZVOUS_TEXT	256		/* bytes of what a server or worker says, with a zero */
#define RENDEZVOUS_PATIENCE_S	60.0		/* for the scheduler to listen */

enum rendezvous_role { RENDEZVOUS_NONE, RENDEZVOUS_SCHEDULER, RENDEZVOUS_SERVER, RENDEZVOUS_WORKER };

/* What the environment says. */
struct rendezvous_env {
	enum rendezvous_role	 role;		/* RENDEZVOUS_NONE: nothing */
	char		 at[ADDR_TEXT];	/* of the scheduler */
	uint32_t	 workers, servers;
	uint32_t	 rank;		/* or RENDEZVOUS_ANY */
	const char	*host;		/* DMLC_NODE_HOST, or NULL */
};

/* Returns 0, or ERR_ARG: the line names the variable. */
int	 rendezvous_env(struct rendezvous_env *env);

/* A server's or worker's end.  Threads: for one at a time. */
struct rendezvous;

/*
 * Joins: env->rank becomes the rank.  The scheduler may come RENDEZVOUS_PATIENCE_S later.  Returns 0, ERR_PEER, ERR_AUTH (another
 * key), ERR_ARG (refused; the line says why), ERR_FORMAT, ERR_SYS or ERR_NOMEM.
 */
int	 rendezvous_join(struct rendezvous_env *env, const uint8_t *key, struct rendezvous **m);
/* Leaves; NULL is fine. */
void	 rendezvous_leave(struct rendezvous *m);
/* The address of this host as the scheduler sees it, or as the environment says, ready for ":port".  0 or ERR_SYS. */
int	 rendezvous_host(const struct rendezvous *m, const struct rendezvous_env *env, char host[ADDR_TEXT]);
/* A server: here it listens.  As rendezvous_join. */
int	 rendezvous_here(struct rendezvous *m, const char *where);
/* A worker: *list, to be freed, is "host:port,host:port" of all servers, waited for as long as it takes.  As rendezvous_join. */
int	 rendezvous_servers(struct rendezvous *m, char **list);

/* The scheduler.  Returns 0 when all came and went; ERR_STOP; ERR_SYS, ERR_FORMAT (it cannot listen), ERR_NOMEM. */
struct rendezvous_opt {
	const struct rendezvous_env *env;
	const uint8_t	*key;
	int		 stop_fd;	/* ends it when there is something to read */
	void		(*say)(void *arg, const char *line);
	void		*arg;
};
int	 rendezvous_run(const struct rendezvous_opt *opt);

/* What a server or worker says, out of foreign bytes: join or at.  Returns 0 or ERR_FORMAT. */
struct rendezvous_word {
	bool		 join;
	char		 tally[16];
	enum rendezvous_role	 role;
	uint32_t	 rank, workers, servers;
	char		 at[ADDR_TEXT];
};
int	 rendezvous_parse(const void *p, size_t n, struct rendezvous_word *w);

#endif
