/* tta - test-time augmentation: the mean prediction over an image, its mirror image and shifted copies. */
#include "train/tta.h"
#include "base/err.h"
#include "engine/score.h"
#include "image/img.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct tta {
	struct tta_opt	 o;
	const struct engine	*engine;
	struct engine_plan	*plan;
	uint32_t		 classes, targets;
	enum graph_loss		 loss;
	uint8_t			*mirror;	/* [batch] */
	uint8_t			*pixel;		/* u8 [batch,h,w,c], shifted */
	float			*sum, *p;	/* [batch,classes] */
};

int
tta_open(const struct tta_opt *o, const struct engine *engine, struct engine_plan *plan, const struct graph *graph,
    uint32_t batch, struct tta **to)
{
	const struct graph_node *x = &graph->node[0];
	size_t n = batch;
	struct tta *v;

	*to = NULL;
	if (o->shift >= x->h || o->shift >= x->w)
		return err_fail(ERR_ARG, "a shift by %u: images are only %ux%u", o->shift, x->h, x->w);
	if ((v = calloc(1, sizeof(*v))) == NULL)
		return err_nomem();
	*v = (struct tta){ .o = *o, .engine = engine, .plan = plan, .classes = graph->classes,
	    .targets = graph_targets(graph), .loss = graph->node[graph->n - 1].loss };
	v->mirror = calloc(n, 1);
	v->pixel = calloc(o->shift > 0 ? n * x->h * x->w * x->c : 1, 1);
	v->sum = calloc(n * v->classes, sizeof(*v->sum));
	v->p = calloc(n * v->classes, sizeof(*v->p));
	if (v->mirror == NULL || v->pixel == NULL || v->sum == NULL || v->p == NULL) {
		tta_close(v);
		return err_nomem();
	}
	*to = v;
	return 0;
}

void
tta_close(struct tta *v)
{
	if (v == NULL)
		return;
	free(v->mirror);
	free(v->pixel);
	free(v->sum);
	free(v->p);
	free(v);
}

/* Moves all samples: their upper left pixel becomes the one at (dy, dx). */
static void
shift_samples(struct tta *v, struct samples *s, int64_t dy, int64_t dx)
{
	size_t size = (size_t)s->h * s->w * s->c;
	uint8_t *to = v->pixel;

	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t y = 0; y < s->h; y++) {
			const uint8_t *row = s->pixel + i * size + (size_t)img_reflect(y + dy, s->h) * s->w * s->c;

			for (uint32_t x = 0; x < s->w; x++, to += s->c)
				memcpy(to, row + (size_t)img_reflect(x + dx, s->w) * s->c, s->c);
		}
	s->pixel = v->pixel;
}

static void
mirror_samples(struct tta *v, struct samples *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		v->mirror[i] = s->mirror == NULL || !s->mirror[i];
	s->mirror = v->mirror;
}

/* Adds the net's probabilities to the sum; *n counts them. */
static int
add_prediction(struct tta *v, const struct samples *s, unsigned *n)
{
	size_t all = (size_t)s->n * v->classes;
	struct engine_result unused;
	int e = v->engine->evaluate(v->plan, s, &unused, *n == 0 ? v->sum : v->p);

	for (size_t i = 0; e == 0 && *n > 0 && i < all; i++)
		v->sum[i] += v->p[i];
	++*n;
	return e;
}

static void
score_averages(const struct tta *v, const struct samples *s, struct engine_result *r)
{
	*r = (struct engine_result){ 0 };
	for (uint32_t i = 0; i < s->n; i++) {
		const float *p = v->sum + (size_t)i * v->classes;
		size_t y = (size_t)s->y[i], before;
		bool right;

		if (v->targets > 0) {
			r->loss += score_targets(v->loss, p, s->target + (size_t)i * v->targets, v->targets, &right);
			r->correct += right;
			continue;
		}
		before = score_rank(p, v->classes, y);
		r->loss += score_loss(p[y]);
		r->correct += before == 0;
		r->top5 += before < ENGINE_TOP;
	}
}

int
tta_evaluate(struct tta *v, const struct samples *s, struct engine_result *r, float *prob)
{
	static const int way[][2] = { { 0, 0 }, { -1, -1 }, { -1, 1 }, { 1, -1 }, { 1, 1 } };
	const int64_t d = v->o.shift;
	size_t all = (size_t)s->n * v->classes;
	unsigned n = 0;
	int e = 0;

	if (!v->o.flip && d == 0)
		return v->engine->evaluate(v->plan, s, r, prob);
	assert(s->pixel != NULL && s->mix == NULL);
	if ((e = samples_check(s, v->classes, v->targets)) < 0)
		return e;
	for (int k = 0; e == 0 && k < (d > 0 ? 5 : 1); k++) {
		struct samples x = *s;

		if (k > 0)
			shift_samples(v, &x, way[k][0] * d, way[k][1] * d);
		e = add_prediction(v, &x, &n);
		if (e == 0 && v->o.flip) {
			mirror_samples(v, &x);
			e = add_prediction(v, &x, &n);
		}
	}
	for (size_t i = 0; e == 0 && i < all; i++)
		v->sum[i] /= (float)n;
	if (e == 0)
		score_averages(v, s, r);
	if (e == 0 && prob != NULL)
		memcpy(prob, v->sum, all * sizeof(*prob));
	return e;
}
