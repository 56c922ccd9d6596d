/* onnx - writes a net and its weights as an ONNX model. */
#include "net/onnx/onnx.h"
#include "base/err.h"
#include "net/weights.h"
#include "tensor/tensors.h"

#include <stdlib.h>

#define CHUNK 32768u	/* floats per read */

static int
add_onnx_tensor(struct tensors *t, const struct graph_array *a)
{
	struct tensor x = weights_tensor(a);

	return tensors_add(t, a->name, &x);
}

/* Writes an array in chunks.  A fixed gamma is written as 1: MXNet's files may hold other numbers. */
static int
write_onnx_array(const struct graph *g, const struct graph_array *a, onnx_read *read, void *arg, float *piece,
    struct tensors_out *out)
{
	for (size_t at = 0; at < a->count; at += CHUNK) {
		size_t n = a->count - at < CHUNK ? a->count - at : CHUNK;

		if (a->role == GRAPH_GAMMA && g->node[a->node].fix_gamma)
			for (size_t i = 0; i < n; i++)
				piece[i] = 1;
		else
			ERR_TRY(read(arg, a, at, n, piece));
		ERR_TRY(tensors_write(out, piece, n * sizeof(*piece)));
	}
	return 0;
}

int
onnx_write(const struct graph *g, bool logits, onnx_read *read, void *arg, const char *path)
{
	struct buf nodes = { 0 };
	struct tensors t = { .kind = TENSORS_ONNX, .nodes = &nodes };
	struct tensors_out *out;
	float *piece = malloc(CHUNK * sizeof(*piece));
	int e = piece == NULL ? err_nomem() : onnx_nodes(g, logits, &nodes);

	for (uint32_t i = 0; e == 0 && i < g->nw; i++)
		e = add_onnx_tensor(&t, &g->w[i]);
	for (uint32_t i = 0; e == 0 && i < g->naux; i++)
		e = add_onnx_tensor(&t, &g->aux[i]);
	if (e == 0 && (e = tensors_create(path, &t, &out)) == 0) {
		for (uint32_t i = 0; e == 0 && i < g->nw; i++)
			e = write_onnx_array(g, &g->w[i], read, arg, piece, out);
		for (uint32_t i = 0; e == 0 && i < g->naux; i++)
			e = write_onnx_array(g, &g->aux[i], read, arg, piece, out);
		if (e == 0)
			e = tensors_commit(out);
		else
			tensors_abandon(out);
	}
	tensors_close(&t);
	buf_free(&nodes);
	free(piece);
	return e;
}
