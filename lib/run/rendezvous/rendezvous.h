/*
 * rendezvous - how processes that only know a scheduler's address find each other (dmlc's trackers).
 *
 * lib/run/rendezvous is rendezvous (servers and workers) and rendezvous_scheduler.
 *
 *	DMLC_ROLE		scheduler, server or worker
 *	DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT	where the scheduler listens
 *	DMLC_NUM_WORKER, DMLC_NUM_SERVER
 *	DMLC_WORKER_ID or DMLC_SERVER_ID, else DMLC_TASK_ID	the rank; if unset, the scheduler chooses one
 *	DMLC_NODE_HOST		where others reach this process; if unset, its address towards the scheduler
 *
 * (ps-lite, docs/env.md; dmlc-core, tracker/.)  Servers and workers connect to the scheduler with the
 * job's key and send in the payload of MSG_HELLO
 *
 *	meet 1 tally 0.1 role server rank 0 workers 2 servers 2		("rank any" without a rank)
 *	at 10.0.0.3:41234						(servers, when they listen)
 *
 * The scheduler answers in the payload of MSG_WELCOME
 *
 *	rank 0
 *	servers 10.0.0.3:41234,10.0.0.4:33871				(to workers, when all servers listen)
 *
 * or gives the reason in MSG_REFUSE.  They stay connected until they end; then the scheduler ends.
 */
#ifndef RUN_RENDEZVOUS_RENDEZVOUS_H
#define RUN_RENDEZVOUS_RENDEZVOUS_H

#include "wire/addr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RENDEZVOUS_ANY	UINT32_MAX	/* no rank given */
#define RENDEZVOUS_TEXT	256		/* bytes of a server's or worker's message with a zero */
#define RENDEZVOUS_PATIENCE_S	60.0		/* limit for the scheduler to listen */

enum rendezvous_role { RENDEZVOUS_NONE, RENDEZVOUS_SCHEDULER, RENDEZVOUS_SERVER, RENDEZVOUS_WORKER };

/* The variables of the environment. */
struct rendezvous_env {
	enum rendezvous_role	 role;		/* RENDEZVOUS_NONE: DMLC_ROLE is unset */
	char		 at[ADDR_TEXT];	/* address of the scheduler */
	uint32_t	 workers, servers;
	uint32_t	 rank;		/* a rank, or RENDEZVOUS_ANY */
	const char	*host;		/* DMLC_NODE_HOST, or NULL */
};

/* Reads the environment.  Returns 0, or ERR_ARG; the error line names the variable. */
int	 rendezvous_env(struct rendezvous_env *env);

/* A server's or worker's connection.  Threads: one at a time. */
struct rendezvous;

/*
 * Joins the job and sets env->rank.  Waits RENDEZVOUS_PATIENCE_S for the scheduler to listen.  Returns
 * 0, ERR_PEER, ERR_AUTH (another key), ERR_ARG (refused; the error line says why), ERR_FORMAT, ERR_SYS
 * or ERR_NOMEM.
 */
int	 rendezvous_join(struct rendezvous_env *env, const uint8_t *key, struct rendezvous **m);
void	 rendezvous_leave(struct rendezvous *m);	/* NULL is fine */
/*
 * This host's address, to which ":port" can be appended: DMLC_NODE_HOST, or the address towards the
 * scheduler.  Returns 0 or ERR_SYS.
 */
int	 rendezvous_host(const struct rendezvous *m, const struct rendezvous_env *env, char host[ADDR_TEXT]);
/* A server announces the address where it listens.  Returns as rendezvous_join. */
int	 rendezvous_announce(struct rendezvous *m, const char *where);
/*
 * A worker waits for the list of all servers, without a limit.  The caller frees *list,
 * "host:port,host:port".  Returns as rendezvous_join.
 */
int	 rendezvous_servers(struct rendezvous *m, char **list);

/*
 * The scheduler.  Returns 0 when all processes have joined and left, ERR_STOP, ERR_SYS, ERR_FORMAT (it
 * cannot listen) or ERR_NOMEM.
 */
struct rendezvous_opt {
	const struct rendezvous_env *env;
	const uint8_t	*key;
	int		 stop_fd;	/* the scheduler ends when this is readable */
	void		(*say)(void *arg, const char *line);
	void		*arg;
};
int	 rendezvous_run(const struct rendezvous_opt *opt);

/* A message of a server or worker: "meet ..." if join, else "at ...". */
struct rendezvous_message {
	bool		 join;
	char		 tally[16];
	enum rendezvous_role	 role;
	uint32_t	 rank, workers, servers;
	char		 at[ADDR_TEXT];
};
/* Parses the bytes of an untrusted peer.  Returns 0 or ERR_FORMAT. */
int	 rendezvous_parse(const void *p, size_t n, struct rendezvous_message *w);

#endif
