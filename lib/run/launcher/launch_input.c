/* launch_input - sends the launcher's standard input to worker 0. */
#include "run/launcher/launch_job.h"

#include <errno.h>
#include <unistd.h>

#define PIECE (64u << 10)

/* Returns worker 0, and its number among the processes of its agent. */
static struct member *
find_input_worker(const struct launch *l, uint32_t *child)
{
	struct member *m = NULL;

	for (uint32_t i = 0; i < l->roster->n && m == NULL; i++)
		if (l->roster->m[i].child.role == JOB_WORKER && l->roster->m[i].child.rank == 0)
			m = &l->roster->m[i];
	*child = 0;
	for (struct member *other = l->roster->m; other < m; other++)
		*child += other->host == m->host;
	return m;
}

bool
launch_wants_input(const struct launch *l)
{
	return l->opt->job.input && l->started && !l->in_end && l->in_flight < CTL_INPUT_MOST;
}

void
launch_send_input(struct launch *l)
{
	uint32_t child, room = CTL_INPUT_MOST - l->in_flight;
	const struct member *m = find_input_worker(l, &child);
	uint8_t piece[PIECE];
	struct buf b = { 0 };
	ssize_t r = read(l->opt->in, piece, room < PIECE ? room : PIECE);
	int e;

	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* An error, such as of another session's terminal, counts as the end. */
	l->in_end = r <= 0;
	if ((e = ctl_put_u32(&b, child)) == 0 && r > 0)
		e = buf_put(&b, piece, (size_t)r);
	l->in_flight += r > 0 ? (uint32_t)r : 0;
	if (l->remote[m->host].state == REMOTE_UP)
		launch_send(&l->remote[m->host], CTL_INPUT, &b, e);
	buf_free(&b);
}
