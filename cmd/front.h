/*
 * front - what all tools share: name, usage, messages, exit codes, typed options.
 *
 * Messages go to stderr as `tool: thing: reason`.  Exit codes, the same for all
 * tools: 0 success, 1 partial or failed, 2 wrong command line, 75 a peer or host
 * was lost and a retry may help, 128+n ended by signal n.
 */
#ifndef CMD_FRONT_H
#define CMD_FRONT_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRONT_PARTIAL	1	/* the work was not done, or not all of it */
#define FRONT_USAGE	2
#define FRONT_AGAIN	75	/* EX_TEMPFAIL of sysexits.h */

/*
 * usage: the lines of SYNOPSIS without "usage: "; help: a description of the options that fits a screen.  Call this
 * before a file is opened: it opens /dev/null for each of descriptors 0 to 2 that is closed, so that no other file gets
 * the number.  Reading 0 and writing 1 or 2 then fail.
 */
void	 front_init(const char *argv0, const char *usage, const char *help);
void	 front_usage(void) __attribute__((noreturn));	/* the lines of usage on stderr, exit 2 */
/* Prints the usage if there are no arguments, else one line: what is missing, and --help.  Exits with 2. */
void	 front_missing(int argc, const char *what) __attribute__((noreturn));
void	 front_help(void) __attribute__((noreturn));	/* stdout, exit 0 */
void	 front_version(void) __attribute__((noreturn));	/* the same */

/* Parse the value of an option.  A wrong value prints one line and exits with 2. */
int64_t	 front_num(const char *option, const char *text, int64_t lo, int64_t hi);
double	 front_real(const char *option, const char *text, double lo, double hi);
/* "I/N", part i of n, as in 0/2; i is below n. */
void	 front_part(const char *option, const char *text, uint32_t *i, uint32_t *n);
/* "M", or "N..M" with N from 1 to M, and M up to most: *n is M, and *least is N or 0.  The text is as before. */
void	 front_range(const char *option, char *text, uint32_t most, uint32_t *least, uint32_t *n);
/* CxHxW or C,H,W, as in 3x28x28; each is above 0. */
void	 front_shape(const char *option, const char *text, uint32_t *c, uint32_t *h, uint32_t *w);
/* Checks the form "host:port", not whether the host exists. */
void	 front_address(const char *option, const char *text);
/*
 * Refuses an output ("-": standard output; NULL: none) that is one of the n inputs (NULL: none) and would replace it.
 * A device or a pipe is never refused.
 */
void	 front_output(const char *option, const char *out, const char *const *input, size_t n);

/* Prints `tool: thing: the last noted line`; thing may be NULL.  After front_warn, front_status returns 1. */
void	 front_warn(const char *thing, int e);
void	 front_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* As front_say(), of what follows from the end of another process: dlaunch reports that first (run/consequence.h). */
void	 front_say_consequence(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* From now on the functions that print an error and exit do so with this status; 0: with the statuses above. */
void	 front_set_failure(int status);
/* Prints the same and exits: with 75 for ERR_PEER, 2 for ERR_ARG, else 1. */
void	 front_die(const char *thing, int e) __attribute__((noreturn));
/* Does the same if e is an error. */
static inline void
front_must(const char *thing, int e)
{
	if (e < 0)
		front_die(thing, e);
}
/* Prints an error of the command line and exits with 2.  For a recipe, the line names its file and line number. */
void	 front_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/*
 * Reads the key of a file ("-": standard input), and exits if that fails.  Returns its only copy [CONN_KEY], a secret
 * (base/secret.h) that is wiped when the process exits.  At most FRONT_KEYS are read.
 */
#define FRONT_KEYS	2	/* the job's, and that of its data */
const uint8_t *front_read_key(const char *path);

/*
 * For a process that serves until it is stopped.  front_stop_fd() blocks SIGINT and SIGTERM, and returns a signalfd(2)
 * for them, as front_signal_fd() does for another signal.  front_stopped() returns the exit status after a signal.
 * front_check_ready() refuses a descriptor of --ready-fd that is not open for writing, before the process listens.
 * front_ready() writes where the process listens, "host:port" and a newline, to descriptor fd and closes it; -1: does
 * nothing.
 */
int	 front_stop_fd(void);
int	 front_signal_fd(int signo);
int	 front_stopped(int stop_fd);
void	 front_check_ready(int fd);
void	 front_ready(int fd, const char *where);

/* 0, or 1 after a warning. */
int	 front_status(void);
/* Flushes stdout, for a log without which the process goes on.  Returns true if that fails, and warns once. */
bool	 front_log_lost(void);
/* Flushes stdout.  If that fails, prints the error and exits with 1. */
void	 front_flush(void);

#endif
