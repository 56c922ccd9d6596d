/* hand - the result of a synchronous job, by plain sums over whole arrays. */
#include "law/hand.h"
#include "rounded.h"

#include "net/optim/muon.h"
#include "net/optim/norm.h"

#include <stdlib.h>
#include <string.h>

/* Restores frozen arrays from `was`. */
static void
thaw(const struct graph_array *a, uint32_t n, const float *was, float *now)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i].frozen)
			memcpy(now + a[i].first, was + a[i].first, a[i].count * sizeof(float));
}

/* One update of whole arrays; sum is that of n samples. */
static void
update(const struct world *x, const struct opt_hyper *of, float *w, float *state, const float *sum, uint32_t samples)
{
	const struct graph *g = x->graph;
	uint32_t states = opt_states(of->rule), last = 0;
	float *room = world_floats(muon_room(g->P, 1));
	struct norm all = { { 0 } };
	double n = samples;

	for (uint32_t a = 0; a < g->nw; a++)
		norm_add(&all, sum + g->w[a].first, g->w[a].frozen ? 0 : g->w[a].count);
	n /= opt_shrink(norm_root(&all) / n, of);
	for (uint32_t a = 0; a < g->nw; a++)
		last = g->w[a].ndim > 1 ? a : last;
	for (uint32_t a = 0; a < g->nw; a++) {
		const struct graph_array *r = &g->w[a];
		float *wa = w + r->first, *sa = state + r->first * states;
		struct opt_hyper h = *of;

		if (h.rule == OPT_LARS && r->ndim > 1) {
			struct norm d = { { 0 } }, v = { { 0 } };

			norm_add(&d, sum + r->first, r->count);
			norm_add(&v, wa, r->count);
			h.lr *= (float)opt_trust(norm_root(&v), norm_root(&d) / n, (double)h.wd, &h);
		}
		if (h.rule == OPT_MUON && r->ndim > 1 && a != last)
			muon_step(wa, sa, sum + r->first, r->dim[0], r->count / r->dim[0], n, &h, room);
		else
			opt_step(wa, sa, sum + r->first, r->count, n, &h);
	}
	free(room);
}

/* The codec of a slice in a step, which may be another one than at the start of the job. */
static struct codec
find_codec(const struct world *x, const struct shard_plan_slice *s, uint64_t step)
{
	return s->frozen ? s->codec : changes_codec(&x->changes.heard, step, s->codec);
}

/*
 * What workers see of the weights w before a step, after seeing `seen` before.  Of a codec that sends updates they see
 * the sum.  The weights are an answer to the gradients of the step before, and have their codec.
 */
static void
show_weights(const struct world *x, const struct shard_plan *p, const float *w, float *seen, uint64_t step)
{
	float *d = world_floats(p->P), *q = world_floats(p->P);
	const bool first = step == 0;

	for (uint32_t i = 0; i < p->nweights; i++) {
		const struct shard_plan_slice *s = &p->slice[i];
		const struct codec c = first ? s->codec : find_codec(x, s, step - 1);
		const bool adds = codec_updates(c) && !first;

		for (size_t k = 0; k < s->count; k++)
			d[k] = adds ? w[s->first + k] - seen[s->first + k] : w[s->first + k];
		if (codec_updates(c) && first)
			memcpy(q, d, s->count * sizeof(*q));
		else
			rounded_all(c, d, s->count, q);
		for (size_t k = 0; k < s->count; k++)
			seen[s->first + k] = adds ? seen[s->first + k] + q[k] : q[k];
	}
	free(d);
	free(q);
}

/* What arrives of a gradient, whose residual is left for the next one, also if that has another codec. */
static void
send_rounded(const struct world *x, const struct shard_plan *p, float *g, float *left, uint64_t step)
{
	float *q = world_floats(p->P);

	for (uint32_t i = 0; i < p->nweights; i++) {
		const struct shard_plan_slice *s = &p->slice[i];
		const struct codec c = find_codec(x, s, step);
		float *v = g + s->first, *l = left + s->first;

		for (size_t k = 0; k < s->count; k++)
			v[k] += l[k];
		rounded_all(c, v, s->count, q);
		for (size_t k = 0; k < s->count; k++) {
			l[k] = v[k] - q[k];
			v[k] = q[k];
		}
	}
	free(q);
}

/*
 * What rank r sends after steps of its own optimizer, which begin with `seen`; m [P, states] is its state after that many
 * updates.
 */
static void
run_local(const struct world *x, uint32_t r, uint64_t step, const float *seen, float *m, uint64_t *updates, float *to)
{
	const uint32_t states = opt_states(x->local_hyper.rule);
	const struct graph *g = x->graph;
	float *w = world_floats(g->P), *d = world_floats(g->P);
	struct opt_hyper h = x->local_hyper;

	memcpy(w, seen, g->P * sizeof(*w));
	h.lr = changes_rate(&x->changes.heard, step, world_rate(x, step));
	for (uint32_t k = 0; k < x->local; k++) {
		const uint32_t n = world_micro(x, r, step, k);

		if (n == 0)
			continue;
		h.t = ++*updates;
		world_gradient(x, r, step, w, d, g->P, WORLD_MICRO + k);
		for (uint32_t a = 0; a < g->nw; a++)
			if (!g->w[a].frozen)
				opt_step(w + g->w[a].first, m + g->w[a].first * states, d + g->w[a].first, g->w[a].count, n, &h);
	}
	for (size_t i = 0; i < g->P; i++)
		to[i] = (float)world_samples(x, r, step) * (seen[i] - w[i]);
	free(w);
	free(d);
}

static void
alloc_arrays(const struct world *x, struct hand *h)
{
	const struct graph *g = x->graph;

	*h = (struct hand){ world_floats(g->P), world_floats(g->A), world_floats(g->P * OPT_STATES),
	    world_floats(g->P + g->A), world_floats(g->P) };
}

void
hand_free(struct hand *h)
{
	free(h->w);
	free(h->aux);
	free(h->state);
	free(h->average);
	free(h->seen);
}

void
hand_run(const struct world *x, const struct shard_plan *p, uint64_t steps, struct hand *h)
{
	float *left = world_floats(x->graph->P * x->W), *w, *aux, *state, *average, *seen;
	uint32_t averaged = x->hyper.average.kind == AVERAGE_LOOKAHEAD, auxed = averaged;
	const struct graph *g = x->graph;
	float *own = world_floats(g->P * OPT_STATES * x->W);
	uint64_t *updates = calloc(x->W, sizeof(*updates));
	float *sum = world_floats(g->P), *one = world_floats(g->P), *stats = world_floats(g->A);
	float *batch = world_floats(g->A), *w0 = world_floats(g->P), *aux0 = world_floats(g->A);

	alloc_arrays(x, h);
	w = h->w;
	aux = h->aux;
	state = h->state;
	average = h->average;
	seen = h->seen;
	world_first(x, w, aux, state);
	world_first(x, w0, aux0, state);
	memcpy(average, w, g->P * sizeof(float));
	memcpy(average + g->P, aux, g->A * sizeof(float));
	for (uint64_t t = 0; t < steps; t++) {
		struct opt_hyper hyper = changes_hyper(&x->changes.heard, t, &x->hyper);
		uint32_t n = 0;

		show_weights(x, p, w, seen, t);
		for (uint32_t r = 0; r < x->W; r++) {
			uint32_t k = x->actor[r].steps > t ? world_samples(x, r, t) : 0;

			if (k == 0)
				continue;
			if (x->local > 0)
				run_local(x, r, t, seen, own + r * g->P * OPT_STATES, &updates[r], one);
			else
				world_gradient(x, r, t, seen, one, g->P, 1);
			world_gradient(x, r, t, seen, batch, g->A, 2);
			send_rounded(x, p, one, left + r * g->P, t);
			for (size_t i = 0; i < g->P; i++)
				sum[i] = n > 0 ? sum[i] + one[i] : one[i];
			for (size_t i = 0; i < g->A; i++)
				stats[i] = n > 0 ? stats[i] + batch[i] * (float)k : batch[i] * (float)k;
			n += k;
		}
		if (n > 0) {
			hyper.lr = x->local > 0 ? 1 : changes_rate(&x->changes.heard, t, world_rate(x, t));
			hyper.t = t + 1;
			update(x, &hyper, w, state, sum, n);
			opt_fold_to(aux, stats, g->A, n, 0.8f, aux);
			thaw(g->w, g->nw, w0, w);
			thaw(g->aux, g->naux, aux0, aux);
		}
		if (n > 0 || world_marked(t)) {
			averaged += average_step(&hyper.average, average, w, g->P, averaged, t + 1, world_marked(t), false);
			auxed += average_step(&hyper.average, average + g->P, aux, g->A, auxed, t + 1, world_marked(t), true);
			thaw(g->w, g->nw, w0, w);
		}
	}
	show_weights(x, p, w, seen, steps);
	free(sum);
	free(one);
	free(stats);
	free(batch);
	free(w0);
	free(aux0);
	free(left);
	free(own);
	free(updates);
	for (uint32_t a = 0; a < g->nw; a++)
		if (g->w[a].frozen)
			memset(state + g->w[a].first * opt_states(x->hyper.rule), 0,
			    g->w[a].count * opt_states(x->hyper.rule) * sizeof(float));
}
