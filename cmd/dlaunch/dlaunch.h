/*
 * dlaunch - the options of dlaunch(1), and the functions that its files share.
 *
 * cmd/dlaunch starts a job on many hosts.  Read it in this order: main.c (options), run.c (a job from start to end),
 * scale.c (its workers), set.c (its settings), restart.c (further attempts), agent.c (a host's agent), detach.c (jobs
 * with a directory), jobs.c (the verbs), ask.c, show.c and progress.c.
 *
 * Texts belong to the command line.  A function that fails reports the error and ends the process, as cmd/front.h does.
 */
#ifndef CMD_DLAUNCH_DLAUNCH_H
#define CMD_DLAUNCH_DLAUNCH_H

#include "run/jobdir.h"
#include "run/launcher/launch.h"
#include "run/launcher/roster.h"
#include "run/words.h"

#include <limits.h>

#define DLAUNCH_TICK_MS	100
#define DLAUNCH_REPORT_S 3.0	/* time until a wait is first reported; later reports double it */

/* Pointers are NULL if their option is not given. */
struct dlaunch {
	const char	*hosts_file, *rsh;
	const char	*remote, *dir, *output, *sync;
	const char	*iface;			/* "": not given */
	const char	*job, *resume;		/* names of jobs */
	const char	*agent_keep, *agent_resume, *agent_adopt;	/* names of agents (run/attach/attach.h) */
	const struct job_record *record;	/* the job is taken over from this record; NULL: it is not */
	const char	*server;
	struct words	 env, each;
	uint32_t	 workers, servers, restarts, respawn, spool_mib;
	uint32_t	 elastic;		/* -n N..M: N, and workers is M; 0: the number is fixed */
	bool		 agent, dry, verbose, wait, detach, force, input;
	bool		 lost;		/* a job whose launcher was lost, whose processes run */
	double		 grace_s, silence_s, start_s;	/* silence_s 0: not given */
	double		 outage_s;		/* the outage between hosts that the user named; 0: none */
	char		**line;			/* the whole command line */
	char		**argv;			/* the command in it */
	bool		 dmlc;			/* the command runs in all roles, which the environment distinguishes */
};

/* main.c: whether the command is pworker --async. */
bool	 dlaunch_is_async(const struct dlaunch *c);
/* restart.c: true if the job ended in a way that another attempt may change. */
bool	 dlaunch_may_restart(const struct roster *r);
/* Whether the job's workers write lines for people in place of rows: pworker, with a terminal as standard output. */
bool	 dlaunch_on_console(const struct dlaunch *c);
/*
 * Fills an empty list with the command of attempt `attempts` (from 0), and env with its variables.
 * With `resume`, the job also ran before.
 */
void	 dlaunch_build_attempt(const struct dlaunch *c, uint32_t attempts, bool resume, struct words *argv,
	    struct words *env);
/* Waits before a further attempt, longer after more attempts.  A signal through the descriptor ends the wait. */
void	 dlaunch_pause(uint32_t attempts, uint32_t most, int signals);

/*
 * jobs.c: runs a verb if the command line begins with one, and sets *code to the exit status.  Refuses
 * a first word, after recipes, that is no verb, option or tool of tally: a mistyped verb would otherwise run as a
 * command, in all roles.
 */
bool	 dlaunch_verb(int argc, char *argv[], int *code);
/*
 * Reads the state of a job that runs, and finds its launcher on this host.  If the launcher was lost, starts another.
 * Refuses if the job does not run, or its launcher is on another host; `what` says what to do there.
 */
struct jobdir_state dlaunch_find_launcher(const char *name, const struct jobdir *d, const char *what);
/* Refuses a command that is not found on this machine and is like the name of a tool. */
void	 dlaunch_check_command(const char *name);
/*
 * Copies a file, which was read up to byte *at, to a descriptor up to byte `end` or its present end.  Returns 0, or
 * ERR_SYS if it cannot be written.
 */
int	 dlaunch_copy(int from, int to, uint64_t *at, uint64_t end);
/* detach.c: makes the job's directory. */
void	 dlaunch_make_job(const struct dlaunch *c, struct jobdir *d);
/*
 * Opens the directory of a job whose launcher was lost, and changes to *cwd, where the job was started, or if that
 * is gone to "/".  Fills *r with its record and an empty list with its command line.  The caller frees *cwd.
 */
void	 dlaunch_open_lost(const char *job, struct jobdir *d, struct job_record *r, struct words *argv, char **cwd);
/*
 * Opens that of a job that has ended, and changes to where the job was started.  Fills an empty list
 * with its command line.
 */
void	 dlaunch_open_ended(const char *job, struct jobdir *d, struct words *argv);
/*
 * Returns in a process of its own.  Its output is appended to the directory's files, or replaces them without
 * `append`.  The first process waits for dlaunch_started() with the descriptor that this returns, prints the
 * job's name, and ends.  It passes signals of the signalfd(2) on meanwhile, and prints why the job does not start.
 */
int	 dlaunch_detach(struct jobdir *d, bool append, int signals);
/* What the first process of --detach waits for: all processes were started, and all workers have printed something. */
struct dlaunch_start {
	int		 fd;		/* pipe of dlaunch_detach(); -1: nobody waits */
	bool		*printed;	/* [workers] who wrote to standard output, pworker before its first step */
	uint32_t	 silent;	/* workers that have not yet */
	double		 until;		/* when all workers count as at work; 0: not all were started */
	double		 wait_s;	/* from the last start to `until` */
};

/* The caller frees printed. */
void	 dlaunch_open_start(const struct dlaunch *c, struct dlaunch_start *s);
/* Notes output of a process; arg is the struct.  A function of struct launch_watch. */
void	 dlaunch_note_output(void *arg, const struct member *m, bool out, const char *text, size_t n);
/* Call it in each round once all processes were started. */
void	 dlaunch_check_start(struct dlaunch_start *s);
/* Says that the job has started, once. */
void	 dlaunch_started(struct dlaunch_start *s);
/* Says why it does not start, when the job's directory may have no room for that; not after dlaunch_started(). */
void	 dlaunch_fail_start(struct dlaunch_start *s, const char *why);

/* scale.c: the job whose launcher is asked for other workers or settings while it runs. */
struct dlaunch_asked {
	const struct dlaunch *c;
	const struct jobdir *job;
	uint32_t	 workers;	/* the number now; 0: it is fixed */
	uint64_t	 scale_id;	/* id of the question by which another number is wanted */
};

/* Sets *s before a job's first attempt, and blocks the signal by which the verb tells the launcher. */
void	 dlaunch_open_scale(const struct dlaunch *c, const struct jobdir *d, struct dlaunch_asked *s);
/* Writes the number where `dlaunch status` and a resumed job read it. */
void	 dlaunch_put_workers(const struct dlaunch_asked *s);
/* What the launcher calls when another number is wanted; places as most_places of struct launch_scale. */
struct launch_scale dlaunch_scale_calls(struct dlaunch_asked *s, uint32_t places);
/* The verb: requests another number of workers, and waits for the answer.  Returns the exit status. */
int	 dlaunch_scale_job(const char *job, const char *workers);

/*
 * ask.c: a verb asks the launcher of a job for something, and waits for the answer, a step.  Refuses with the reason if
 * the launcher does, or if the job has ended before.
 */
uint64_t dlaunch_ask(const struct jobdir *d, const char *verb, const char *text);
/* In the launcher: whether a verb asks for something; its id, not 0, and text. */
bool	 dlaunch_find_question(const struct jobdir *d, const char *verb, uint64_t *id, char text[SETTINGS_TEXT]);
/* Answers it with a step; why: it is refused, unless NULL.  If nobody waits for it any more, does nothing. */
void	 dlaunch_answer(const struct jobdir *d, uint64_t id, uint64_t from, const char *why);

/* set.c: what the launcher calls when other settings are wanted. */
struct launch_set dlaunch_set_calls(struct dlaunch_asked *s);
/* Adds the changes of settings so far to the environment of an attempt. */
void	 dlaunch_add_settings(const struct dlaunch *c, const struct jobdir *d, struct words *env);
/* The verb with its operands, a job and NAME=VALUE ...: waits for the answer.  Returns the exit status. */
int	 dlaunch_set_job(char *const *words);

/* main.c: becomes the launcher of a job whose launcher was lost, in the background.  Returns the exit status. */
int	 dlaunch_take_over(const char *job);

/* run.c: runs a job and returns its exit status.  d is the directory of a resumed job, else it is not open. */
int	 dlaunch_run(const struct dlaunch *c, struct jobdir *d);
/* The path of this program. */
void	 dlaunch_self(char path[PATH_MAX]);
/*
 * Returns a signalfd(2) of the listed signals (a list that ends with 0), except those that are ignored
 * (nohup(1)).  Blocks them and the other signals that could end or stop this process: agents would take
 * a stopped launcher, which is silent, for lost.
 */
int	 dlaunch_signals(const int *listened);

/*
 * agent.c: runs the agent of a host on standard input and output.  Another agent of its name, which adopts, can take
 * its processes over; name NULL: none can.  Returns the exit status.
 */
int	 dlaunch_agent(const char *name, bool adopts);
/* Starts an agent that launchers find by its name, and relays to it. */
int	 dlaunch_agent_keep(const char *name);
/* Relays to a running agent.  If there is none, starts one that takes the processes over. */
int	 dlaunch_agent_resume(const char *name);

/*
 * progress.c: draws a line of progress for each worker on a terminal, for launch_run.  With `console` the rows of
 * logs are left out of the output.
 */
struct launch_watch dlaunch_watch(const struct hosts *h, const struct roster *r, bool console);
void	 dlaunch_watch_end(struct launch_watch *w);
/*
 * Whether a line is a row, the head or a comment of a log (log(5)).  A line with # is a comment only if *log, which the
 * first line of a log sets, since other programs print such lines too.
 */
bool	 dlaunch_is_row(const char *line, size_t n, bool *log);

/* show.c: prints what would run where; rsh NULL: the agent is a child of this process. */
void	 dlaunch_show_plan(const struct dlaunch *c, const struct roster *r, const struct hosts *h,
	    const struct words *rsh, const char *agent);
/* Prints how each process ended to standard error; nothing if none was started. */
void	 dlaunch_show_exits(const struct roster *r, const struct hosts *h);

#endif
