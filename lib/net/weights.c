/* weights - a net's weights as a safetensors file: saving. */
#include "net/weights.h"
#include "base/err.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNK	4096u	/* floats */

/* Arrays are written as they stand in memory, and the format is little-endian. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a big-endian machine must swap the floats");

static int
add_metas(struct tensors *t, const struct graph *g, const struct tensors_meta *meta, uint32_t nmeta)
{
	struct buf text = { 0 };
	int e;

	if ((e = graph_text(g, &text)) == 0 && (e = buf_terminate(&text)) == 0)
		e = tensors_add_meta(t, WEIGHTS_GRAPH, (const char *)text.p);
	for (uint32_t i = 0; e == 0 && i < nmeta; i++) {
		assert(strcmp(meta[i].key, WEIGHTS_GRAPH) != 0);
		e = tensors_add_meta(t, meta[i].key, meta[i].value);
	}
	buf_free(&text);
	return e;
}

struct tensor
weights_tensor(const struct graph_array *a)
{
	struct tensor x = { .type = TENSORS_F32, .ndim = a->ndim, .count = a->count };

	for (uint32_t d = 0; d < x.ndim; d++)
		x.dim[d] = a->dim[d];
	return x;
}

static int
add_arrays(struct tensors *t, const struct graph_array *a, uint32_t n, const char *tail)
{
	char name[sizeof(a->name) + OPT_TAIL];

	for (uint32_t i = 0; i < n; i++) {
		struct tensor x = weights_tensor(&a[i]);

		snprintf(name, sizeof(name), "%s%s", a[i].name, tail);
		ERR_TRY(tensors_add(t, name, &x));
	}
	return 0;
}

/* Writes state i of each weight.  The states of a weight are adjacent in memory and separate tensors in the file. */
static int
write_state(struct tensors_out *o, const float *state, size_t count, uint32_t states, uint32_t i)
{
	float some[CHUNK];

	for (size_t at = 0; at < count; at += CHUNK) {
		size_t n = count - at < CHUNK ? count - at : CHUNK;

		for (size_t k = 0; k < n; k++)
			some[k] = state[(at + k) * states + i];
		ERR_TRY(tensors_write(o, some, n * sizeof(*some)));
	}
	return 0;
}

static int
write_file(const char *path, struct tensors *t, const struct graph *g, const float *w, const float *aux,
    const float *state, uint32_t states, const float *average, const float *mean_image)
{
	const struct graph_node *x = &g->node[0];
	struct tensors_out *o;
	int e;

	ERR_TRY(tensors_create(path, t, &o));
	if ((e = tensors_write(o, w, g->P * sizeof(*w))) == 0)
		e = tensors_write(o, aux, g->A * sizeof(*aux));
	for (uint32_t i = 0; e == 0 && i < states; i++)
		e = write_state(o, state, g->P, states, i);
	if (e == 0 && average != NULL)
		e = tensors_write(o, average, (g->P + g->A) * sizeof(*average));
	if (e == 0 && mean_image != NULL)
		e = tensors_write(o, mean_image, (size_t)x->c * x->h * x->w * sizeof(*mean_image));
	if (e == 0)
		return tensors_commit(o);
	tensors_abandon(o);
	return e;
}

int
weights_save(const char *path, const struct graph *g, const float *w, const float *aux, const float *state,
    enum opt_rule rule, const float *average, const float *mean_image, const struct tensors_meta *meta, uint32_t nmeta)
{
	const struct graph_node *x = &g->node[0];
	const struct tensor image = { .type = TENSORS_F32, .ndim = 3, .dim = { x->c, x->h, x->w },
	    .count = (uint64_t)x->c * x->h * x->w };
	uint32_t states = state != NULL ? opt_states(rule) : 0;
	struct tensors t = { .kind = TENSORS_SAFE };
	int e;

	e = nmeta > WEIGHTS_METAS ? err_fail(ERR_LIMIT, "more than %d pairs of metadata", WEIGHTS_METAS) : 0;
	if (e == 0 && (e = add_metas(&t, g, meta, nmeta)) == 0 && (e = add_arrays(&t, g->w, g->nw, "")) == 0 &&
	    (e = add_arrays(&t, g->aux, g->naux, "")) == 0 && state != NULL && rule != OPT_SGD)
		e = tensors_add_meta(&t, WEIGHTS_OPTIMIZER, opt_name(rule));
	for (uint32_t i = 0; e == 0 && i < states; i++)
		e = add_arrays(&t, g->w, g->nw, opt_tail(rule, i));
	if (e == 0 && average != NULL && (e = add_arrays(&t, g->w, g->nw, AVERAGE_TAIL)) == 0)
		e = add_arrays(&t, g->aux, g->naux, AVERAGE_TAIL);
	if (e == 0 && mean_image != NULL)
		e = tensors_add(&t, WEIGHTS_MEAN_IMAGE, &image);
	if (e < 0)
		err_within("%s", path);
	else
		e = write_file(path, &t, g, w, aux, state, states, average, mean_image);
	tensors_close(&t);
	return e;
}

const char *
weights_get(const struct weights *f, const char *key)
{
	for (uint32_t i = 0; i < f->nmeta; i++)
		if (strcmp(f->meta[i].key, key) == 0)
			return f->meta[i].value;
	return NULL;
}

void
weights_free(struct weights *f)
{
	graph_free(f->graph);
	free(f->w);
	free(f->aux);
	free(f->state);
	free(f->average);
	for (uint32_t i = 0; i < f->nmeta; i++) {
		free(f->meta[i].key);
		free(f->meta[i].value);
	}
	*f = (struct weights){ 0 };
}
