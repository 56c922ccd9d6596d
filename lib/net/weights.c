/* weights - a net's weights as a file: safetensors, so that other tools read it as is. */
#include "net/weights.h"
#include "base/err.h"
#include "base/io.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIGN 8		/* the data begins at a multiple of this, as safetensors' own writer has it */

/* Arrays are written as they stand in memory, and the format is little-endian. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a big-endian machine must swap the floats");

static int
add_meta(json_t *to, const char *key, const char *value)
{
	json_t *text = json_string(value);

	if (text == NULL)
		return err_fail(ERR_FORMAT, "metadata '%s' is not UTF-8", key);
	return json_object_set_new(to, key, text) == 0 ? 0 : err_fail(ERR_FORMAT, "a key of metadata is not UTF-8");
}

static int
add_metas(json_t *root, const struct graph *g, const struct weights_meta *meta, uint32_t nmeta)
{
	json_t *to = json_object();
	struct buf text = { 0 };
	int e;

	if (to == NULL || json_object_set_new(root, "__metadata__", to) < 0)
		return err_nomem();
	if ((e = graph_text(g, &text)) == 0 && (e = buf_terminate(&text)) == 0)
		e = add_meta(to, "graph", (const char *)text.p);
	for (uint32_t i = 0; e == 0 && i < nmeta; i++) {
		assert(strcmp(meta[i].key, "graph") != 0);
		e = add_meta(to, meta[i].key, meta[i].value);
	}
	buf_free(&text);
	return e;
}

/* One tensor; *at, its place in the data, moves behind it. */
static int
add_tensor(json_t *root, const struct graph_array *a, const char *tail, json_int_t *at)
{
	json_int_t end = *at + (json_int_t)(a->count * sizeof(float));
	json_t *shape = json_array(), *tensor;
	char name[sizeof(a->name) + sizeof(WEIGHTS_STATE)];

	for (uint32_t i = 0; i < a->ndim; i++)
		json_array_append_new(shape, json_integer(a->dim[i]));
	tensor = json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets", *at, end);
	snprintf(name, sizeof(name), "%s%s", a->name, tail);
	*at = end;
	return tensor != NULL && json_object_set_new(root, name, tensor) == 0 ? 0 : err_nomem();
}

static int
add_tensors(json_t *root, const struct graph *g, bool state)
{
	json_int_t at = 0;
	int e = 0;

	for (uint32_t i = 0; e == 0 && i < g->nw; i++)
		e = add_tensor(root, &g->w[i], "", &at);
	for (uint32_t i = 0; e == 0 && i < g->naux; i++)
		e = add_tensor(root, &g->aux[i], "", &at);
	for (uint32_t i = 0; e == 0 && state && i < g->nw; i++)
		e = add_tensor(root, &g->w[i], WEIGHTS_STATE, &at);
	return e;
}

/* u64 n | JSON[n], filled up with blanks. */
static int
make_head(const struct graph *g, bool state, const struct weights_meta *meta, uint32_t nmeta, struct buf *head)
{
	static const char blanks[ALIGN + 1] = "        ";
	json_t *root = json_object();
	char *text = NULL;
	uint8_t size[8];
	size_t n = 0;
	int e = root == NULL ? err_nomem() : 0;

	if (e == 0 && (e = add_metas(root, g, meta, nmeta)) == 0 && (e = add_tensors(root, g, state)) == 0 &&
	    (text = json_dumps(root, JSON_COMPACT)) == NULL)
		e = err_nomem();
	json_decref(root);
	if (e < 0)
		return e;
	n = strlen(text);
	le_put64(size, (n + ALIGN - 1) / ALIGN * ALIGN);
	if (n + ALIGN > WEIGHTS_HEAD)
		e = err_fail(ERR_LIMIT, "a header of %zu bytes", n);
	else if ((e = buf_put(head, size, sizeof(size))) == 0 && (e = buf_put(head, text, n)) == 0)
		e = buf_put(head, blanks, (size_t)le_get64(size) - n);
	free(text);
	return e;
}

static int
write_file(const char *path, const struct buf *head, const struct graph *g, const float *w, const float *aux,
	const float *state)
{
	struct io_new f;
	int e;

	if ((e = io_create(&f, path)) < 0)
		return e;
	if ((e = io_write(f.fd, head->p, head->n)) == 0 && (e = io_write(f.fd, w, g->P * sizeof(*w))) == 0 &&
	    (e = io_write(f.fd, aux, g->A * sizeof(*aux))) == 0 && state != NULL)
		e = io_write(f.fd, state, g->P * sizeof(*state));
	if (e == 0)
		e = io_commit(&f);
	else
		io_abandon(&f);
	return e;
}

int
weights_save(const char *path, const struct graph *g, const float *w, const float *aux, const float *state,
	const struct weights_meta *meta, uint32_t nmeta)
{
	struct buf head = { 0 };
	int e;

	if (nmeta > WEIGHTS_METAS)
		e = err_fail(ERR_LIMIT, "more than %d pairs of metadata", WEIGHTS_METAS);
	else if ((e = make_head(g, state != NULL, meta, nmeta, &head)) == 0)
		e = write_file(path, &head, g, w, aux, state);
	buf_free(&head);
	if (e < 0)
		err_within("%s", path);
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
