/* weights_load - reads a net's weights from a safetensors file. */
#include "net/weights.h"
#include "base/err.h"
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>

static int
parse_graph(const char *text, struct graph **g)
{
	return err_wrap(graph_parse(text, strlen(text), g), "its graph");
}

static int
take_metas(const struct tensors *t, struct weights *out)
{
	for (uint32_t i = 0; i < t->nmeta; i++) {
		struct tensors_meta *m = &out->meta[out->nmeta];
		const char *value = t->meta[i].value;

		if (strcmp(t->meta[i].key, WEIGHTS_GRAPH) == 0) {
			ERR_TRY(parse_graph(value, &out->graph));
			continue;
		}
		if (strcmp(t->meta[i].key, WEIGHTS_OPTIMIZER) == 0) {
			if (!opt_find(value, &out->rule))
				return err_fail(ERR_NOTSUP, "holds the state of an optimizer '%.32s'", value);
			continue;
		}
		if (out->nmeta == WEIGHTS_METAS)
			return err_fail(ERR_LIMIT, "more than %d pairs of metadata", WEIGHTS_METAS);
		m->key = strdup(t->meta[i].key);
		m->value = strdup(value);
		out->nmeta++;
		if (m->key == NULL || m->value == NULL)
			return err_nomem();
	}
	return 0;
}

int
weights_read_graph(const char *path, struct graph **g)
{
	struct tensors t;
	const char *text;
	int e = tensors_open(&t, path);

	*g = NULL;
	if (e < 0)
		return e;
	if ((text = tensors_meta(&t, WEIGHTS_GRAPH)) != NULL)
		e = err_wrap(parse_graph(text, g), "%s", path);
	tensors_close(&t);
	return e;
}

static const struct tensor *
find_weights_tensor(const struct tensors *t, const struct graph_array *a, const char *tail)
{
	char name[sizeof(a->name) + OPT_TAIL];

	snprintf(name, sizeof(name), "%s%s", a->name, tail);
	return tensors_find(t, name);
}

/* Checks that the file has the tensor of array a as f32 of its shape. */
static int
check_weights_tensor(const struct tensors *t, const struct graph_array *a, const char *tail)
{
	const struct tensor *x = find_weights_tensor(t, a, tail);
	struct tensor want = weights_tensor(a);
	char misfit[WEIGHTS_MISFIT];

	if (x == NULL)
		return err_fail(ERR_FORMAT, "has no tensor '%s%s'", a->name, tail);
	if (x->type != TENSORS_F32)
		return err_fail(ERR_FORMAT, "tensor '%s%s' is %s, not F32", a->name, tail, tensors_type_name(x->type));
	return tensors_same_shape(x, &want) ? 0 : err_fail(ERR_FORMAT, "tensor '%s%s' has another shape than the net: "
	    "%s; give the net the options that it was saved with", a->name, tail, weights_misfit(x, a, misfit));
}

int
weights_finite(const float *w, size_t n, const char *name, const char *tail)
{
	return num_finite(w, n) ? 0 : err_fail(ERR_FORMAT, "tensor '%s%s' holds NaN or infinite numbers", name, tail);
}

/*
 * Reads the tensors of n arrays, which fill *to [total].  It finds all of them before it allocates: the memory is then
 * no larger than the file.
 */
static int
read_arrays(const struct tensors *t, const struct graph_array *a, uint32_t n, const char *tail, size_t total,
    float **to)
{
	for (uint32_t i = 0; i < n; i++)
		ERR_TRY(check_weights_tensor(t, &a[i], tail));
	if ((*to = malloc((total + 1) * sizeof(float))) == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < n; i++) {
		ERR_TRY(tensors_read(t, find_weights_tensor(t, &a[i], tail), 0, a[i].count, *to + a[i].first));
		ERR_TRY(weights_finite(*to + a[i].first, a[i].count, a[i].name, tail));
	}
	return 0;
}

/* Reads the tensors of all states and stores the states of a weight side by side. */
static int
read_state(const struct tensors *t, const struct graph *g, struct weights *out)
{
	uint32_t states = opt_states(out->rule);
	float *one = NULL;
	int e = 0;

	if (states == 1)
		return read_arrays(t, g->w, g->nw, opt_tail(out->rule, 0), g->P, &out->state);
	for (uint32_t i = 0; e == 0 && i < states; i++) {
		if ((e = read_arrays(t, g->w, g->nw, opt_tail(out->rule, i), g->P, &one)) == 0 && out->state == NULL &&
		    (out->state = malloc((g->P + 1) * states * sizeof(float))) == NULL)
			e = err_nomem();
		for (size_t k = 0; e == 0 && k < g->P; k++)
			out->state[k * states + i] = one[k];
		free(one);
		one = NULL;
	}
	return e;
}

/* Reads the averages of the weights and, after them, of the statistics. */
static int
read_average(const struct tensors *t, const struct graph *g, struct weights *out)
{
	float *aux = NULL, *all;
	int e;

	if ((e = read_arrays(t, g->w, g->nw, AVERAGE_TAIL, g->P, &out->average)) < 0 ||
	    (e = read_arrays(t, g->aux, g->naux, AVERAGE_TAIL, g->A, &aux)) < 0) {
		free(aux);
		return e;
	}
	if ((all = realloc(out->average, (g->P + g->A + 1) * sizeof(float))) != NULL) {
		out->average = all;
		memcpy(all + g->P, aux, g->A * sizeof(float));
	}
	free(aux);
	return all != NULL ? 0 : err_nomem();
}

/* Whether any learned array has a tensor with this suffix.  Then all must have one. */
static bool
has_tail(const struct tensors *t, const struct graph *g, const char *tail)
{
	for (uint32_t i = 0; i < g->nw; i++)
		if (find_weights_tensor(t, &g->w[i], tail) != NULL)
			return true;
	return false;
}

static int
load_weights(const struct tensors *t, const struct graph *want, struct weights *out)
{
	const struct graph *g;

	ERR_TRY(take_metas(t, out));
	if ((g = want != NULL ? want : out->graph) == NULL)
		return err_fail(ERR_FORMAT, "holds no graph of its net; name the net with --net");
	ERR_TRY(read_arrays(t, g->w, g->nw, "", g->P, &out->w));
	ERR_TRY(read_arrays(t, g->aux, g->naux, "", g->A, &out->aux));
	if (opt_states(out->rule) > 0 && has_tail(t, g, opt_tail(out->rule, 0)))
		ERR_TRY(read_state(t, g, out));
	return has_tail(t, g, AVERAGE_TAIL) ? read_average(t, g, out) : 0;
}

int
weights_load(const char *path, const struct graph *want, struct weights *out)
{
	struct tensors t;
	int e;

	*out = (struct weights){ 0 };
	ERR_TRY(tensors_open(&t, path));
	if ((e = load_weights(&t, want, out)) < 0) {
		err_within("%s", path);
		weights_free(out);
	}
	tensors_close(&t);
	return e;
}
