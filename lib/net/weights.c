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
add_metas(struct tensors *t, const struct weights_content *f)
{
	struct buf text = { 0 };
	int e;

	if ((e = graph_text(f->graph, &text)) == 0 && (e = buf_terminate(&text)) == 0)
		e = tensors_add_meta(t, WEIGHTS_GRAPH, (const char *)text.p);
	for (uint32_t i = 0; e == 0 && i < f->nmeta; i++) {
		assert(strcmp(f->meta[i].key, WEIGHTS_GRAPH) != 0);
		e = tensors_add_meta(t, f->meta[i].key, f->meta[i].value);
	}
	buf_free(&text);
	if (e == 0 && f->state != NULL && f->rule != OPT_SGD)
		e = tensors_add_meta(t, WEIGHTS_OPTIMIZER, opt_name(f->rule));
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

/* Adds the arrays to the table, in the order of write_arrays(). */
static int
add_all_arrays(struct tensors *t, const struct weights_content *f)
{
	const struct graph *g = f->graph;
	const struct graph_node *x = &g->node[0];
	const struct tensor image = { .type = TENSORS_F32, .ndim = 3, .dim = { x->c, x->h, x->w },
	    .count = (uint64_t)x->c * x->h * x->w };

	ERR_TRY(add_arrays(t, g->w, g->nw, ""));
	ERR_TRY(add_arrays(t, g->aux, g->naux, ""));
	for (uint32_t i = 0; f->state != NULL && i < opt_states(f->rule); i++)
		ERR_TRY(add_arrays(t, g->w, g->nw, opt_tail(f->rule, i)));
	if (f->average != NULL) {
		ERR_TRY(add_arrays(t, g->w, g->nw, AVERAGE_TAIL));
		ERR_TRY(add_arrays(t, g->aux, g->naux, AVERAGE_TAIL));
	}
	return f->mean_image != NULL ? tensors_add(t, WEIGHTS_MEAN_IMAGE, &image) : 0;
}

static int
write_arrays(struct tensors_out *o, const struct weights_content *f)
{
	const struct graph *g = f->graph;
	const struct graph_node *x = &g->node[0];
	const uint32_t states = opt_states(f->rule);

	ERR_TRY(tensors_write(o, f->w, g->P * sizeof(*f->w)));
	ERR_TRY(tensors_write(o, f->aux, g->A * sizeof(*f->aux)));
	for (uint32_t i = 0; f->state != NULL && i < states; i++)
		ERR_TRY(write_state(o, f->state, g->P, states, i));
	if (f->average != NULL)
		ERR_TRY(tensors_write(o, f->average, (g->P + g->A) * sizeof(*f->average)));
	return f->mean_image != NULL ? tensors_write(o, f->mean_image,
	    (size_t)x->c * x->h * x->w * sizeof(*f->mean_image)) : 0;
}

int
weights_save(const char *path, const struct weights_content *f)
{
	struct tensors t = { .kind = TENSORS_SAFE };
	struct tensors_out *o;
	int e = 0;

	if (f->nmeta > WEIGHTS_METAS)
		e = err_fail(ERR_LIMIT, "more than %d pairs of metadata", WEIGHTS_METAS);
	if (e < 0 || (e = add_metas(&t, f)) < 0 || (e = add_all_arrays(&t, f)) < 0)
		err_within("%s", path);
	else if ((e = tensors_create(path, &t, &o)) == 0) {
		if ((e = write_arrays(o, f)) == 0)
			e = tensors_commit(o);
		else
			tensors_abandon(o);
	}
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
