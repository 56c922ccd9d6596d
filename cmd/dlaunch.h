/*
 * dlaunch - what the command line of dlaunch(1) asks for, as its files share it.
 *
 * Texts are the command line's own.  What fails is said and ends the process, as by cmd/front.h.
 */
#ifndef CMD_DLAUNCH_H
#define CMD_DLAUNCH_H

#include "run/roster.h"
#include "run/words.h"

struct dlaunch {
	const char	*hosts_file, *rsh;	/* NULL: not said */
	const char	*remote, *iface, *dir, *output, *sync;	/* likewise; iface is "" then */
	const char	*server;
	struct words	 env, each;
	uint32_t	 workers, servers, restarts;
	bool		 servers_said, agent, dry, verbose, wait;
	double		 grace_s, silence_s, start_s;
	char		**argv;			/* the command */
	bool		 dmlc;			/* it runs in all roles, told apart by the environment */
};

/* dlaunch_again.c: did it end so that trying again may help? */
bool	 dlaunch_again(const struct roster *r);
/*
 * Fills an empty list with the command, and env with the variables, of the attempt after `attempts` others; resume: and
 * of a job that ran before.
 */
void	 dlaunch_attempt(const struct dlaunch *c, uint32_t attempts, bool resume, struct words *argv, struct words *env);
/* Waits for the hosts to come back, the longer the more attempts there were; a signal through the descriptor ends it. */
void	 dlaunch_pause(uint32_t attempts, uint32_t most, int signals);

/* dlaunch_run.c: the job from its start to its end; returns its exit status. */
int	 dlaunch_run(struct dlaunch *c);
/* Is the agent of a host, on standard input and output; returns the exit status. */
int	 dlaunch_agent(void);

/* dlaunch_show.c: what would run where, on standard output; rsh NULL: as children of this process. */
void	 dlaunch_show_plan(const struct dlaunch *c, const struct roster *r, const struct hosts *h, const struct words *rsh,
	    const char *agent);
/* How each process ended, on standard error; nothing when none was started. */
void	 dlaunch_show_exits(const struct roster *r, const struct hosts *h);

#endif
