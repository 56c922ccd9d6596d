/*
 * meter - a command's own traffic: the IP bytes of all its processes, however short their connections.
 *
 * Two ways to count, which agree about bytes: what programs gave and got, without headers.
 *
 *	packets	a control group of the command's own with two small BPF programs that see each packet of its sockets
 *		(BPF_PROG_TYPE_CGROUP_SKB; Linux 5.7, cgroup v2, CAP_BPF and CAP_NET_ADMIN).  Costs next to nothing,
 *		counts packets and bytes on the wire (IP headers included) too.  What is sent again counts again.
 *	calls	each call that moves bytes over an internet socket is stopped at by ptrace(2), and its result added
 *		(Linux 5.6, no rights).  Costs some microseconds a call.  Programs that gain rights when they start
 *		(sudo) do not, io_uring is refused, and programs of another architecture are not counted.
 *
 * A connection between two of its processes counts at both ends.
 * Threads: for the one that started it.
 */
#ifndef WATCH_METER_H
#define WATCH_METER_H

#include "watch/traffic.h"

#include <signal.h>

enum meter_by { METER_BEST, METER_PACKETS, METER_CALLS };

struct meter;

struct meter_opt {
	char *const	*argv;	/* argv[0] is looked up on PATH */
	enum meter_by	 by;	/* METER_BEST: by packets where that can be had, else by calls */
	int		 out;	/* its standard output, or -1: that of this process */
	const sigset_t	*mask;	/* signals that are blocked in it */
};

/*
 * Starts the command.  Returns 0; ERR_NOTSUP when this way cannot be had here, the line says why; ERR_SYS when the
 * command cannot be run, errno says why; ERR_NOMEM.
 */
int	 meter_start(const struct meter_opt *opt, struct meter **m);
/* Kills what it counts by calls and is still there; what it counts by packets runs on uncounted.  NULL is fine. */
void	 meter_close(struct meter *m);

enum meter_by meter_by(const struct meter *m);	/* how it counts */
/* Polled for POLLIN | POLLPRI: something ended.  Then meter_done(). */
int	 meter_fd(const struct meter *m);
/* Are all of the command's processes gone?  *status is that of the command itself, or -1 while it runs. */
bool	 meter_done(struct meter *m, int *status);
/* Traffic so far. */
void	 meter_read(const struct meter *m, struct traffic *t);
/* What was not counted, as a sentence; NULL when nothing. */
const char *meter_missed(const struct meter *m);
/* A signal to the command's first process. */
void	 meter_signal(struct meter *m, int signo);

#endif
