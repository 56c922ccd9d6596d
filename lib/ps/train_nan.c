/* train_nan - numbers that are none: a step whose loss or gradient is infinite or no number, and where that began. */
#include "ps/train_in.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* By the exponent's bits, which a compiler compares many at once. */
static bool
finite_all(const float *p, size_t n)
{
	uint32_t bits, bad = 0;

	for (size_t i = 0; i < n; i++) {
		memcpy(&bits, p + i, sizeof(bits));
		bad |= (bits & 0x7f800000u) == 0x7f800000u;
	}
	return bad == 0;
}

/* Weights that are no numbers came with the step before; else the largest of them are where to look. */
static void
whence(const struct train *t, char text[128])
{
	const struct graph *g = t->graph;
	const char *name = "";
	float most = -1;

	for (uint32_t a = 0; a < g->nw; a++) {
		const float *w = t->w + g->w[a].first;

		if (!finite_all(w, g->w[a].count)) {
			snprintf(text, 128, "so are weights of %.80s", g->w[a].name);
			return;
		}
		for (size_t i = 0; i < g->w[a].count; i++)
			if (fabsf(w[i]) > most) {
				most = fabsf(w[i]);
				name = g->w[a].name;
			}
	}
	snprintf(text, 128, "all weights are numbers, the largest is %g, in %.80s", (double)most, name);
}

int
train_loss_is(struct train *t, double loss, uint32_t n)
{
	char where[128], text[256];
	int e;

	if (isfinite(loss))
		return 0;
	if ((e = worker_read(t->wk)) < 0)
		return e;
	whence(t, where);
	snprintf(text, sizeof(text), "step %" PRIu64 ": the loss is %s; %s%s", t->step + 1, isnan(loss) ? "nan" : "inf",
	    where, t->o->skip_nan ? "; this batch is left out" : "");
	if (!t->o->skip_nan)
		return err_fail(ERR_FORMAT, "%s", text);
	train_tell(t, &(struct train_event){ .kind = TRAIN_BAD, .samples = n, .text = text });
	return 1;
}

/* Of several devices or pieces the array is whole here.  What other arrays gave has left, so this cannot be left out. */
int
train_gradient_is(const struct train *t, uint32_t a, const float *g)
{
	const struct graph_array *r = &t->graph->w[a];

	if (finite_all(g + r->first, r->count))
		return 0;
	return err_fail(ERR_FORMAT, "step %" PRIu64 ": the gradient of %s is infinite or no number; "
	    "those of the layers behind it are numbers", t->step + 1, r->name);
}
