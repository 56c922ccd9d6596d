/*
 * meter - counts the internet traffic of a command and all its processes, however short their connections.
 *
 * Two methods agree about bytes: what programs pass to and get from sockets, without headers.
 *
 *	packets	puts the command into a control group with two small BPF programs that see each packet of its sockets.
 *		It costs next to nothing, and also counts packets and bytes on the wire, IP headers included.
 *		Retransmitted bytes count again.  It needs Linux 5.7, cgroup v2, CAP_BPF and CAP_NET_ADMIN
 *		(BPF_PROG_TYPE_CGROUP_SKB).
 *	calls	stops each call that moves bytes over an internet socket with ptrace(2), and adds its result.  It costs
 *		some microseconds a call and needs Linux 5.6 but no rights.  Programs that gain rights when they start
 *		(sudo) do not gain them, io_uring is refused, and programs of another architecture are not counted.
 *
 * A connection between two of the processes counts at both ends.
 * Threads: only the one that called meter_start().
 */
#ifndef WATCH_METER_H
#define WATCH_METER_H

#include "watch/traffic.h"

#include <poll.h>
#include <signal.h>

enum meter_by { METER_BEST, METER_PACKETS, METER_CALLS };

struct meter;

struct meter_opt {
	char *const	*argv;	/* argv[0] is searched in PATH */
	enum meter_by	 by;	/* METER_BEST: by packets if possible, else by calls */
	int		 out;	/* its standard output, or -1 for that of this process */
	const sigset_t	*mask;	/* signals blocked in it */
};

/*
 * Starts the command.  Returns 0, ERR_NOTSUP if the method is not possible here, ERR_SYS with errno if the command
 * cannot be executed, or ERR_NOMEM.
 */
int	 meter_start(const struct meter_opt *opt, struct meter **m);
/* Kills processes that are still traced; those in the control group run on, uncounted.  m may be NULL. */
void	 meter_close(struct meter *m);

enum meter_by meter_by(const struct meter *m);	/* METER_PACKETS or METER_CALLS */
/* What to poll(2); call meter_done() when it is ready.  By packets it tells the end of the last process alone. */
struct pollfd meter_poll(const struct meter *m);
/* Returns whether all processes have ended.  *status is the wait status of the command itself, or -1 while it runs. */
bool	 meter_done(struct meter *m, int *status);
/* Gives the traffic since the start. */
void	 meter_read(const struct meter *m, struct traffic *t);
/* What could not be counted, as a sentence, or NULL.  It is complete once meter_done() has returned true. */
const char *meter_missed(const struct meter *m);
/* Sends a signal to the command's first process. */
void	 meter_signal(struct meter *m, int signo);

#endif
