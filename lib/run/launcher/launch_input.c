/* launch_input - the launcher's standard input on its way to worker 0. */
#include "run/launcher/launch_job.h"

#include "base/err.h"

#include <errno.h>
#include <unistd.h>

#define PIECE (64u << 10)

/* Worker 0 and which child of its agent it is. */
static struct member *
reader(const struct launch *l, uint32_t *child)
{
	struct member *m = NULL;

	for (uint32_t i = 0; i < l->roster->n && m == NULL; i++)
		if (l->roster->m[i].what.role == JOB_WORKER && l->roster->m[i].what.rank == 0)
			m = &l->roster->m[i];
	*child = 0;
	for (struct member *other = l->roster->m; other < m; other++)
		*child += other->host == m->host;
	return m;
}

bool
launch_hungry(const struct launch *l)
{
	return l->opt->job.input && l->gone && !l->in_end && l->fed < CTL_INPUT_MOST;
}

void
launch_input(struct launch *l)
{
	uint32_t child, room = CTL_INPUT_MOST - l->fed;
	const struct member *m = reader(l, &child);
	uint8_t piece[PIECE];
	struct buf b = { 0 };
	ssize_t r = read(l->opt->in, piece, room < PIECE ? room : PIECE);
	int e;

	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Of a terminal that is another's the end is all that can be read. */
	l->in_end = r <= 0;
	if ((e = ctl_put(&b, child)) == 0 && r > 0)
		e = buf_put(&b, piece, (size_t)r);
	l->fed += r > 0 ? (uint32_t)r : 0;
	if (l->remote[m->host].state == REMOTE_UP)
		launch_send(&l->remote[m->host], CTL_INPUT, &b, e);
	buf_free(&b);
}
