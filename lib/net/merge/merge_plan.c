/* merge_plan - the output of a merge: its tensors, their names and sources, and its metadata. */
#include "net/merge/merge_in.h"
#include "base/err.h"
#include "source/suffix.h"
#include "net/optim/opt.h"
#include "net/weights.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The suffixes of batch norm's running statistics in MXNet, tally and PyTorch. */
static const struct { const char *mean, *var; } stats[] = {
	{ "_moving_mean", "_moving_var" }, { "_running_mean", "_running_var" }, { ".running_mean", ".running_var" },
};

static bool
is_statistic(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(stats) / sizeof(*stats); i++)
		if (suffix_is(name, n, stats[i].mean) || suffix_is(name, n, stats[i].var))
			return true;
	return false;
}

/* Also notes which patterns fit. */
static bool
match_any_pattern(const char *name, char *const *pattern, uint32_t n, bool *fits)
{
	bool any = false;

	for (uint32_t i = 0; i < n; i++)
		if (fnmatch(pattern[i], name, 0) == 0)
			any = fits[i] = true;
	return any;
}

static bool
is_selected(const struct merge *m, const char *name)
{
	const struct merge_opt *o = m->o;
	bool dropped = match_any_pattern(name, o->drop, o->ndrop, m->drops);

	return (match_any_pattern(name, o->pick, o->npick, m->picks) || o->npick == 0) && !dropped;
}

static bool
keeps_names(const struct merge_opt *o)
{
	return o->rename == NULL && o->npick == 0 && o->ndrop == 0;
}

/* Whether the tensor is a mean image that the output does not get. */
static bool
is_unwanted_image(const struct merge_opt *o, const char *name)
{
	return strcmp(name, WEIGHTS_MEAN_IMAGE) == 0 && !o->mean_image &&
	    (o->kind != TENSORS_SAFE || !keeps_names(o));
}

static bool
is_average(const char *name, size_t *n)
{
	if (!suffix_is(name, *n, AVERAGE_TAIL))
		return false;
	*n -= strlen(AVERAGE_TAIL);
	return true;
}

/* Whether o->average selects the tensor. */
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
 * Writes a tensor's name in the output to b, or sets *keep to false.  Optimizer state and averages follow the tensor
 * that they belong to: rules and patterns apply to its name.
 */
static int
new_name(const struct merge *m, const char *was, struct buf *b, bool *keep)
{
	const struct merge_opt *o = m->o;
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
	*keep = (o->state || !state) && is_selected(m, (const char *)b->p);
	if ((e = buf_put(b, tail, strlen(tail))) == 0)
		e = buf_terminate(b);
	return e;
}

/* Finds the tensors of that name, or of the plain name, in all files.  Their types and shapes must agree. */
static int
gather_tensors(const struct merge *m, const char *name, const struct tensor ***x)
{
	const char *plain = tensors_plain_name(&m->in[0], name);
	const struct merge_opt *o = m->o;
	char shape[2][TENSORS_SHAPE];

	if ((*x = calloc(o->n, sizeof(**x))) == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < o->n; i++) {
		if (((*x)[i] = tensors_find(&m->in[i], name)) == NULL &&
		    ((*x)[i] = tensors_find_plain(&m->in[i], plain)) == NULL)
			return err_fail(ERR_FORMAT, "%s: has no tensor '%.200s', which %s has", o->path[i], plain,
			    o->path[0]);
		if (!tensors_same_shape((*x)[i], (*x)[0]) || (*x)[i]->type != (*x)[0]->type)
			return err_fail(ERR_FORMAT, "%s: tensor '%.200s' is %s %s, but %s %s in %s", o->path[i], plain,
			    tensors_type_name((*x)[i]->type), tensors_shape((*x)[i], shape[1]),
			    tensors_type_name((*x)[0]->type), tensors_shape((*x)[0], shape[0]), o->path[0]);
	}
	return 0;
}

/* Finds the running means of the shape of a running variance that belong to it.  Leaves *x NULL for other tensors. */
static int
gather_means(const struct merge *m, const struct tensor *var, const char *name, const struct tensor ***x)
{
	const struct tensor *found;
	char mean[4096];
	size_t n = strlen(name);
	const char *tail = is_average(name, &n) ? AVERAGE_TAIL : "";

	for (size_t i = 0; i < sizeof(stats) / sizeof(*stats); i++) {
		int stem = (int)n - (int)strlen(stats[i].var);

		if (suffix_is(name, n, stats[i].var) &&
		    (size_t)snprintf(mean, sizeof(mean), "%.*s%s%s", stem, name, stats[i].mean, tail) < sizeof(mean) &&
		    (found = tensors_find_plain(&m->in[0], mean)) != NULL && tensors_same_shape(found, var))
			return gather_tensors(m, mean, x);
	}
	return 0;
}

/* Whether it is an array's name from Gluon's save_parameters() or from PyTorch.  These have no "arg:" or "aux:". */
static bool
is_of_block(const char *name, size_t n)
{
	static const char *const array[] = {
		".weight", ".bias", ".gamma", ".beta", ".running_mean", ".running_var", ".num_batches_tracked",
	};

	for (size_t i = 0; i < sizeof(array) / sizeof(*array); i++)
		if (suffix_is(name, n, array[i]))
			return true;
	return false;
}

/*
 * Puts "arg:" or "aux:" in front of a .params name: the prefix of a .params input, which may be empty, or one by the
 * kind of the tensor.  State and averages have the prefix of the tensor that they belong to.
 */
static int
put_kind(const struct merge *m, uint32_t i, const struct tensor *x, struct buf *name)
{
	const char *plain = (const char *)name->p, *had = x->name;
	size_t n = (size_t)(tensors_plain_name(&m->in[i], had) - had), base = name->n;
	struct buf with = { 0 };
	int e;

	if (m->in[i].kind != TENSORS_PARAMS) {
		if (!is_average(plain, &base))
			opt_is_state(plain, &base);
		had = is_of_block(plain, base) ? "" : is_statistic(plain, base) ? "aux:" : "arg:";
		n = strlen(had);
	}
	if ((e = buf_put(&with, had, n)) == 0 && (e = buf_put(&with, name->p, name->n)) == 0)
		e = buf_terminate(&with);
	buf_free(name);
	*name = with;
	return e;
}

/* Adds tensor x of file i to the output, if it is selected. */
static int
plan_tensor(struct merge *m, uint32_t i, const struct tensor *x, struct buf *name)
{
	const char *was = tensors_plain_name(&m->in[i], x->name);
	struct merge_from *from;
	bool keep;
	int e;

	if (!is_asked(m, i, was))
		return 0;
	if ((e = new_name(m, was, name, &keep)) < 0 || !keep || is_unwanted_image(m->o, was))
		return e;
	if ((from = realloc(m->from, (m->out.n + 1) * sizeof(*from))) == NULL)
		return err_nomem();
	m->from = from;
	from += m->out.n;
	*from = (struct merge_from){ 0 };
	if (m->o->kind == TENSORS_PARAMS)
		ERR_TRY(put_kind(m, i, x, name));
	ERR_TRY(tensors_add(&m->out, (const char *)name->p, x));
	from->same = strcmp(was, WEIGHTS_MEAN_IMAGE) == 0;
	from->one = m->o->share == NULL || (from->same && m->o->force);
	if (!from->one) {
		if ((e = gather_tensors(m, x->name, &from->x)) == 0 && tensors_is_float(x->type))
			e = gather_means(m, x, was, &from->mean);
		return e;
	}
	if ((from->x = calloc(m->o->n, sizeof(*from->x))) == NULL)
		return err_nomem();
	from->x[i] = x;
	return 0;
}

/* Fails if the first file lacks a tensor of another file: the mean would lose it. */
static int
check_others(const struct merge *m, struct buf *name)
{
	bool keep;

	for (uint32_t i = 1; i < m->o->n; i++)
		for (size_t k = 0; k < m->in[i].n; k++) {
			const char *was = tensors_plain_name(&m->in[i], m->in[i].t[k].name);

			if (!is_asked(m, i, was) || tensors_find_plain(&m->in[0], was) != NULL ||
			    is_unwanted_image(m->o, was) || (m->o->force && strcmp(was, WEIGHTS_MEAN_IMAGE) == 0))
				continue;
			ERR_TRY(new_name(m, was, name, &keep));
			if (keep)
				return err_fail(ERR_FORMAT, "%s: has no tensor '%.200s', which %s has", m->o->path[0],
				    was, m->o->path[i]);
		}
	return 0;
}

/* Refuses an output of which two tensors have one name, before anything is written. */
static int
check_names(const struct merge *m)
{
	const struct tensor **sorted = NULL;
	int e = tensors_sort(&m->out, &sorted);

	free(sorted);
	if (e != ERR_FORMAT)
		return e;
	return err_fail(e, "%s; %s", err_line(), m->o->share == NULL && m->o->n > 1 && m->o->rename == NULL ?
	    "give each file once" : "--rename gives each a name of its own, --drop leaves one out");
}

/* Refuses a rule and a pattern of pick that were for no tensor: the output would not be what was meant. */
static int
check_patterns(const struct merge *m)
{
	const struct merge_opt *o = m->o;
	const char *rule = o->rename != NULL ? rename_idle_rule(o->rename) : NULL;

	if (rule != NULL)
		return err_fail(ERR_ARG, "--rename: %.200s changes no name; --list prints the names", rule);
	for (uint32_t i = 0; i < o->npick; i++)
		if (!m->picks[i])
			return err_fail(ERR_ARG, "--pick: no tensor is called %.200s; --list prints the names",
			    o->pick[i]);
	for (uint32_t i = 0; i < o->ndrop && o->idle != NULL; i++)
		if (!m->drops[i])
			o->idle(o->arg, o->drop[i]);
	return 0;
}

/* Says why the output would be empty. */
static int
fail_no_tensor(const struct merge *m)
{
	uint32_t i = 0;

	while (i < m->o->n && m->in[i].n == 0)
		i++;
	if (i == m->o->n)
		return err_fail(ERR_FORMAT, "%s: has no tensors; name a file of weights", m->o->path[0]);
	if (m->o->npick + m->o->ndrop > 0)
		return err_fail(ERR_ARG, "no tensor is selected by --pick and --drop; --list prints the names");
	return err_fail(ERR_ARG, "%s: all its tensors are optimizer state, averages or a mean image; --state, "
	    "--average and --mean-image keep them", m->o->path[i]);
}

static int
plan_tensors(struct merge *m)
{
	uint32_t files = m->o->share != NULL ? 1 : m->o->n;	/* the files whose tensors make up the output */
	struct buf name = { 0 };
	int e = 0;

	m->picks = calloc((size_t)m->o->npick + 1, sizeof(*m->picks));
	m->drops = calloc((size_t)m->o->ndrop + 1, sizeof(*m->drops));
	if (m->picks == NULL || m->drops == NULL)
		return err_nomem();
	m->out.kind = m->o->kind;
	for (uint32_t i = 0; e == 0 && i < files; i++)
		for (size_t k = 0; e == 0 && k < m->in[i].n; k++)
			if ((e = plan_tensor(m, i, &m->in[i].t[k], &name)) < 0 && m->o->share == NULL)
				err_within("%s", m->o->path[i]);
	if (e == 0 && m->o->share != NULL)
		e = check_others(m, &name);
	buf_free(&name);
	for (size_t k = 0; k < m->out.n; k++)
		m->all += tensors_bytes(&m->out.t[k]);
	if (e == 0)
		e = check_patterns(m);
	if (e == 0 && m->out.n == 0)
		e = fail_no_tensor(m);
	return e == 0 ? check_names(m) : e;
}

/* Fails if two files have different values of a key; a file without the key agrees with all. */
static int
check_meta(const struct merge *m, const char *key)
{
	const char *first = NULL, *value;
	uint32_t of = 0;

	for (uint32_t i = 0; i < m->o->n && !m->o->force; i++) {
		if ((value = tensors_meta(&m->in[i], key)) == NULL)
			continue;
		if (first == NULL) {
			first = value;
			of = i;
		} else if (strcmp(value, first) != 0) {
			return err_fail(ERR_FORMAT, "%s: its %s is not that of %s; --force takes the first",
			    m->o->path[i], key, m->o->path[of]);
		}
	}
	return 0;
}

/*
 * Copies the first file's metadata; keys that only other files have are lost.  The graph and the net are kept if all
 * arrays keep their names, the optimizer if its state is kept, preprocessing and class names always.  The rest is the
 * training position if the file has a graph; without one it is another program's and is kept.
 */
static int
plan_meta(struct merge *m)
{
	const struct tensors *first = &m->in[0];
	bool position = m->o->position || tensors_meta(first, WEIGHTS_GRAPH) == NULL;

	for (uint32_t i = 0; i < first->nmeta; i++) {
		const char *key = first->meta[i].key;

		if (strcmp(key, WEIGHTS_GRAPH) == 0 || strcmp(key, WEIGHTS_NET) == 0 ? keeps_names(m->o) :
		    strcmp(key, WEIGHTS_OPTIMIZER) == 0 ? m->o->state :
		    position || strcmp(key, WEIGHTS_PREPROCESSING) == 0 || strcmp(key, WEIGHTS_CLASS_NAMES) == 0)
			ERR_TRY(tensors_add_meta(&m->out, key, first->meta[i].value));
	}
	return 0;
}

int
merge_plan(struct merge *m)
{
	ERR_TRY(check_meta(m, WEIGHTS_PREPROCESSING));
	ERR_TRY(check_meta(m, WEIGHTS_CLASS_NAMES));
	ERR_TRY(plan_tensors(m));
	return plan_meta(m);
}
