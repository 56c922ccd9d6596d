/* export_onnx - writes merged weights and their net as an ONNX model. */
#include "pmerge/pmerge.h"

#include "base/err.h"
#include "net/onnx/onnx.h"
#include "net/weights.h"

#include <stdlib.h>

struct job {
	struct merge	*m;
	const struct graph *g;
	const struct tensor **w, **aux;		/* [nw], [naux] */
};

static int
find_graph(const struct tensors *t, const char *path, const struct onnx_net *net, struct graph **g)
{
	const char *text = tensors_meta(t, WEIGHTS_GRAPH);

	if (net->name != NULL)
		return script_run(net->name, net->c, net->h, net->w, net->classes, net->option, net->noption, g);
	if (text == NULL)
		return err_fail(ERR_FORMAT, "%s: has no graph of its net; use --net", path);
	return err_wrap(graph_parse(text, strlen(text), g), "its graph");
}

static int
find_arrays(const struct tensors *t, const struct graph_array *a, uint32_t n, const struct tensor **x)
{
	char misfit[WEIGHTS_MISFIT];

	for (uint32_t i = 0; i < n; i++) {
		if ((x[i] = tensors_find(t, a[i].name)) == NULL)
			return err_fail(ERR_FORMAT, "there is no tensor '%s', which the net has", a[i].name);
		if (!weights_fit(x[i], &a[i]))
			return err_fail(ERR_FORMAT, "tensor '%s' does not fit the net: %s", a[i].name,
			    weights_misfit(x[i], &a[i], misfit));
	}
	return 0;
}

static int
read_floats(void *arg, const struct graph_array *a, size_t first, size_t n, float *to)
{
	const struct job *j = arg;
	bool aux = a->role == GRAPH_MEAN || a->role == GRAPH_VAR;
	const struct tensor *x = aux ? j->aux[a - j->g->aux] : j->w[a - j->g->w];
	int e = 0;

	for (size_t at = 0; e == 0 && at < n; at += MERGE_PIECE) {
		size_t some = n - at < MERGE_PIECE ? n - at : MERGE_PIECE;
		const void *p;

		if ((e = merge_read(j->m, x, first + at, some, &p)) == 0)
			tensors_to_f32(x->type, p, some, to + at);
	}
	return e;
}

int
onnx_make(const struct merge_opt *o, const struct onnx_net *net, bool logits, const char *path)
{
	struct job j = { 0 };
	struct graph *g = NULL;
	int e;

	if ((e = merge_open(o, &j.m)) == 0 && (e = find_graph(merge_table(j.m), o->path[0], net, &g)) == 0) {
		j.g = g;
		j.w = calloc(g->nw + 1, sizeof(*j.w));
		j.aux = calloc(g->naux + 1, sizeof(*j.aux));
		if (j.w == NULL || j.aux == NULL)
			e = err_nomem();
		else if ((e = find_arrays(merge_table(j.m), g->w, g->nw, j.w)) == 0 &&
		    (e = find_arrays(merge_table(j.m), g->aux, g->naux, j.aux)) == 0 && (e = merge_tell(j.m)) == 0)
			e = onnx_write(g, logits, read_floats, &j, path);
	}
	free(j.w);
	free(j.aux);
	graph_free(g);
	merge_close(j.m);
	return e;
}
