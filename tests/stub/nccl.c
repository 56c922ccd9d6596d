/*
 * nccl - a stand-in for libnccl.so.2 that adds the memory of emulated devices, in their order, and
 * checks its callers.
 *
 * The streams are those of tests/emu. TALLY_NCCL=start: the library fails as it starts.
 * TALLY_NCCL=N: it fails in its N-th group.
 */
#include "emu/emu.h"

#include <stdlib.h>
#include <string.h>

#define MOST 8

struct comm {
	int	 rank, n;
	struct emu_stream *s;	/* stream of the last call, or NULL */
	struct group *group;	/* shared by its comms */
};

struct call {
	float	*p;
	struct emu_stream *s;
	size_t	 number;
};

struct group {
	struct call call[MOST];
	size_t	 count;
	int	 all;		/* every rank gets the sum */
	int	 called;	/* ranks that called in this group */
};

/* The group between ncclGroupStart() and ncclGroupEnd(); one thread at a time calls the library. */
static struct group *open_group;
static int inside, groups;

const char *ncclGetErrorString(int result);
int ncclGetVersion(int *version);
int ncclCommInitAll(struct comm **comm, int n, const int *device);
int ncclCommDestroy(struct comm *comm);
int ncclCommAbort(struct comm *comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, struct comm *comm, void *stream);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct comm *comm, void *stream);

enum { SUCCESS = 0, CUDA_ERROR = 1, SYSTEM_ERROR = 2, ARGUMENT = 4, USAGE = 5 };

const char *
ncclGetErrorString(int result)
{
	return result == CUDA_ERROR ? "unhandled cuda error" : result == USAGE ? "invalid usage" : "an error";
}

int
ncclGetVersion(int *version)
{
	*version = 22809;
	return SUCCESS;
}

int
ncclCommInitAll(struct comm **comm, int n, const int *device)
{
	const char *how = getenv("TALLY_NCCL");
	struct group *g;

	if (how != NULL && strcmp(how, "start") == 0)
		return CUDA_ERROR;
	if (n < 1 || n > MOST)
		return ARGUMENT;
	for (int r = 0; r < n; r++)
		for (int k = 0; k < r; k++)
			if (device[k] == device[r])
				return ARGUMENT;
	g = calloc(1, sizeof(*g));
	for (int r = 0; r < n; r++) {
		comm[r] = calloc(1, sizeof(**comm));
		*comm[r] = (struct comm){ r, n, NULL, g };
	}
	return SUCCESS;
}

int
ncclCommDestroy(struct comm *comm)
{
	if (comm->rank == comm->n - 1)
		free(comm->group);
	free(comm);
	return SUCCESS;
}

/* The device's sums end, whether the others take part or not. */
int
ncclCommAbort(struct comm *comm)
{
	if (inside != 0)
		return USAGE;
	if (comm->s != NULL)
		comm->s->tie(comm->s, 0);
	return ncclCommDestroy(comm);
}

int
ncclGroupStart(void)
{
	inside++;
	open_group = NULL;
	return SUCCESS;
}

static int
take_call(float *to, size_t count, int all, struct comm *comm, struct emu_stream *stream)
{
	struct group *g = comm->group;

	if (open_group == NULL) {
		open_group = g;
		g->called = 0;
		g->count = count;
		g->all = all;
	}
	if (open_group != g || count != g->count || all != g->all || comm->rank != g->called)
		return USAGE;
	g->call[comm->rank] = (struct call){ to, stream, 0 };
	comm->s = stream;
	g->called = comm->rank + 1 == comm->n ? -comm->n : g->called + 1;
	return SUCCESS;
}

int
ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, struct comm *comm, void *stream)
{
	if (from != to || type != 7 || op != 0 || root != 0 || inside != 1 || stream == NULL)
		return ARGUMENT;
	return take_call(to, count, 0, comm, stream);
}

int
ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct comm *comm, void *stream)
{
	if (from != to || type != 7 || op != 0 || inside != 1 || stream == NULL)
		return ARGUMENT;
	return take_call(to, count, 1, comm, stream);
}

struct sum {
	struct call call[MOST];
	size_t	 count;
	int	 n, all;
};

static void
add(void *arg)
{
	const struct sum *s = arg;

	for (int r = 1; r < s->n; r++) {
		s->call[r].s->reach(s->call[r].s, s->call[r].number);
		for (size_t i = 0; i < s->count; i++)
			s->call[0].p[i] += s->call[r].p[i];
	}
	for (int r = 1; s->all && r < s->n; r++)
		memcpy(s->call[r].p, s->call[0].p, s->count * sizeof(float));
	for (int r = 0; r < s->n; r++)
		s->call[r].s->tie(s->call[r].s, -1);
}

static void
given(void *arg)
{
	(void)arg;
}

/* Work of another rank waits until the sum is there. */
static void
await_sum(void *arg)
{
	const struct call *c = arg;

	c->s->reach(c->s, c->number);
}

int
ncclGroupEnd(void)
{
	const char *how = getenv("TALLY_NCCL");
	struct group *g = open_group;
	struct sum s;

	if (inside-- != 1 || g == NULL || g->called >= 0)
		return USAGE;	/* a rank is missing: NCCL would wait for it */
	if (how != NULL && atoi(how) == ++groups)
		return CUDA_ERROR;
	s = (struct sum){ .count = g->count, .n = -g->called, .all = g->all };
	memcpy(s.call, g->call, sizeof(s.call));
	for (int r = 0; r < s.n; r++)
		s.call[r].s->tie(s.call[r].s, 1);
	for (int r = 1; r < s.n; r++)
		s.call[r].number = s.call[r].s->enqueue(s.call[r].s, given, "", 1);
	s.call[0].number = s.call[0].s->enqueue(s.call[0].s, add, &s, sizeof(s));
	for (int r = 1; s.all && r < s.n; r++)
		s.call[r].s->enqueue(s.call[r].s, await_sum, &s.call[0], sizeof(s.call[0]));
	return SUCCESS;
}
