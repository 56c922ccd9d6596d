/* merge - averages, joins and splits files of tensors. */
#include "net/merge/merge_in.h"
#include "net/merge/merge_sum.h"
#include "base/err.h"

#include <assert.h>
#include <stdlib.h>

static int
read_chunk(const struct merge *m, uint32_t i, const struct tensor *x, uint64_t at, size_t n, void *to)
{
	return err_wrap(tensors_read(&m->in[i], x, at, n, to), "%s: tensor '%.200s'", m->o->path[i],
	    tensors_plain_name(&m->in[i], x->name));
}

/* Reads elements of x into m->x as f64. */
static int
read_wide(const struct merge *m, uint32_t i, const struct tensor *x, uint64_t at, size_t n)
{
	int e;

	if (x->type == TENSORS_F64)
		return read_chunk(m, i, x, at, n, m->x);
	if ((e = read_chunk(m, i, x, at, n, m->raw)) == 0)
		tensors_to_f64(x->type, m->raw, n, m->x);
	return e;
}

static int
average_elements(const struct merge *m, const struct tensor *const *x, uint64_t at, size_t n, double *sum)
{
	memset(sum, 0, n * sizeof(*sum));
	for (uint32_t i = 0; i < m->o->n; i++) {
		double share = m->o->share[i];

		if (share == 0)		/* not even its infinite numbers count */
			continue;
		if (x[i]->type == TENSORS_F32) {
			ERR_TRY(read_chunk(m, i, x[i], at, n, m->raw));
			merge_sum_add(sum, m->raw, n, share);
			continue;
		}
		ERR_TRY(read_wide(m, i, x[i], at, n));
		for (size_t k = 0; k < n; k++)
			sum[k] += share * m->x[k];
	}
	return 0;
}

/* Adds the variance of the means to the mean variance in m->sum. */
static int
add_spread(const struct merge *m, const struct tensor *const *mean, uint64_t at, size_t n)
{
	ERR_TRY(average_elements(m, mean, at, n, m->mid));
	for (uint32_t i = 0; i < m->o->n; i++) {
		if (m->o->share[i] == 0)
			continue;
		ERR_TRY(read_wide(m, i, mean[i], at, n));
		for (size_t k = 0; k < n; k++) {
			double d = m->x[k] - m->mid[k];

			m->sum[k] += m->o->share[i] * d * d;
		}
	}
	return 0;
}

/* Reads a tensor that must be equal in all files, such as one of integers, which have no mean. */
static int
is_same_in_all(const struct merge *m, const struct merge_from *from, uint64_t at, size_t n, void *other)
{
	size_t bytes = n * tensors_type_size(from->x[0]->type);

	ERR_TRY(read_chunk(m, 0, from->x[0], at, n, m->raw));
	for (uint32_t i = 1; i < m->o->n; i++) {
		ERR_TRY(read_chunk(m, i, from->x[i], at, n, other));
		if (memcmp(m->raw, other, bytes) != 0)
			return err_fail(ERR_FORMAT,
			    "%s: tensor '%.200s' differs from that of %s, and has no mean; %s", m->o->path[i],
			    tensors_plain_name(&m->in[i], from->x[i]->name), m->o->path[0],
			    from->same ? "--force takes the first" : "--drop leaves it out");
	}
	return 0;
}

/* Converts m->sum to the output's type, into m->raw. */
static void
narrow_sum(const struct merge *m, enum tensors_type type, size_t n)
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
merge_tell(const struct merge *m)
{
	return m->o->step != NULL ? m->o->step(m->o->arg, m->done, m->all) : 0;
}

int
merge_read(struct merge *m, const struct tensor *x, uint64_t at, size_t n, const void **p)
{
	const struct merge_from *from = &m->from[x - m->out.t];
	uint32_t i = 0;
	int e = 0;

	assert(n <= MERGE_PIECE);
	*p = m->raw;
	if ((e = merge_tell(m)) != 0)
		return e;
	m->done += n * tensors_type_size(x->type);
	if (m->o->share == NULL || m->o->n == 1 || from->one) {
		while (from->x[i] == NULL)
			i++;
		return read_chunk(m, i, from->x[i], at, n, m->raw);
	} else if (!tensors_is_float(x->type) || from->same) {
		return is_same_in_all(m, from, at, n, m->sum);
	} else if ((e = average_elements(m, from->x, at, n, m->sum)) == 0 && from->mean != NULL) {
		e = add_spread(m, from->mean, at, n);
	}
	if (e == 0)
		narrow_sum(m, x->type, n);
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
	struct tensors_out *out = NULL;
	int e = merge_tell(m);

	if (e == 0)
		e = tensors_create(path, &m->out, &out);
	for (size_t k = 0; e == 0 && k < m->out.n; k++) {
		const struct tensor *x = &m->out.t[k];

		for (uint64_t at = 0; e == 0 && at < x->count; at += MERGE_PIECE) {
			size_t n = x->count - at < MERGE_PIECE ? (size_t)(x->count - at) : MERGE_PIECE;
			const void *p;

			if ((e = merge_read(m, x, at, n, &p)) == 0)
				e = tensors_write(out, p, n * tensors_type_size(x->type));
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
	m->raw = malloc(MERGE_PIECE * sizeof(double));
	m->x = malloc(MERGE_PIECE * sizeof(*m->x));
	m->sum = malloc(MERGE_PIECE * sizeof(*m->sum));
	m->mid = malloc(MERGE_PIECE * sizeof(*m->mid));
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
	free(m->picks);
	free(m->drops);
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
	e = open_all(m);
	e = e < 0 ? e : merge_plan(m);
	if (e < 0 || (o->share == NULL && !o->force && (e = merge_check_parts(o)) < 0)) {
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
