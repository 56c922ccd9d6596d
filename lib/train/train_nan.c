/* train_nan - finds NaN and infinity in losses, gradients and weights, and the layer where they began. */
#include "train/train_in.h"
#include "base/err.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Names an array of weights that is not finite since the previous step, or else the largest weight. */
static void
describe_weights(const struct train *t, char text[160])
{
	const struct graph *g = t->graph;
	const char *name = "";
	float most = -1;

	if (worker_read(t->wk) < 0) {
		snprintf(text, 160, "the weights cannot be read");
		return;
	}
	for (uint32_t a = 0; a < g->nw; a++) {
		const float *w = t->w + g->w[a].first;

		if (!num_finite(w, g->w[a].count)) {
			snprintf(text, 160, "weights of %.80s are NaN or infinite, too", g->w[a].name);
			return;
		}
		for (size_t i = 0; i < g->w[a].count; i++)
			if (fabsf(w[i]) > most) {
				most = fabsf(w[i]);
				name = g->w[a].name;
			}
	}
	snprintf(text, 160, "all weights are finite, the largest is %g, in %.80s", (double)most, name);
}

/* Checks n arrays in p, which has `each` floats for each element. */
static int
check_arrays(const struct train *t, const char *what, const struct graph_array *a, uint32_t n, const float *p,
    uint32_t each)
{
	const char *first = NULL;
	char others[32] = "";
	uint32_t more = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (num_finite(p + a[i].first * each, a[i].count * each))
			continue;
		if (first == NULL)
			first = a[i].name;
		else
			more++;
	}
	if (first == NULL)
		return 0;
	if (more > 0)
		snprintf(others, sizeof(others), " and %" PRIu32 " more", more);
	return err_fail(ERR_FORMAT, "step %" PRIu64 ": %s of %.80s%s are NaN or infinite", t->step, what, first,
	    others);
}

int
train_check_array(const struct train *t, uint32_t a)
{
	return check_arrays(t, "weights", &t->graph->w[a], 1, t->w, 1);
}

int
train_check_weights(const struct train *t, const float *w, const float *state, const float *average)
{
	const struct graph *g = t->graph;
	int e;

	ERR_TRY(check_arrays(t, "weights", g->w, g->nw, w, 1));
	ERR_TRY(check_arrays(t, "running statistics", g->aux, g->naux, t->aux, 1));
	if (state != NULL)
		ERR_TRY(check_arrays(t, "numbers of the optimizer", g->w, g->nw, state,
		    opt_states(t->o->ps.hyper.rule)));
	if (average != NULL && ((e = check_arrays(t, "averaged weights", g->w, g->nw, average, 1)) < 0 ||
	    (e = check_arrays(t, "averaged statistics", g->aux, g->naux, average + g->P, 1)) < 0))
		return e;
	return 0;
}

static int
note_output(void *arg, uint32_t node, bool finite)
{
	uint32_t *first = arg;

	if (!finite && node < *first)
		*first = node;
	return 0;
}

/* Repeats the forward pass of the batch and checks the output of each layer. */
static void
describe_first_layer(const struct train *t, const struct batch *b, const struct engine_draw *draw, char text[160])
{
	uint32_t first = UINT32_MAX;
	const struct engine_hook hook = { .arg = &first, .output_ready = note_output };
	struct engine_result r;

	text[0] = 0;
	if (!worker_device_opt(t->wk) && t->engine->forward(t->plan, &b->s, draw, &hook, &r) == 0 &&
	    first < t->graph->n)
		snprintf(text, 160, "the first layer with such an output is %.80s; ", t->graph->node[first].name);
}

/* Reports the batch, which is left out, and returns 1; or fails. */
static int
skip_or_fail(struct train *t, const struct batch *b, const char *what)
{
	char text[512];

	snprintf(text, sizeof(text), "step %" PRIu64 ": %s%s", t->step + 1, what,
	    t->o->skip_nan ? "; this batch is left out" : "");
	if (!t->o->skip_nan)
		return err_fail(ERR_FORMAT, "%s", text);
	t->left_out += b->s.n;
	train_tell(t, &(struct train_event){ .kind = TRAIN_BAD, .text = text });
	return 1;
}

int
train_check_loss(struct train *t, const struct batch *b, const struct engine_draw *draw, double loss)
{
	char first[160], where[160], text[400];

	if (isfinite(loss))
		return 0;
	describe_first_layer(t, b, draw, first);
	describe_weights(t, where);
	snprintf(text, sizeof(text), "the loss is %s; %s%s; a smaller learning rate may help", isnan(loss) ? "nan" :
	    "inf", first, where);
	return skip_or_fail(t, b, text);
}

bool
train_gradient_finite(struct train *t, uint32_t a, const float *g)
{
	const struct graph_array *r = &t->graph->w[a];

	if (!r->frozen && !num_finite(g + r->first, r->count)) {
		t->bad_array = a;
		return false;
	}
	return true;
}

int
train_bad_gradient(struct train *t, const struct batch *b, const struct engine_draw *draw)
{
	char first[160], text[400];

	describe_first_layer(t, b, draw, first);
	snprintf(text, sizeof(text), "the gradient of %.80s is NaN or infinite; %s",
	    t->graph->w[t->bad_array].name, *first != 0 ? first :
	    "the outputs of all layers and the gradients of those after it are finite");
	/* Removes the last "; " of `first`. */
	text[strlen(text) - (*first != 0 ? 2 : 0)] = 0;
	return skip_or_fail(t, b, text);
}
