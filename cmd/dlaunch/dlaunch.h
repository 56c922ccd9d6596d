/*
 * dlaunch - what the command line of dlaunch(1) asks for, as its files share it.
 *
 * Texts are the command line's own.  What fails is said and ends the process, as by cmd/front.h.
 */
#ifndef CMD_DLAUNCH_DLAUNCH_H
#define CMD_DLAUNCH_DLAUNCH_H

#include "run/jobdir.h"
#include "run/launcher/launch.h"
#include "run/launcher/roster.h"
#include "run/words.h"

#include <limits.h>

struct dlaunch {
	const char	*hosts_file, *rsh;	/* NULL: not said */
	const char	*remote, *iface, *dir, *output, *sync;	/* likewise; iface is "" then */
	const char	*job, *resume;		/* names of jobs; NULL: not said */
	const char	*agent_keep, *agent_resume;	/* names of agents (run/attach/attach.h); likewise */
	const struct job_record *retake;		/* the job is taken over from here; NULL: not */
	const char	*server;
	struct words	 env, each;
	uint32_t	 workers, servers, restarts, spool_mib;
	bool		 servers_said, agent, dry, verbose, wait, detach, input;
	double		 grace_s, silence_s, start_s;	/* silence_s 0: not said */
	char		**line;			/* the whole command line */
	char		**argv;			/* the command in it */
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

/*
 * dlaunch_jobs.c: attach, status or stop, when that is what the command line begins with; *code is the exit status.  A first
 * word that is no verb, option, recipe or tool of tally ends the process: a mistyped verb, as a command, would run in all roles.
 */
bool	 dlaunch_verb(int argc, char *argv[], int *code);
/* The job gets its directory. */
void	 dlaunch_job(const struct dlaunch *c, struct jobdir *d);
/* Opens that of a job whose launcher was lost, fills *r, and an empty list with its command line. */
void	 dlaunch_retake(const char *job, struct jobdir *d, struct job_record *r, struct words *argv);
/* dlaunch.c: is the next launcher of that job, in the background, like dlaunch_detach; returns the exit status. */
int	 dlaunch_take_over(const char *job);
/* Opens the directory of a job that has ended, and fills an empty list with its command line; this process is where it was. */
void	 dlaunch_resume(const char *job, struct jobdir *d, struct words *argv);
/* Returns in a process of its own, whose output goes to the directory, behind what is there when `on`. */
void	 dlaunch_detach(struct jobdir *d, bool on);

/* dlaunch_run.c: the job from its start to its end; returns its exit status.  d: that of a resumed job, else none yet. */
int	 dlaunch_run(const struct dlaunch *c, struct jobdir *d);
/* The path of this program. */
void	 dlaunch_self(char path[PATH_MAX]);
/*
 * A descriptor through which the signals that are listened to come.  The others that could end or stop us unasked are
 * blocked: a launcher that stops would be silent, and so lost, for its agents.  One that is ignored stays so (nohup(1)).
 */
int	 dlaunch_signals(const int *listened);

/* dlaunch_agent.c: is the agent of a host, on standard input and output; returns the exit status. */
int	 dlaunch_agent(void);
/* Starts one that can be found again, and is the way to it. */
int	 dlaunch_agent_keep(const char *name);
/* Is the way to one that is there. */
int	 dlaunch_agent_resume(const char *name);

/* dlaunch_watch.c: progress on a terminal, a line a worker, as launch_run() takes it; of no functions elsewhere. */
struct launch_watch dlaunch_watch(const struct hosts *h, const struct roster *r);
void	 dlaunch_watch_end(struct launch_watch *w);

/* dlaunch_show.c: what would run where, on standard output; rsh NULL: as children of this process. */
void	 dlaunch_show_plan(const struct dlaunch *c, const struct roster *r, const struct hosts *h, const struct words *rsh,
	    const char *agent);
/* How each process ended, on standard error; nothing when none was started. */
void	 dlaunch_show_exits(const struct roster *r, const struct hosts *h);

#endif
