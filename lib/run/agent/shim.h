/*
 * shim - the parent of one process of a job, which ends all that the process started.
 *
 * The agent starts the shim.  The shim starts the command, and adopts the processes that the command
 * leaves behind (run/family.h).  When the command has ended, the shim kills the rest and reports the
 * command's status through its connection to the agent.  After SIGTERM it first waits for the rest.
 * It stays until the agent releases it.
 *
 * The shim holds the agent's ends of the command's pipes, and what outlives the command.  If the
 * agent ends without releasing it, the command goes on, and the shim waits for another agent at an
 * attach socket (run/attach/attach.h), to which it passes all that.  If none comes in time, it kills
 * all.  Agent and shim both hold this socket, and a shim that replaces another one gets the same: there
 * is no instant at which the process has no name, whoever is killed.  The name is also a lock between
 * attempts: the first shim starts only when nobody has it.
 *
 * If the shim is killed, prctl(2) kills the command and the agent kills the rest, for which it must
 * have called family_adopt.  If both are killed at once, the command ends but what it started is left.
 *
 * The shim leads a session of its own, so that a signal to the agent's session does not reach it.
 * Threads: no state.
 */
#ifndef RUN_AGENT_SHIM_H
#define RUN_AGENT_SHIM_H

#include "run/job.h"

#include <sys/types.h>

/*
 * Descriptors that the shim holds: output and errors of the command; a server's address, socket; memories; mailbox; its
 * attach socket.
 */
enum shim_fd {
	SHIM_OUT, SHIM_ERR, SHIM_READY, SHIM_LISTEN, SHIM_MEMORY, SHIM_SHARD, SHIM_MAILBOX, SHIM_ATTACH, SHIM_FDS
};

#define SHIM_ADDR 300	/* bytes of "host:port" and a zero */

/* What the next agent must know, besides what its launcher tells it.  Times are those of clk_s. */
struct shim_page {
	double		 started_at, hour_at;	/* as in struct proc */
	uint32_t	 again;
	char		 listen[SHIM_ADDR];
};

struct shim_opt {
	double		 hold_s;	/* how long the command goes on without an agent */
	/*
	 * The digits of the job's key, which a later launcher does not know; lent, in the agent and then in the shim,
	 * which has inherited them.  It locks them (base/secret.h).
	 */
	const char	*key;
	int		 before;	/* the agent's connection to the shim that this one replaces; -1: none */
	uint64_t	 passed;	/* bit n: the command has got signal n already */
	int		 fd[SHIM_FDS];	/* -1: none; without SHIM_ATTACH it kills all as soon as its agent ends */
	struct shim_page page;
};

/* What an adopting agent gets; it owns the descriptors. */
struct shim_orphan {
	pid_t		 shim, command;
	uint64_t	 passed;	/* bit n: signal n was passed to the command */
	int		 fd[SHIM_FDS];
	struct shim_page page;
	char		 key[JOB_KEY + 1];	/* to be wiped */
};

/* How a command ended. */
struct shim_end {
	int		 status;	/* status as of wait(2) */
	uint32_t	 peak_kib;	/* the peak memory of the command or of a process that it waited for */
};

struct shim;

/*
 * Call it in a process that was just forked, has one thread and no child, before it forks the
 * command.  agent is its end of the connection, which it owns.  Waits until the shim before it is gone.
 * Returns the shim, or NULL with errno and the error line.
 */
struct shim *shim_begin(const struct shim_opt *opt, int agent);
/* Supervises the command until it and all that it started have ended and the agent has released the shim. */
_Noreturn void shim_supervise(struct shim *s, pid_t command);

/* In the agent: signals all processes below a shim.  SIGKILL is repeated until none is left. */
void	 shim_signal(pid_t shim, int signo);
/* Reads from its connection.  Returns 1 once, when all processes have ended; 0; or ERR_PEER if the shim was killed. */
int	 shim_read_end(int fd, struct shim_end *end);
/* Lets the shim go, which first kills what is left, and closes the connection. */
void	 shim_release(int fd);
/*
 * Connects to a shim whose agent has ended, and becomes its agent.  A living agent may release it
 * meanwhile.  Returns 0, ERR_PEER (there is none), ERR_AGAIN (its agent still lives after SHIM_ADOPT_S),
 * ERR_FORMAT (it is of another version), ERR_AUTH or ERR_SYS.
 */
int	 shim_adopt(const char *name, int *fd, struct shim_orphan *o);

#define SHIM_ADOPT_S 6	/* longer than an agent lives whose launcher is gone */

#endif
