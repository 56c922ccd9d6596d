/* meter_in - what the two ways to count a command's traffic share with their front, watch/meter.h. */
#ifndef WATCH_METER_IN_H
#define WATCH_METER_IN_H

#include "watch/meter.h"

#include <sys/types.h>

/* One way to count.  start returns as meter_start() does; the rest are as in watch/meter.h. */
struct meter_way {
	int	 (*start)(const struct meter_opt *opt, void **state);
	void	 (*close)(void *state);
	int	 (*fd)(const void *state);
	bool	 (*done)(void *state, int *status);
	void	 (*read)(const void *state, struct traffic *t);
	const char *(*missed)(const void *state);
	pid_t	 (*pid)(const void *state);
};

extern const struct meter_way meter_packets, meter_calls;

/* A child that waits for meter_go() and then, when ready(ctx) is true, becomes the command. */
struct meter_child {
	pid_t	 pid;
	int	 go[2], why[2];
};

int	 meter_fork(const struct meter_opt *opt, bool (*ready)(const void *), const void *ctx, struct meter_child *c);
/*
 * Lets it go and waits for its exec.  0, or ERR_SYS with errno why it failed; the child is then
 * still to be waited for.
 */
int	 meter_go(const struct meter_opt *opt, struct meter_child *c);
/* Ends one that was never let go; it is then gone. */
void	 meter_drop(struct meter_child *c);

#endif
