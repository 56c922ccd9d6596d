/* meter_in - the interface between watch/meter.h and its two methods. */
#ifndef WATCH_METER_IN_H
#define WATCH_METER_IN_H

#include "watch/meter.h"

#include <sys/types.h>

/* A method.  start returns as meter_start() does, and the others are as in watch/meter.h. */
struct meter_method {
	int	 (*start)(const struct meter_opt *opt, struct meter **m);
	void	 (*close)(struct meter *m);
	bool	 (*done)(struct meter *m, int *status);
	void	 (*read)(const struct meter *m, struct traffic *t);
};

/* The first member of each method's state. */
struct meter {
	const struct meter_method *method;
	int	 fd;		/* -1, or what meter_poll() waits for */
	pid_t	 pid;		/* the command's first process */
	const char *missed;	/* text for meter_missed() */
};

extern const struct meter_method meter_packets, meter_calls;

/* A child that waits for meter_go(), and then executes the command if ready(ctx) returns true. */
struct meter_child {
	pid_t	 pid;
	int	 go[2], why[2];
};

int	 meter_fork(const struct meter_opt *opt, bool (*ready)(const void *), const void *ctx, struct meter_child *c);
/* Lets the child go and waits for its exec.  On ERR_SYS errno is the reason, and the caller must reap the child. */
int	 meter_go(const struct meter_opt *opt, struct meter_child *c);
/* Ends and reaps a child that was not let go. */
void	 meter_drop(struct meter_child *c);

#endif
