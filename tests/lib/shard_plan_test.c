/* shard_plan_test - the parts of servers cover the weights once, in turn, whatever their number. */
#include "tap.h"

#include "base/err.h"
#include "ps/shard_plan.h"

#include <stdlib.h>

/* A fully connected net with P = 6 * k + k + 2 * k + 7 * k + 7... of about any size, with batch norm. */
static struct graph *
net(uint32_t k)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = k }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_BN, .name = "x", .in = &at, .nin = 1, .eps = 1e-3f,
	    .momentum = 0.9f }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "b", .in = &at, .nin = 1, .k = 7 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_BN, .name = "y", .in = &at, .nin = 1, .eps = 1e-3f,
	    .momentum = 0.5f }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

/* The servers own parts in turn, of one size, and have as many floats each. */
static bool
covers(const struct shard_plan *p, size_t P, size_t A, uint32_t S, uint32_t bytes)
{
	const size_t most = bytes / 4, parts = S > 1 ? (P + S * most - 1) / (S * most) : 1;
	size_t at = 0, *has = calloc(S, sizeof(*has));
	uint32_t owner = 0, i;
	bool good = true;

	for (i = 0; i < p->nweights; i++) {
		const struct shard_plan_slice *s = &p->slice[i];

		good &= s->kind == SHARD_PLAN_WEIGHTS && s->first == at && s->count <= most && s->owner < S &&
		    (s->owner == owner || s->owner == (owner + 1) % S);
		owner = s->owner;
		has[owner < S ? owner : 0] += s->count;
		at += s->count;
	}
	for (uint32_t k = 0; k < S; k++)
		good &= has[k] <= P / S + parts && has[k] + parts >= P / S;
	free(has);
	if (!good || at != P || owner != S - 1 || p->slice[0].owner != 0 || p->slice[0].count == 0)
		return false;
	for (at = 0; i < p->n; i++) {
		if (p->slice[i].kind != SHARD_PLAN_AUX || p->slice[i].owner != 0 || p->slice[i].first != at)
			return false;
		at += p->slice[i].count;
	}
	return at == A;
}

static bool
over_agrees(const struct shard_plan *p, const struct graph *g)
{
	for (uint32_t a = 0; a < g->nw; a++) {
		size_t first = g->w[a].first, end = first + g->w[a].count;
		uint32_t from, to;

		shard_plan_over(p, first, end - first, &from, &to);
		for (uint32_t i = 0; i < p->nweights; i++) {
			const struct shard_plan_slice *s = &p->slice[i];
			bool shares = s->count > 0 && s->first < end && s->first + s->count > first;

			if (shares && !(i >= from && i < to))
				return false;
			if (s->count > 0 && !shares && i >= from && i < to)
				return false;
		}
	}
	return true;
}

/* With OPT_WHOLE: each matrix but the last is a slice, and no array is cut by servers. */
static bool
whole(const struct shard_plan *p, const struct graph *g, uint32_t S, uint32_t bytes)
{
	size_t at = 0;
	uint32_t owner = 0, last = 0;

	for (uint32_t a = 0; a < g->nw; a++)
		last = g->w[a].ndim > 1 ? a : last;
	for (uint32_t i = 0; i < p->nweights; i++) {
		const struct shard_plan_slice *s = &p->slice[i];

		if (s->first != at || s->owner < owner || s->owner > owner + 1 || (s->rows == 0 && s->count * 4 > bytes))
			return false;
		owner = s->owner;
		at += s->count;
	}
	if (at != g->P || owner != S - 1 || p->slice[0].owner != 0 || p->slice[0].count == 0)
		return false;
	for (uint32_t a = 0; a < g->nw; a++) {
		uint32_t from, to;

		shard_plan_over(p, g->w[a].first, g->w[a].count, &from, &to);
		for (uint32_t i = from; i < to; i++)
			if (p->slice[i].owner != p->slice[from].owner ||
			    p->slice[i].rows != (g->w[a].ndim > 1 && a != last ? g->w[a].dim[0] : 0))
				return false;
		if (g->w[a].ndim > 1 && a != last && (to != from + 1 || p->slice[from].count != g->w[a].count))
			return false;
	}
	return true;
}

static void
matrices(void)
{
	const struct opt_hyper muon = { .rule = OPT_MUON }, lars = { .rule = OPT_LARS };
	struct graph *g = graph_new(3, 64, 64);
	unsigned good = 0, all = 0;
	uint32_t at = 0;
	struct shard_plan *p;

	for (uint32_t k = 1; k < 40; k += 3)
		for (uint32_t S = 1; S < 90; S += 4)
			for (uint32_t bytes = 4; bytes <= 4096; bytes *= 4, all++) {
				struct graph *h = net(k);

				if (shard_plan_new(h, S, bytes, "", &muon, &p) == 0)
					good += whole(p, h, S, bytes) && over_agrees(p, h);
				shard_plan_free(p);
				graph_free(h);
			}
	is(good, all, "matrices are whole where the optimizer needs it, more servers than arrays included");
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "large", .in = &at, .nin = 1, .k = 342 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "head", .in = &at, .nin = 1, .k = 342 }, &at);
	is(shard_plan_new(g, 2, SHARD_PLAN_SLICE, "", &muon, &p), ERR_LIMIT, "a matrix too large for a message: %s", err_line());
	is(shard_plan_new(g, 2, SHARD_PLAN_SLICE, "", &lars, &p), 0, "no matter without");
	is(p->ngroup, g->nw, "lars tells arrays apart");
	shard_plan_free(p);
	graph_free(g);
	g = graph_new(3, 64, 64);
	at = 0;
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "large", .in = &at, .nin = 1, .k = 341 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "head", .in = &at, .nin = 1, .k = 2 }, &at);
	is(shard_plan_new(g, 2, SHARD_PLAN_SLICE, "codec:*=topk:0.4", &muon, &p), 0, "a matrix whose code fits a message");
	shard_plan_free(p);
	is(shard_plan_new(g, 2, SHARD_PLAN_SLICE, "codec:*=topk:0.6", &muon, &p), ERR_LIMIT, "a code that does not: %s", err_line());
	graph_free(g);
}

/* Slices have the codec of their arrays, those of frozen arrays and of statistics none. */
static void
codecs(void)
{
	static const struct { const char *rules; enum codec_kind weight, gamma; } all[] = {
		{ "", CODEC_F32, CODEC_F32 }, { "codec:*=bf16", CODEC_BF16, CODEC_BF16 },
		{ "codec:*=bf16;codec:*_gamma=fp16", CODEC_BF16, CODEC_FP16 },
		{ "codec:*_gamma=fp16;codec:*=bf16;lr:*=2;codec:*_weight=f32", CODEC_F32, CODEC_BF16 },
		{ "codec:*=topk:0.25;codec:*_gamma=2bit", CODEC_TOPK, CODEC_2BIT },
	};
	struct graph *g = net(5);
	struct shard_plan *p;
	unsigned bad = 0, frozen = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		is(shard_plan_new(g, 2, 64, all[i].rules, NULL, &p), 0, "a plan with codecs '%s' is made", all[i].rules);
		ok(covers(p, g->P, g->A, 2, 64) && over_agrees(p, g), "the slices of a plan cover w and aux once");
		for (uint32_t a = 0; a < g->nw; a++) {
			bool gamma = strstr(g->w[a].name, "_gamma") != NULL, weight = strstr(g->w[a].name, "_weight") != NULL;
			uint32_t from, to;

			shard_plan_over(p, g->w[a].first, g->w[a].count, &from, &to);
			for (; from < to && (gamma || weight); from++)
				bad += p->slice[from].codec.kind != (gamma ? all[i].gamma : all[i].weight);
		}
		for (uint32_t k = p->nweights; k < p->n; k++)
			bad += p->slice[k].codec.kind != CODEC_F32;
		is(shard_plan_coded(all[i].rules), i > 0, "workers need residuals for '%s' or not", all[i].rules);
		shard_plan_free(p);
	}
	is(bad, 0, "each slice has the codec of its arrays");
	g->w[0].frozen = true;
	is(shard_plan_new(g, 2, 64, "codec:*=bf16", NULL, &p), 0, "a plan with a frozen array");
	for (uint32_t k = 0; k < p->nweights; k++)
		frozen += p->slice[k].frozen && p->slice[k].codec.kind != CODEC_F32;
	is(frozen, 0, "frozen slices are f32");
	is(shard_plan_bytes(&p->slice[0]), p->slice[0].count * 4, "a frozen slice has 4 bytes for each float");
	is(shard_plan_bytes(&p->slice[p->lead]), p->slice[p->lead].count * 2, "the other slices have half as many bytes");
	shard_plan_free(p);
	is(shard_plan_new(g, 2, 64, "codec:*=topk:0.25", NULL, &p), 0, "a plan of topk");
	is(shard_plan_bytes(&p->slice[p->lead]), (p->slice[p->lead].count + 2) / 4 * 8, "a quarter of its numbers is sent");
	ok(shard_plan_answer(&p->slice[p->lead], true).kind == CODEC_TOPK &&
	    shard_plan_answer(&p->slice[p->lead], false).kind == CODEC_BF16,
	    "weights are sent as updates in synchronous jobs, and as bf16 in others");
	ok(shard_plan_carried(p, &(struct msg){ .type = MSG_PUSH, .slice = p->lead }, true) == CODEC_TOPK &&
	    shard_plan_carried(p, &(struct msg){ .type = MSG_WEIGHTS, .slice = p->lead }, false) == CODEC_BF16,
	    "a gradient carries topk, and weights of a job that is not synchronous bf16");
	ok(shard_plan_carried(p, &(struct msg){ .type = MSG_WEIGHTS, .flags = MSG_EXACT, .slice = p->lead }, true) ==
	    CODEC_F32 && shard_plan_carried(p, &(struct msg){ .type = MSG_PUSH, .slice = p->n }, true) == CODEC_F32,
	    "exact weights are f32, and so are messages about no slice");
	shard_plan_free(p);
	for (uint32_t servers = 1; servers <= 4; servers++) {
		unsigned cut = 0, matrices = 0;
		size_t end = 0;

		is(shard_plan_new(g, servers, 16, "codec:*=powersgd:1", NULL, &p), 0, "a plan of powersgd, %u servers", servers);
		for (uint32_t k = 0; k < p->nweights; k++) {
			const struct shard_plan_slice *s = &p->slice[k];

			cut += s->first != end || (s->codec.cols > 1 && s->count % s->codec.cols != 0);
			matrices += s->codec.cols > 1;
			end += s->count;
		}
		ok(cut == 0 && end == p->P && matrices >= 1 && matrices <= servers + 1,
		    "slices have whole rows of matrices, as many as there are");
		shard_plan_free(p);
	}
	ok(!shard_plan_coded(NULL) && !shard_plan_coded("lr:codec:*=2"), "the word alone is no codec");
	is(shard_plan_new(g, 1, 64, "codec:none=bf16", NULL, &p), ERR_ARG, "%s", err_line());
	is(shard_plan_new(g, 1, 64, "codec:*=f8", NULL, &p), ERR_ARG, "%s", err_line());
	is(shard_plan_new(g, 1, 64, "codec:*=topk:0", NULL, &p), ERR_ARG, "%s", err_line());
	is(shard_plan_new(g, 1, 64, "codec:*=bf16:1", NULL, &p), ERR_ARG, "%s", err_line());
	is(shard_plan_new(g, 1, 64, "codec:*", NULL, &p), ERR_ARG, "%s", err_line());
	graph_free(g);
}

int
main(void)
{
	uint32_t paced = 0;
	unsigned good = 0, agree = 0, all = 0;
	struct graph *g;
	struct shard_plan *p;

	for (uint32_t k = 1; k < 40; k += 3)
		for (uint32_t S = 1; S < 90; S += 4)
			for (uint32_t bytes = 4; bytes <= 4096; bytes *= 4, all++) {
				g = net(k);
				if (shard_plan_new(g, S, bytes, "", NULL, &p) == 0) {
					good += covers(p, g->P, g->A, S, bytes);
					agree += over_agrees(p, g);
				}
				shard_plan_free(p);
				graph_free(g);
			}
	is(good, all, "slices cover w and aux once, of servers in turn, more servers than weights included");
	is(agree, all, "shard_plan_over gives the slices that share floats with an array");

	g = net(5);
	is(shard_plan_new(g, 2, SHARD_PLAN_SLICE, "", NULL, &p), 0, "a plan");
	is(p->n, 3, "two slices of weights, one of statistics");
	is(p->nfold, g->naux, "a fold for each statistic");
	near(p->fold[0].momentum, 0.9, 1e-6, "a fold has the momentum of its node");
	near(p->fold[p->nfold - 1].momentum, 0.5, 1e-6, "the last fold has the momentum of its node");
	is(p->ngroup, 1, "all weights are in one parameter group");
	shard_plan_free(p);
	is(shard_plan_new(g, 2, SHARD_PLAN_SLICE, "wd:*_gamma=0;lr:*=0.5;lr:*_gamma=4", NULL, &p), 0, "multipliers: %s", err_line());
	for (uint32_t i = 0; i < p->ngroup; i++)
		for (uint32_t a = 0; a < g->nw; a++)
			if (g->w[a].first >= p->group[i].first && g->w[a].first < p->group[i].first + p->group[i].count) {
				bool gamma = strstr(g->w[a].name, "_gamma") != NULL;

				paced += p->group[i].lr == (gamma ? 2.0f : 0.5f) && p->group[i].wd == (gamma ? 0.0f : 1.0f);
			}
	is(paced, g->nw, "each array has its own");
	shard_plan_free(p);
	is(shard_plan_new(g, 1, SHARD_PLAN_SLICE, "lr:none=2", NULL, &p), ERR_ARG, "%s", err_line());
	is(shard_plan_new(g, 1, SHARD_PLAN_SLICE, "lr:*", NULL, &p), ERR_ARG, "%s", err_line());
	is(shard_plan_new(g, 1, SHARD_PLAN_SLICE, "wd:*=-1", NULL, &p), ERR_ARG, "%s", err_line());
	is(shard_plan_new(g, 1, SHARD_PLAN_SLICE, "xx:*=1", NULL, &p), ERR_ARG, "%s", err_line());
	is(shard_plan_usual_slice(1 << 18, 0), SHARD_PLAN_SLICE, "usual slices without servers");
	is(shard_plan_usual_slice(1 << 18, 2), 1 << 16, "a small net has eight slices on each server");
	is(shard_plan_usual_slice(1 << 18, 64), 32 << 10, "slices are not tiny");
	is(shard_plan_usual_slice(1 << 28, 2), SHARD_PLAN_SLICE, "slices of a large net are not larger");
	is(shard_plan_new(g, 0, SHARD_PLAN_SLICE, "", NULL, &p), ERR_LIMIT, "a plan without servers is refused");
	is(shard_plan_new(g, SHARD_PLAN_SERVERS + 1, SHARD_PLAN_SLICE, "", NULL, &p), ERR_LIMIT, "a plan with too many servers is refused");
	is(shard_plan_new(g, 1, 3, "", NULL, &p), ERR_LIMIT, "slices of less than a float");
	is(shard_plan_new(g, 1, SHARD_PLAN_MOST + 1, "", NULL, &p), ERR_LIMIT, "slices that fit no message");
	ok(p == NULL, "nothing is given then");
	shard_plan_free(NULL);
	graph_free(g);
	matrices();
	codecs();
	return done();
}
