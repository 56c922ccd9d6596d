/* weights_start - initial weights from a file of another net: serves weights. */
#include "net/weights.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists the file's tensors under their new names. */
static int
rename_tensors(const struct tensors *t, struct rename_rules *rules, struct tensors *named)
{
	struct buf b = { 0 };
	int e = 0;

	for (size_t i = 0; e == 0 && i < t->n; i++) {
		const char *name = tensors_plain_name(t, t->t[i].name);

		if (rules != NULL && (e = rename_apply(rules, name, &b)) == 0)
			name = (const char *)b.p;
		if (e == 0)
			e = tensors_add(named, name, &t->t[i]);
	}
	buf_free(&b);
	return e;
}

bool
weights_fit(const struct tensor *x, const struct graph_array *a)
{
	uint32_t most = x->ndim > a->ndim ? x->ndim : a->ndim;

	for (uint32_t i = 0; i < most; i++)
		if ((i < x->ndim ? x->dim[i] : 1) != (i < a->ndim ? a->dim[i] : 1))
			return false;
	return tensors_is_float(x->type);
}

const char *
weights_misfit(const struct tensor *x, const struct graph_array *a, char to[WEIGHTS_MISFIT])
{
	struct tensor want = weights_tensor(a);
	char is[TENSORS_SHAPE], not[TENSORS_SHAPE];

	if (tensors_is_float(x->type))
		snprintf(to, WEIGHTS_MISFIT, "%s, not %s", tensors_shape(x, is), tensors_shape(&want, not));
	else
		snprintf(to, WEIGHTS_MISFIT, "%s, no floats", tensors_type_name(x->type));
	return to;
}

static int
copy_start_tensor(const struct tensors *t, const struct tensor *x, const struct graph_array *a, float *to)
{
	void *raw = malloc((size_t)tensors_bytes(x) + 1);
	int e = raw == NULL ? err_nomem() : tensors_read(t, x, 0, (size_t)x->count, raw);

	if (e == 0) {
		tensors_to_f32(x->type, raw, (size_t)x->count, to);
		e = weights_finite(to, a->count, a->name, "");
	}
	free(raw);
	return e;
}

/* Initializes one array from the file, or notes in r why the file has none for it. */
static int
start_array(const struct tensors *t, const struct tensors *named, const struct graph_array *a, float *to,
    struct weights_taken *r)
{
	const struct tensor *x = tensors_find(named, a->name);
	char misfit[WEIGHTS_MISFIT];

	if (x != NULL && weights_fit(x, a)) {
		r->taken++;
		return copy_start_tensor(t, x, a, to + a->first);
	}
	r->left++;
	return buf_put_fmt(&r->names, "%s%s (%s)", r->names.n > 0 ? ", " : "", a->name,
	    x == NULL ? "not there" : weights_misfit(x, a, misfit));
}

/* The error if no tensor matches: either no name does, or no shape. */
static int
report_no_match(const struct tensors *named, const struct graph *g, const char *list)
{
	const char *end;
	bool known = false;
	size_t first = 0;

	while (first + 1 < named->n && !tensors_is_float(named->t[first].type))
		first++;
	for (size_t i = 0; i < named->n && !known; i++)
		for (uint32_t k = 0; k < g->nw && !known; k++)
			known = strcmp(named->t[i].name, g->w[k].name) == 0;
	if (!known && named->n > 0)
		return err_fail(ERR_FORMAT,
		    "has none of the net's arrays: the net's first is %s, the file's is %.200s; see "
		    "--start-rename, as in from:torch-resnet", g->w[0].name, named->t[first].name);
	/* The first two arrays tell as much as all. */
	if ((end = strstr(list, ", ")) != NULL)
		end = strstr(end + 1, ", ");
	return err_fail(ERR_FORMAT, "none of its arrays has name and shape of one of the net's, as %.*s%s; the net's "
	    "options may be others, such as --variant or --layers",
	    end != NULL ? (int)(end - list) : (int)strlen(list), list, end != NULL ? " ..." : "");
}

int
weights_start(const char *path, struct rename_rules *rules, const struct graph *g, float *w, float *aux,
    struct weights_taken *r)
{
	struct tensors t, named = { 0 };
	const char *idle;
	int e;

	*r = (struct weights_taken){ 0 };
	ERR_TRY(tensors_open(&t, path));
	e = rename_tensors(&t, rules, &named);
	if (e == 0 && rules != NULL && (idle = rename_idle_rule(rules)) != NULL)
		e = err_fail(ERR_ARG, "the rule %.200s changes no name; pmerge --list prints the names", idle);
	for (uint32_t i = 0; e == 0 && i < g->nw; i++)
		e = start_array(&t, &named, &g->w[i], w, r);
	for (uint32_t i = 0; e == 0 && i < g->naux; i++)
		e = start_array(&t, &named, &g->aux[i], aux, r);
	if (e == 0 && (e = buf_terminate(&r->names)) == 0 && r->taken == 0)
		e = report_no_match(&named, g, (const char *)r->names.p);
	tensors_close(&named);
	tensors_close(&t);
	return err_wrap(e, "%s", path);
}
