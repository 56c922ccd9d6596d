/* meter - counts the internet traffic of a command and all its processes. */
#include "watch/meter_in.h"

#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

int
meter_start(const struct meter_opt *opt, struct meter **m)
{
	int e = opt->by == METER_CALLS ? ERR_NOTSUP : meter_packets.start(opt, m);

	if (e == ERR_NOTSUP && opt->by != METER_PACKETS)
		e = meter_calls.start(opt, m);
	return e;
}

void
meter_close(struct meter *m)
{
	if (m != NULL)
		m->method->close(m);
}

enum meter_by
meter_by(const struct meter *m)
{
	return m->method == &meter_calls ? METER_CALLS : METER_PACKETS;
}

struct pollfd
meter_poll(const struct meter *m)
{
	/* A file of a control group is always ready to be read. */
	return (struct pollfd) { .fd = m->fd, .events = meter_by(m) == METER_PACKETS ? POLLPRI : POLLIN };
}

bool
meter_done(struct meter *m, int *status)
{
	return m->method->done(m, status);
}

void
meter_read(const struct meter *m, struct traffic *t)
{
	m->method->read(m, t);
}

const char *
meter_missed(const struct meter *m)
{
	return m->missed;
}

void
meter_signal(struct meter *m, int signo)
{
	kill(m->pid, signo);
}

static void
close_pairs(struct meter_child *c)
{
	int fd[] = { c->go[0], c->go[1], c->why[0], c->why[1] };

	for (size_t i = 0; i < 4; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	c->go[0] = c->go[1] = c->why[0] = c->why[1] = -1;
}

/* Runs in the child.  If the parent closes its end without a byte, the child is not needed. */
static void
exec_command(const struct meter_opt *opt, bool (*ready)(const void *), const void *ctx, const struct meter_child *c)
{
	int why;
	char byte;

	close(c->go[1]);
	if (opt->out >= 0 && dup2(opt->out, STDOUT_FILENO) < 0)
		_exit(127);
	if (read(c->go[0], &byte, 1) != 1)
		_exit(127);
	if (ready(ctx)) {
		sigprocmask(SIG_SETMASK, opt->mask, NULL);
		execvp(opt->argv[0], opt->argv);
	}
	why = errno;
	_exit(write(c->why[1], &why, sizeof(why)) < 0 ? 126 : 127);
}

int
meter_fork(const struct meter_opt *opt, bool (*ready)(const void *), const void *ctx, struct meter_child *c)
{
	int e;

	*c = (struct meter_child){ -1, { -1, -1 }, { -1, -1 } };
	if (pipe2(c->go, O_CLOEXEC) == 0 && pipe2(c->why, O_CLOEXEC) == 0 && (c->pid = fork()) >= 0) {
		if (c->pid == 0)
			exec_command(opt, ready, ctx, c);
		return 0;
	}
	e = err_sys("%s", opt->argv[0]);
	close_pairs(c);
	return e;
}

int
meter_go(const struct meter_opt *opt, struct meter_child *c)
{
	int why = 0, e = 0;
	size_t got = 0;

	close(c->why[1]);
	c->why[1] = -1;
	if (io_write(c->go[1], "", 1) < 0 || io_read(c->why[0], &why, sizeof(why), &got) < 0)
		e = ERR_SYS;
	if (got == sizeof(why)) {
		errno = why;
		e = err_sys("%s", opt->argv[0]);
	}
	close_pairs(c);
	if (e < 0)
		errno = why;
	return e;
}

void
meter_drop(struct meter_child *c)
{
	close_pairs(c);
	waitpid(c->pid, NULL, __WALL);
}
