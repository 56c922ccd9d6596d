/* merge - files of tensors in, one file of tensors out. */
#include "net/merge.h"
#include "net/merge_sum.h"
#include "base/err.h"
#include "source/ending.h"
#include "net/opt.h"
#include "net/weights.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNK	32768u		/* elements in work at a time */

/* The endings of batch norm's running statistics, as MXNet, we and PyTorch write them. */
static const struct { const char *mean, *var; } stats[] = {
	{ "_moving_mean", "_moving_var" }, { "_running_mean", "_running_var" }, { ".running_mean", ".running_var" },
};

/* Where a tensor of the output comes from, in each file (a join: in one). */
struct source {
	const struct tensor	**x;		/* [n]; NULL where a join has none */
	const struct tensor	**mean;		/* [n], of a running variance: its means; else NULL */
};

struct merge {
	const struct merge_opt	*o;
	struct tensors		*in;		/* [n] */
	struct tensors		 out;
	struct source		*from;		/* [out.n] */
	uint64_t		 done, all;	/* bytes of the output */
	void			*raw;		/* [CHUNK] of any type */
	double			*x, *sum, *mid;	/* [CHUNK] */
};

static bool
is_statistic(const char *name)
{
	for (size_t i = 0; i < sizeof(stats) / sizeof(*stats); i++)
		if (ending_is(name, strlen(name), stats[i].mean) || ending_is(name, strlen(name), stats[i].var))
			return true;
	return false;
}

static bool
matches(const char *name, char *const *pattern, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (fnmatch(pattern[i], name, 0) == 0)
			return true;
	return false;
}

static bool
wanted(const struct merge_opt *o, const char *name)
{
	return (o->npick == 0 || matches(name, o->pick, o->npick)) && !matches(name, o->drop, o->ndrop);
}

static bool
is_average(const char *name, size_t *n)
{
	if (!ending_is(name, *n, AVERAGE_TAIL))
		return false;
	*n -= strlen(AVERAGE_TAIL);
	return true;
}

/* Of weights and their average, is this what is asked for? */
static bool
is_asked(const struct merge *m, uint32_t file, const char *name)
{
	char beside[4096];
	size_t n = strlen(name);

	if (m->o->average == MERGE_BOTH)
		return true;
	if (is_average(name, &n) || m->o->average == MERGE_WEIGHTS)
		return (n < strlen(name)) == (m->o->average == MERGE_AVERAGES);
	return (size_t)snprintf(beside, sizeof(beside), "%s" AVERAGE_TAIL, name) >= sizeof(beside) ||
	    tensors_find_plain(&m->in[file], beside) == NULL;
}

/*
 * The name of a tensor in the output, in b, or *keep false.  Optimizer state and averages go the way of the tensor that
 * they belong to: rules and patterns see that one's name.
 */
static int
new_name(const struct merge_opt *o, const char *was, struct buf *b, bool *keep)
{
	size_t n = strlen(was);
	bool average = is_average(was, &n), state = !average && opt_is_state(was, &n);
	const char *tail = average && o->average == MERGE_AVERAGES ? "" : was + n;
	struct buf base = { 0 };
	int e;

	b->n = 0;
	if ((e = buf_put(&base, was, n)) == 0 && (e = buf_terminate(&base)) == 0)
		e = o->rename != NULL ? rename_apply(o->rename, (const char *)base.p, b) : buf_put(b, base.p, n);
	buf_free(&base);
	if (e < 0 || (e = buf_terminate(b)) < 0)
		return e;
	*keep = (o->state || !state) && wanted(o, (const char *)b->p);
	if ((e = buf_put(b, tail, strlen(tail))) == 0)
		e = buf_terminate(b);
	return e;
}

/* The tensors of the name in all files, which must agree. */
static int
gather(const struct merge *m, const char *name, const struct tensor ***x)
{
	const struct merge_opt *o = m->o;
	char shape[2][TENSORS_SHAPE];

	if ((*x = calloc(o->n, sizeof(**x))) == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < o->n; i++) {
		if (((*x)[i] = tensors_find_plain(&m->in[i], name)) == NULL)
			return err_fail(ERR_FORMAT, "%s: has no tensor '%.200s', which %s has", o->path[i], name, o->path[0]);
		if (!tensors_same_shape((*x)[i], (*x)[0]) || (*x)[i]->type != (*x)[0]->type)
			return err_fail(ERR_FORMAT, "%s: tensor '%.200s' is %s %s, but %s %s in %s", o->path[i], name,
			    tensors_type_name((*x)[i]->type), tensors_shape((*x)[i], shape[1]),
			    tensors_type_name((*x)[0]->type), tensors_shape((*x)[0], shape[0]), o->path[0]);
	}
	return 0;
}

/* The running means that belong to a running variance, under their names in the files; NULL for all other tensors. */
static int
gather_means(const struct merge *m, const char *name, const struct tensor ***x)
{
	char mean[4096];
	size_t n = strlen(name);
	const char *tail = is_average(name, &n) ? AVERAGE_TAIL : "";

	for (size_t i = 0; i < sizeof(stats) / sizeof(*stats); i++) {
		int stem = (int)n - (int)strlen(stats[i].var);

		if (ending_is(name, n, stats[i].var) &&
		    (size_t)snprintf(mean, sizeof(mean), "%.*s%s%s", stem, name, stats[i].mean, tail) < sizeof(mean) &&
		    tensors_find_plain(&m->in[0], mean) != NULL)
			return gather(m, mean, x);
	}
	return 0;
}

/* Appends to the output what tensor x of file i is there. */
static int
plan_tensor(struct merge *m, uint32_t i, const struct tensor *x, struct buf *name)
{
	const char *was = tensors_plain(&m->in[i], x->name);
	struct source *from;
	bool keep;
	int e;

	if (!is_asked(m, i, was))
		return 0;
	if ((e = new_name(m->o, was, name, &keep)) < 0 || !keep)
		return e;
	if ((from = realloc(m->from, (m->out.n + 1) * sizeof(*from))) == NULL)
		return err_nomem();
	m->from = from;
	from += m->out.n;
	*from = (struct source){ 0 };
	if (m->o->kind == TENSORS_PARAMS) {
		struct buf with = { 0 };

		e = buf_put_fmt(&with, "%s:%s", is_statistic((const char *)name->p) ? "aux" : "arg", (const char *)name->p);
		buf_free(name);
		*name = with;
		if (e < 0 || (e = buf_terminate(name)) < 0)
			return e;
	}
	if ((e = tensors_add(&m->out, (const char *)name->p, x)) < 0)
		return e;
	if (m->o->share != NULL) {
		if ((e = gather(m, was, &from->x)) == 0 && tensors_is_float(x->type))
			e = gather_means(m, was, &from->mean);
		return e;
	}
	if ((from->x = calloc(m->o->n, sizeof(*from->x))) == NULL)
		return err_nomem();
	from->x[i] = x;
	return 0;
}

static int
plan(struct merge *m)
{
	uint32_t files = m->o->share != NULL ? 1 : m->o->n;	/* whose tensors make up the output */
	struct buf name = { 0 };
	int e = 0;

	m->out.kind = m->o->kind;
	for (uint32_t i = 0; e == 0 && i < files; i++)
		for (size_t k = 0; e == 0 && k < m->in[i].n; k++)
			if ((e = plan_tensor(m, i, &m->in[i].t[k], &name)) < 0 && m->o->share == NULL)
				err_within("%s", m->o->path[i]);
	buf_free(&name);
	for (size_t k = 0; k < m->out.n; k++)
		m->all += m->out.t[k].count * tensors_type_size(m->out.t[k].type);
	if (e == 0 && m->out.n == 0)
		e = err_fail(ERR_ARG, "no tensor is left");
	return e;
}

/* The graph is that of the output when all of its arrays are there under their names: a selection has none. */
static int
plan_meta(struct merge *m)
{
	const struct tensors *first = &m->in[0];
	bool whole = m->o->rename == NULL && m->o->npick == 0 && m->o->ndrop == 0;
	int e = 0;

	for (uint32_t i = 0; e == 0 && i < first->nmeta; i++)
		if (strcmp(first->meta[i].key, WEIGHTS_GRAPH) == 0 ? whole :
		    strcmp(first->meta[i].key, WEIGHTS_OPTIMIZER) == 0 ? m->o->state : m->o->position)
			e = tensors_add_meta(&m->out, first->meta[i].key, first->meta[i].value);
	return e;
}

static int
read_chunk(const struct merge *m, uint32_t i, const struct tensor *x, uint64_t at, size_t n, void *to)
{
	int e = tensors_read(&m->in[i], x, at, n, to);

	if (e < 0)
		err_within("%s: tensor '%.200s'", m->o->path[i], x->name);
	return e;
}

/* Elements of x, in m->x. */
static int
read_wide(const struct merge *m, uint32_t i, const struct tensor *x, uint64_t at, size_t n)
{
	float *f = m->raw;
	int e;

	if (x->type == TENSORS_F64)
		return read_chunk(m, i, x, at, n, m->x);
	if (x->type == TENSORS_F32) {
		e = read_chunk(m, i, x, at, n, f);
	} else if ((e = read_chunk(m, i, x, at, n, m->x)) == 0) {
		tensors_to_f32(x->type, m->x, n, f);
	}
	for (size_t k = 0; e == 0 && k < n; k++)
		m->x[k] = (double)f[k];
	return e;
}

static int
mean_of(const struct merge *m, const struct tensor *const *x, uint64_t at, size_t n, double *sum)
{
	int e;

	memset(sum, 0, n * sizeof(*sum));
	for (uint32_t i = 0; i < m->o->n; i++) {
		double share = m->o->share[i];

		if (x[i]->type == TENSORS_F32) {
			if ((e = read_chunk(m, i, x[i], at, n, m->raw)) < 0)
				return e;
			merge_sum_add(sum, m->raw, n, share);
			continue;
		}
		if ((e = read_wide(m, i, x[i], at, n)) < 0)
			return e;
		for (size_t k = 0; k < n; k++)
			sum[k] += share * m->x[k];
	}
	return 0;
}

/* Adds to the mean variance in m->sum the variance of the means. */
static int
add_spread(const struct merge *m, const struct tensor *const *mean, uint64_t at, size_t n)
{
	int e;

	if ((e = mean_of(m, mean, at, n, m->mid)) < 0)
		return e;
	for (uint32_t i = 0; i < m->o->n; i++) {
		if ((e = read_wide(m, i, mean[i], at, n)) < 0)
			return e;
		for (size_t k = 0; k < n; k++) {
			double d = m->x[k] - m->mid[k];

			m->sum[k] += m->o->share[i] * d * d;
		}
	}
	return 0;
}

/* Whole numbers have no mean: they must be the same. */
static int
same_in_all(const struct merge *m, const struct source *from, uint64_t at, size_t n, void *other)
{
	size_t bytes = n * tensors_type_size(from->x[0]->type);
	int e;

	if ((e = read_chunk(m, 0, from->x[0], at, n, m->raw)) < 0)
		return e;
	for (uint32_t i = 1; i < m->o->n; i++) {
		if ((e = read_chunk(m, i, from->x[i], at, n, other)) < 0)
			return e;
		if (memcmp(m->raw, other, bytes) != 0)
			return err_fail(ERR_FORMAT, "%s: tensor '%.200s' holds whole numbers that differ from those of %s",
			    m->o->path[i], from->x[i]->name, m->o->path[0]);
	}
	return 0;
}

/* Doubles as the output's type, into m->raw. */
static void
narrow(const struct merge *m, enum tensors_type type, size_t n)
{
	float *f = type == TENSORS_F32 ? m->raw : (float *)m->x;

	if (type == TENSORS_F64) {
		memcpy(m->raw, m->sum, n * sizeof(*m->sum));
		return;
	}
	merge_sum_round(m->sum, n, f);
	if (type != TENSORS_F32)
		tensors_from_f32(type, f, n, m->raw);
}

int
merge_read(struct merge *m, const struct tensor *x, uint64_t at, size_t n, const void **p)
{
	const struct source *from = &m->from[x - m->out.t];
	uint32_t i = 0;
	int e = 0;

	assert(n <= CHUNK);
	*p = m->raw;
	if (m->o->step != NULL)
		m->o->step(m->o->arg, m->done, m->all);
	m->done += n * tensors_type_size(x->type);
	if (m->o->share == NULL || m->o->n == 1) {
		while (from->x[i] == NULL)
			i++;
		return read_chunk(m, i, from->x[i], at, n, m->raw);
	} else if (!tensors_is_float(x->type)) {
		return same_in_all(m, from, at, n, m->sum);
	} else if ((e = mean_of(m, from->x, at, n, m->sum)) == 0 && from->mean != NULL) {
		e = add_spread(m, from->mean, at, n);
	}
	if (e == 0)
		narrow(m, x->type, n);
	return e;
}

const struct tensors *
merge_table(const struct merge *m)
{
	return &m->out;
}

int
merge_write(struct merge *m, const char *path)
{
	struct tensors_out *out;
	int e = tensors_create(&out, path, &m->out);

	for (size_t k = 0; e == 0 && k < m->out.n; k++) {
		const struct tensor *x = &m->out.t[k];

		for (uint64_t at = 0; e == 0 && at < x->count; at += CHUNK) {
			size_t n = x->count - at < CHUNK ? (size_t)(x->count - at) : CHUNK;
			const void *p;

			if ((e = merge_read(m, x, at, n, &p)) == 0)
				e = tensors_put(out, p, n * tensors_type_size(x->type));
		}
	}
	if (e == 0)
		return tensors_commit(out);
	tensors_abandon(out);
	return e;
}

static int
open_all(struct merge *m)
{
	int e = 0;

	m->in = calloc(m->o->n, sizeof(*m->in));
	m->raw = malloc(CHUNK * sizeof(double));
	m->x = malloc(CHUNK * sizeof(*m->x));
	m->sum = malloc(CHUNK * sizeof(*m->sum));
	m->mid = malloc(CHUNK * sizeof(*m->mid));
	if (m->in == NULL || m->raw == NULL || m->x == NULL || m->sum == NULL || m->mid == NULL)
		return err_nomem();
	for (uint32_t i = 0; e == 0 && i < m->o->n; i++)
		e = tensors_open(&m->in[i], m->o->path[i]);
	return e;
}

void
merge_close(struct merge *m)
{
	if (m == NULL)
		return;
	for (uint32_t i = 0; m->in != NULL && i < m->o->n; i++)
		tensors_close(&m->in[i]);
	for (size_t k = 0; k < m->out.n; k++) {
		free(m->from[k].x);
		free(m->from[k].mean);
	}
	tensors_close(&m->out);
	free(m->from);
	free(m->in);
	free(m->raw);
	free(m->x);
	free(m->sum);
	free(m->mid);
	free(m);
}

int
merge_open(const struct merge_opt *o, struct merge **merge)
{
	struct merge *m = calloc(1, sizeof(*m));
	int e;

	*merge = NULL;
	if (m == NULL)
		return err_nomem();
	m->o = o;
	if ((e = open_all(m)) < 0 || (e = plan(m)) < 0 || (e = plan_meta(m)) < 0) {
		merge_close(m);
		return e;
	}
	*merge = m;
	return 0;
}

int
merge_run(const struct merge_opt *o, const char *out)
{
	struct merge *m;
	int e;

	if ((e = merge_open(o, &m)) == 0)
		e = merge_write(m, out);
	merge_close(m);
	return e;
}
