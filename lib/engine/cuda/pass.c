/*
 * pass - a batch up, a pass forward over it, its loss down; and weights on their way up.
 *
 * Pictures go up on a stream of their own, beside what the GPU still computes for
 * the batch before.  Who learns on the GPU waits for no pass backward, so that the next forward() comes in time for
 * that; who waits for gradients has told the next batch before, and it sets out behind the pass backward's kernels, to
 * the other of two places, since in f16 those may go over their own batch again.  Only the first step of a pass forward
 * reads a place, and each such pass is waited for: nobody writes where others read.  That step follows the mark `came`,
 * from outside the tape that it is in.  What a pass backward reads of its batch too, `small`, goes up
 * on the main stream, behind all of that.
 */
#include "engine/cuda/watch.h"

#include "base/err.h"

#include <string.h>

void *
pass_small(const struct engine_plan *p, size_t kept)
{
	return p->up + (kept - p->kept.small);
}

int
pass_up_small(struct engine_plan *p)
{
	return device_up(p->dev->d, DEVICE_MAIN, p->held + p->kept.small, p->up, p->kept.small_bytes);
}

static int
enqueue_tape(struct engine_plan *p, const struct plan_set *set, uint32_t tape)
{
	switch (tape) {
	case PLAN_WEIGHTS:
	case PLAN_FOLDED:
		return run_weights(p, tape == PLAN_FOLDED);
	case PLAN_TRAIN:
	case PLAN_TRAIN_PIXELS:
		return run_steps(p, set, 0, p->nforward, true, tape == PLAN_TRAIN_PIXELS);
	case PLAN_EVAL:
	case PLAN_EVAL_PIXELS:
		return run_steps(p, set, 0, p->nforward, false, tape == PLAN_EVAL_PIXELS);
	case PLAN_FIRST:
	case PLAN_MORE:
		return learn_gather(p, set->n, tape == PLAN_FIRST);
	case PLAN_UPDATE:
		return learn_steps(p);
	default:
		return run_steps(p, set, p->slice[tape - PLAN_BACK], p->slice[tape - PLAN_BACK + 1], true, false);
	}
}

/*
 * The first time steps are enqueued one by one, since libraries load their kernels then, which cannot be recorded; the
 * second time they are recorded; and one by one for ever where the device would not.
 */
int
pass_play(struct engine_plan *p, struct plan_set *set, uint32_t tape)
{
	struct device *d = p->dev->d;
	int e, stopped;

	if (set->tape[tape] == NULL && set->seen[tape] == 1) {
		set->seen[tape] = 2;
		if ((e = device_tape_start(d)) < 0)
			return e;
		e = enqueue_tape(p, set, tape);
		if ((stopped = device_tape_stop(d, &set->tape[tape])) < 0)
			return stopped;
		/* What a library refuses to have recorded it may still do. */
		if (e < 0) {
			device_tape_free(set->tape[tape]);
			set->tape[tape] = NULL;
		}
	}
	if (set->tape[tape] != NULL)
		return device_tape_play(d, set->tape[tape]);
	if (set->seen[tape] == 0)
		set->seen[tape] = 1;
	return enqueue_tape(p, set, tape);
}

/* Before `up` is written: nothing of it is on its way any more. */
static int
wait_for_uploads(struct engine_plan *p)
{
	int e = device_enter(p->dev->d);

	if (e == 0 && p->flying)
		e = device_wait(p->dev->d);
	p->flying = false;
	return e;
}

int
pass_load(struct engine_plan *p, uint32_t a, const float *w)
{
	const struct graph_array *to = &p->graph->w[a];
	int e = wait_for_uploads(p);

	assert(a < p->graph->nw);
	if (e < 0)
		return e;
	memcpy((float *)(p->up + p->up_w) + to->first, w, to->count * sizeof(*w));
	p->dirty[a] = p->any_dirty = true;
	return 0;
}

int
pass_load_aux(struct engine_plan *p, const float *aux)
{
	int e = wait_for_uploads(p);

	/* `down` is free between passes. */
	if (e < 0 || p->graph->A == 0)
		return e;
	if (p->weights == PLAN_FOLD)
		p->weights = PLAN_STALE;
	memcpy(p->down + p->down_stats, aux, p->graph->A * sizeof(*aux));
	p->flying = true;
	return device_up(p->dev->d, DEVICE_MAIN, p->held + p->kept.aux, p->down + p->down_stats,
	    p->graph->A * sizeof(*aux));
}

/* Arrays that were loaded, neighbours in one copy. */
static int
send_arrays(struct engine_plan *p)
{
	const struct graph *g = p->graph;
	int e = 0;

	p->flying = true;
	for (uint32_t a = 0, b; a < g->nw && e == 0; a = b) {
		size_t first = g->w[a].first * sizeof(float), end = first;

		for (b = a; b < g->nw && p->dirty[b]; b++)
			end = (g->w[b].first + g->w[b].count) * sizeof(float);
		if (b > a)
			e = device_up(p->dev->d, DEVICE_MAIN, p->held + p->kept.w + first, p->up + p->up_w + first,
			    end - first);
		else
			b++;
	}
	if (e < 0)
		return e;
	memset(p->dirty, 0, g->nw * sizeof(*p->dirty));
	p->any_dirty = false;
	p->weights = PLAN_STALE;
	return 0;
}

int
pass_weights(struct engine_plan *p, struct plan_set *set, enum plan_weights as)
{
	int e = p->any_dirty ? send_arrays(p) : 0;

	if (e < 0 || p->weights == as)
		return e;
	p->weights = PLAN_STALE;
	if ((e = watch_from(p, WATCH_WEIGHTS)) < 0 || (e = pass_play(p, set,
	    as == PLAN_FOLD ? PLAN_FOLDED : PLAN_WEIGHTS)) < 0)
		return e;
	p->weights = as;
	return watch_to(p, WATCH_WEIGHTS);
}

static int
ask_params(const struct engine_plan *p, const struct engine_hook *hook)
{
	int e = 0;

	for (uint32_t a = 0; hook != NULL && hook->param_needed != NULL && a < p->graph->nw && e == 0; a++)
		e = hook->param_needed(hook->arg, a);
	return e;
}

static void
fill_labels(struct engine_plan *p, const struct samples *s, bool train)
{
	struct kernel_label *l = pass_small(p, p->kept.label);
	uint32_t *key = pass_small(p, p->kept.key);

	for (uint32_t i = 0; i < s->n; i++)
		l[i] = train && s->mix != NULL ? (struct kernel_label){ s->y[i], s->mix[i].other, s->mix[i].share } :
		    (struct kernel_label){ s->y[i], 0, 0 };
	for (uint32_t i = 0; train && p->ndrop > 0 && i < p->graph->n; i++)
		for (uint32_t k = 0; p->graph->node[i].op == GRAPH_DROPOUT && k < s->n; k++)
			key[(size_t)p->node[i].state * p->batch + k] = p->dev->host->drop_key(&p->draw, k, i);
}

/* Bytes from up_batch and kept.batch. */
static size_t
place_of(const struct engine_plan *p, uint32_t slot)
{
	const struct graph_node *in = &p->graph->node[0];

	return slot * memplan_round((size_t)p->batch * in->c * in->h * in->w * sizeof(float) / 2);
}

/* Before a place of `up` is written: nothing of it is on its way any more. */
static int
wait_for_slot(struct engine_plan *p, uint32_t slot)
{
	int e = p->coming[slot] ? device_mark_wait(p->dev->d, p->came[slot]) : 0;

	p->coming[slot] = false;
	return e;
}

/* Pictures of so many bytes set out to a place. */
static int
upload_images(struct engine_plan *p, uint32_t slot, const void *from, size_t bytes, uint32_t span)
{
	char *up = p->up + p->up_batch + place_of(p, slot);
	int e = wait_for_slot(p, slot);

	if (e < 0)
		return e;
	memcpy(up, from, bytes);
	p->coming[slot] = true;
	if ((e = watch_from(p, span)) < 0 ||
	    (e = device_up(p->dev->d, DEVICE_UP, p->held + p->kept.batch + place_of(p, slot), up, bytes)) < 0)
		return e;
	return watch_to(p, span);
}

void
pass_prefetch(struct engine_plan *p, const struct samples *s)
{
	p->next = s != NULL && s->n > 0 && s->n <= p->batch ? *s : (struct samples){ 0 };
	p->boarded = false;
}

int
pass_board(struct engine_plan *p)
{
	const struct samples *s = &p->next;
	int e;

	if (s->pixel == NULL || !p->pixels || p->boarded)
		return 0;
	if ((e = upload_images(p, !p->slot, s->pixel, (size_t)s->n * s->c * s->h * s->w, WATCH_AHEAD)) < 0)
		return e;
	p->boarded = true;
	return device_mark_put(p->dev->d, p->came[!p->slot], DEVICE_UP);
}

/* The place of a batch; true: it is there already, or on its way. */
static bool
went_ahead(struct engine_plan *p, const struct samples *s)
{
	bool there = p->boarded && s->pixel != NULL && s->pixel == p->next.pixel && s->n == p->next.n;

	if (there)
		p->slot = !p->slot;
	else if (s->x != NULL)
		p->slot = 0;
	if (there || s->x != NULL)
		pass_prefetch(p, NULL);
	return there;
}

/* Where the GPU finds the pixels of each: in the batch that goes up, or among the pictures that it holds. */
static void
place_images(struct engine_plan *p, const struct samples *s)
{
	const uint8_t *batch = (const uint8_t *)p->held + p->kept.batch + place_of(p, p->slot);
	struct kernel_place *to = pass_small(p, p->kept.place);
	size_t size = (size_t)s->c * s->h * s->w;

	assert(s->held == NULL || p->dev->pictures != NULL);
	for (uint32_t i = 0; i < s->n; i++) {
		to[i] = s->held != NULL ? (struct kernel_place){ p->dev->pictures + s->held[i].at, s->held[i].h,
		    s->held[i].w,
		    s->held[i].y, s->held[i].x, 0 } : (struct kernel_place){ batch + i * size, s->h, s->w, 0, 0, 0 };
		to[i].mirror = s->mirror != NULL && s->mirror[i] != 0;
	}
}

/* The pictures and what makes numbers of them. */
static int
send_images(struct engine_plan *p, const struct samples *s)
{
	size_t numbers = (size_t)s->c * s->h * s->w, bytes = s->n * numbers * (s->x != NULL ? sizeof(float) : 1);
	struct kernel_norm *norm = pass_small(p, p->kept.norm);
	struct device *d = p->dev->d;
	bool there = went_ahead(p, s), mean = s->x == NULL && s->norm.mean != NULL;
	int e = 0;

	*norm = (struct kernel_norm){ .by_mean = s->norm.mean != NULL, .fill = s->fill };
	memcpy(norm->flat, s->norm.flat, sizeof(norm->flat));
	memcpy(norm->by, s->norm.by, sizeof(norm->by));
	if (s->x == NULL)
		place_images(p, s);
	if ((mean || s->x != NULL) && ((e = wait_for_slot(p, 0)) < 0 || (e = wait_for_slot(p, 1)) < 0))
		return e;
	if (mean) {
		memcpy(p->up + p->up_mean, s->norm.mean, numbers * sizeof(float));
		p->coming[p->slot] = true;
		e = device_up(d, DEVICE_UP, p->held + p->kept.mean, p->up + p->up_mean, numbers * sizeof(float));
	}
	if (e == 0 && s->held == NULL && !there)
		e = upload_images(p, p->slot, s->x != NULL ? (const void *)s->x : s->pixel, bytes, WATCH_BATCH);
	return e < 0 || (there && !mean) ? e : device_mark_put(d, p->came[p->slot], DEVICE_UP);
}

/* The batch sets out, and what goes with it is ready to. */
static int
load_batch(struct engine_plan *p, const struct samples *s, bool train)
{
	const struct graph_node *in = &p->graph->node[0];
	int e;

	assert(s->n > 0 && s->n <= p->batch && s->c == in->c && s->h == in->h && s->w == in->w);
	p->n = 0;
	if ((e = p->dev->host->check(s, p->graph->classes)) < 0 || (e = wait_for_uploads(p)) < 0)
		return e;
	p->pixels = s->x == NULL;
	fill_labels(p, s, train);
	return send_images(p, s);
}

/* What comes on the main stream from now on finds the batch there. */
static int
have_batch(struct engine_plan *p)
{
	int e = pass_up_small(p);

	p->flying = true;
	return e < 0 ? e : device_mark_follow(p->dev->d, p->came[p->slot], DEVICE_MAIN);
}

/* Waits for the pass, and adds up what it says of each sample in their order. */
static int
read_result(struct engine_plan *p, uint32_t n, float *prob, struct engine_result *r)
{
	const float *loss = (const float *)(p->down + p->down_loss);
	const uint32_t *before = (const uint32_t *)(p->down + p->down_before);
	size_t bytes = prob != NULL ? (size_t)n * p->graph->classes * sizeof(*prob) : 0;
	struct device *d = p->dev->d;
	int e;

	if ((e = watch_from(p, WATCH_RESULT)) < 0 ||
	    (e = device_down(d, DEVICE_MAIN, p->down + p->down_loss, p->held + p->kept.loss, n * sizeof(*loss))) < 0 ||
	    (e = device_down(d, DEVICE_MAIN, p->down + p->down_before, p->held + p->kept.before,
	    n * sizeof(*before))) < 0 ||
	    (e = device_down(d, DEVICE_MAIN, p->down + p->down_prob, p->held + p->kept.prob, bytes)) < 0 ||
	    (e = learn_ask(p)) < 0 || (e = watch_to(p, WATCH_RESULT)) < 0 || (e = device_wait(d)) < 0 ||
	    (e = watch_tell(p)) < 0)
		return e;
	p->flying = p->coming[0] = p->coming[1] = false;
	if ((e = learn_judge(p)) < 0)
		return e;
	*r = (struct engine_result){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		r->loss += loss[i];
		r->correct += before[i] == 0;
		r->top5 += before[i] < ENGINE_TOP;
	}
	if (prob != NULL)
		memcpy(prob, p->down + p->down_prob, bytes);
	return 0;
}

int
pass_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
	const struct engine_hook *hook, struct engine_result *r)
{
	struct plan_set *set;
	int e;

	p->draw = draw != NULL ? *draw : (struct engine_draw){ 0 };
	p->n = 0;
	/* Weights may have to be waited for, while the pictures are on their way. */
	if ((e = set_get(p, s->n, &set)) < 0 || (e = load_batch(p, s, true)) < 0 || (e = ask_params(p, hook)) != 0 ||
	    (e = have_batch(p)) < 0 || (e = pass_weights(p, set, PLAN_PLAIN)) < 0 ||
	    (e = watch_from(p, WATCH_FORWARD)) < 0 || (e = pass_play(p, set,
	    p->pixels ? PLAN_TRAIN_PIXELS : PLAN_TRAIN)) < 0 ||
	    (e = watch_to(p, WATCH_FORWARD)) < 0 || (e = read_result(p, s->n, NULL, r)) < 0)
		return e;
	p->n = s->n;
	return 0;
}

int
pass_statistics(struct engine_plan *p, float *stats)
{
	size_t bytes = p->graph->A * sizeof(*stats);
	int e;

	assert(p->n > 0);
	if (bytes == 0)
		return 0;
	if ((e = device_down(p->dev->d, DEVICE_MAIN, p->down + p->down_stats, p->held + p->kept.stats, bytes)) < 0 ||
	    (e = device_wait(p->dev->d)) < 0)
		return e;
	memcpy(stats, p->down + p->down_stats, bytes);
	return 0;
}

int
pass_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *r, float *prob)
{
	struct plan_set *set;
	int e;

	if ((e = set_get(p, s->n, &set)) < 0 || (e = set_evaluates(p, set)) < 0 || (e = load_batch(p, s, false)) < 0 ||
	    (e = have_batch(p)) < 0 || (e = pass_weights(p, set, PLAN_FOLD)) < 0 ||
	    (e = watch_from(p, WATCH_EVALUATE)) < 0 || (e = pass_play(p, set,
	    p->pixels ? PLAN_EVAL_PIXELS : PLAN_EVAL)) < 0 ||
	    (e = watch_to(p, WATCH_EVALUATE)) < 0)
		return e;
	return read_result(p, s->n, prob, r);
}
