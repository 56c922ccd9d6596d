/* meter - a command's own traffic: the IP bytes of all its processes, however short their connections. */
#include "watch/meter_in.h"

#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct meter {
	enum meter_by by;
	const struct meter_way *way;
	void	*state;
};

static const struct meter_way *const ways[] = { [METER_PACKETS] = &meter_packets, [METER_CALLS] = &meter_calls };

int
meter_start(const struct meter_opt *opt, struct meter **m)
{
	enum meter_by by = opt->by == METER_BEST ? METER_PACKETS : opt->by;
	struct meter *new = calloc(1, sizeof(*new));
	int e;

	if (new == NULL)
		return err_nomem();
	e = ways[by]->start(opt, &new->state);
	if (e == ERR_NOTSUP && opt->by == METER_BEST)
		e = ways[by = METER_CALLS]->start(opt, &new->state);
	if (e < 0) {
		free(new);
		return e;
	}
	new->by = by;
	new->way = ways[by];
	*m = new;
	return 0;
}

void
meter_close(struct meter *m)
{
	if (m == NULL)
		return;
	m->way->close(m->state);
	free(m);
}

enum meter_by
meter_by(const struct meter *m)
{
	return m->by;
}

int
meter_fd(const struct meter *m)
{
	return m->way->fd(m->state);
}

bool
meter_done(struct meter *m, int *status)
{
	return m->way->done(m->state, status);
}

void
meter_read(const struct meter *m, struct traffic *t)
{
	m->way->read(m->state, t);
}

const char *
meter_missed(const struct meter *m)
{
	return m->way->missed(m->state);
}

void
meter_signal(struct meter *m, int signo)
{
	kill(m->way->pid(m->state), signo);
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

/* In the child.  The parent's end without a byte means that it is not wanted. */
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
