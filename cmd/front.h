/*
 * front - what every command has in front: its name, usage, messages, exit codes, typed options.
 *
 * Messages go to stderr as `tool: thing: reason`.  Exit codes, the same for all
 * tools: 0 all of it, 1 not all of it, 2 the command line, 75 a peer or host
 * went away and trying again may help, 128+n ended by signal n.
 */
#ifndef CMD_FRONT_H
#define CMD_FRONT_H

#include <getopt.h>
#include <stdint.h>

#define FRONT_PARTIAL	1	/* not all of it */
#define FRONT_USAGE	2
#define FRONT_AGAIN	75	/* EX_TEMPFAIL of sysexits.h */

/*
 * usage: the SYNOPSIS line(s) without "usage: "; help: a line an option, fits a screen.  Call it before anything is
 * opened: it opens /dev/null for each closed one of descriptors 0 to 2, so that no other file gets its number; reading
 * 0 then fails, and so does writing to 1 or 2.
 */
void	 front_init(const char *argv0, const char *usage, const char *help);
void	 front_usage(void) __attribute__((noreturn));	/* one line on stderr, exit 2 */
void	 front_help(void) __attribute__((noreturn));	/* stdout, exit 0 */

/* Typed option values; anything else is said in one line and exit 2. */
int64_t	 front_num(const char *option, const char *text, int64_t lo, int64_t hi);
double	 front_real(const char *option, const char *text, double lo, double hi);
/* "I/N", part i of n, as in 0/2; i is below n. */
void	 front_part(const char *option, const char *text, uint32_t *i, uint32_t *n);
/* CxHxW or C,H,W, as in 3x28x28; none is 0. */
void	 front_shape(const char *option, const char *text, uint32_t *c, uint32_t *h, uint32_t *w);
/* "host:port", whether or not it is there. */
void	 front_address(const char *option, const char *text);

/* `tool: thing: the line noted last`; thing may be NULL.  front_warn counts, and front_status is then 1. */
void	 front_warn(const char *thing, int e);
void	 front_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same and exit: 75 for ERR_PEER, 2 for ERR_ARG, else 1. */
void	 front_die(const char *thing, int e) __attribute__((noreturn));
/* A fault of the command line in our own words: one line and exit 2; of a recipe's with its file and line. */
void	 front_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/*
 * For what serves until it is stopped: SIGINT and SIGTERM become something to read at a descriptor, so that none is
 * missed between two looks, and the exit status they ask for.  front_ready() tells descriptor fd, closed then, where
 * the process listens: "host:port" and a newline; -1: nobody.
 */
int	 front_stop_fd(void);
int	 front_stopped(int stop_fd);
void	 front_ready(int fd, const char *where);

/* 0, or 1 after a warning. */
int	 front_status(void);
/* Flushes stdout; ends the process when what was written could not be. */
void	 front_flush(void);

#endif
