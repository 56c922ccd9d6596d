/* weights - a net's weights as a file: safetensors, so that other tools read it as is. */
#include "net/weights.h"
#include "base/err.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Arrays are written as they stand in memory, and the format is little-endian. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a big-endian machine must swap the floats");

static int
add_metas(struct tensors *t, const struct graph *g, const struct tensors_meta *meta, uint32_t nmeta)
{
	struct buf text = { 0 };
	int e;

	if ((e = graph_text(g, &text)) == 0 && (e = buf_terminate(&text)) == 0)
		e = tensors_add_meta(t, "graph", (const char *)text.p);
	for (uint32_t i = 0; e == 0 && i < nmeta; i++) {
		assert(strcmp(meta[i].key, "graph") != 0);
		e = tensors_add_meta(t, meta[i].key, meta[i].value);
	}
	buf_free(&text);
	return e;
}

static int
add_arrays(struct tensors *t, const struct graph_array *a, uint32_t n, const char *tail)
{
	char name[sizeof(a->name) + sizeof(WEIGHTS_STATE)];
	int e = 0;

	for (uint32_t i = 0; e == 0 && i < n; i++) {
		struct tensor x = { .type = TENSORS_F32, .ndim = a[i].ndim };

		for (uint32_t d = 0; d < x.ndim; d++)
			x.dim[d] = a[i].dim[d];
		snprintf(name, sizeof(name), "%s%s", a[i].name, tail);
		e = tensors_add(t, name, &x);
	}
	return e;
}

static int
write_file(const char *path, struct tensors *t, const struct graph *g, const float *w, const float *aux,
    const float *state)
{
	struct tensors_out *o;
	int e;

	if ((e = tensors_create(&o, path, t)) < 0)
		return e;
	if ((e = tensors_put(o, w, g->P * sizeof(*w))) == 0 && (e = tensors_put(o, aux, g->A * sizeof(*aux))) == 0 &&
	    state != NULL)
		e = tensors_put(o, state, g->P * sizeof(*state));
	if (e == 0)
		return tensors_commit(o);
	tensors_abandon(o);
	return e;
}

int
weights_save(const char *path, const struct graph *g, const float *w, const float *aux, const float *state,
    const struct tensors_meta *meta, uint32_t nmeta)
{
	struct tensors t = { .kind = TENSORS_SAFE };
	int e;

	if ((e = add_metas(&t, g, meta, nmeta)) == 0 && (e = add_arrays(&t, g->w, g->nw, "")) == 0 &&
	    (e = add_arrays(&t, g->aux, g->naux, "")) == 0 && state != NULL)
		e = add_arrays(&t, g->w, g->nw, WEIGHTS_STATE);
	if (e < 0)
		err_within("%s", path);
	else
		e = write_file(path, &t, g, w, aux, state);
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
	for (uint32_t i = 0; i < f->nmeta; i++) {
		free(f->meta[i].key);
		free(f->meta[i].value);
	}
	*f = (struct weights){ 0 };
}
