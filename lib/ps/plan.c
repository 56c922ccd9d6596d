/* plan - who owns which floats of a model: slices, a function of (graph, servers, slice size). */
#include "ps/plan.h"
#include "base/err.h"
#include "base/num.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Where the range of server s begins; P <= 2^30 and s <= 2^12, so nothing wraps. */
static size_t
begin(size_t P, uint32_t s, uint32_t nservers)
{
	return (size_t)(((uint64_t)P * s + nservers - 1) / nservers);
}

/* Cuts [first, end) for one owner; with p->slice NULL it only counts.  An empty range is one empty slice. */
static void
cut(struct plan *p, enum plan_kind kind, uint32_t owner, size_t first, size_t end, size_t most)
{
	do {
		size_t count = end - first < most ? end - first : most;

		if (p->slice != NULL)
			p->slice[p->n] = (struct plan_slice){ kind, owner, first, count };
		p->n++;
		first += count;
	} while (first < end);
}

static void
cut_all(struct plan *p, size_t most)
{
	p->n = 0;
	for (uint32_t s = 0; s < p->nservers; s++)
		cut(p, PLAN_WEIGHTS, s, begin(p->P, s, p->nservers), begin(p->P, s + 1, p->nservers), most);
	p->nweights = p->n;
	if (p->A > 0)
		cut(p, PLAN_AUX, 0, 0, p->A, most);
}

static int
folds(struct plan *p, const struct graph *g)
{
	if ((p->fold = calloc(g->naux > 0 ? g->naux : 1, sizeof(*p->fold))) == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < g->naux; i++) {
		const struct graph_array *a = &g->aux[i];

		p->fold[p->nfold++] = (struct plan_fold){ a->first, a->count, g->node[a->node].momentum };
	}
	return 0;
}

/* One rule, as lr:fc*=10, on the paces of the arrays, one each. */
static int
pace_by(struct plan *p, const struct graph *g, char *rule)
{
	char *pattern = strchr(rule, ':'), *value = strrchr(rule, '=');
	bool lr = strncmp(rule, "lr:", 3) == 0, any = false;
	double x;

	if (pattern == NULL || value == NULL || value < pattern || (!lr && strncmp(rule, "wd:", 3) != 0))
		return err_fail(ERR_ARG, "'%.64s' is not PATTERN=X", rule);
	*value++ = 0;
	if (num_f64(value, 0, 1e6, &x) < 0) {
		err_within("'%.64s'", pattern + 1);
		return ERR_ARG;
	}
	for (uint32_t i = 0; i < g->nw; i++)
		if (fnmatch(pattern + 1, g->w[i].name, 0) == 0) {
			*(lr ? &p->pace[i].lr : &p->pace[i].wd) *= (float)x;
			any = true;
		}
	return any ? 0 : err_fail(ERR_ARG, "'%.64s' is the name of no array of the net", pattern + 1);
}

/* Neighbours of the same pace become one range: without rules there is one. */
static void
join_paces(struct plan *p)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < p->npace; i++)
		if (p->pace[i].lr == p->pace[n].lr && p->pace[i].wd == p->pace[n].wd)
			p->pace[n].count += p->pace[i].count;
		else
			p->pace[++n] = p->pace[i];
	p->npace = p->npace > 0 ? n + 1 : 0;
}

static int
paces(struct plan *p, const struct graph *g, const char *mults)
{
	char *text = strdup(mults != NULL ? mults : ""), *rest = text, *rule;
	int e = 0;

	if (text == NULL || (p->pace = calloc(g->nw > 0 ? g->nw : 1, sizeof(*p->pace))) == NULL) {
		free(text);
		return err_nomem();
	}
	for (; p->npace < g->nw; p->npace++)
		p->pace[p->npace] = (struct plan_pace){ g->w[p->npace].first, g->w[p->npace].count, 1, 1 };
	while (e == 0 && mults != NULL && *mults != 0 && (rule = strsep(&rest, ";")) != NULL)
		e = pace_by(p, g, rule);
	free(text);
	join_paces(p);
	return e;
}

int
plan_new(const struct graph *g, uint32_t nservers, uint32_t bytes, const char *mults, struct plan **plan)
{
	struct plan *p;
	size_t most = bytes / sizeof(float);
	int e;

	*plan = NULL;
	if (nservers < 1 || nservers > PLAN_SERVERS)
		return err_fail(ERR_LIMIT, "%u servers are not in 1..%u", nservers, PLAN_SERVERS);
	if (bytes < PLAN_LEAST || bytes > PLAN_MOST)
		return err_fail(ERR_LIMIT, "slices of %u bytes are not in %u..%u", bytes, PLAN_LEAST, PLAN_MOST);
	if (g->P / most + g->A / most > PLAN_SLICES - 2 * (size_t)nservers)
		return err_fail(ERR_LIMIT, "slices of %u bytes are too many", bytes);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_nomem();
	p->nservers = nservers;
	p->P = g->P;
	p->A = g->A;
	cut_all(p, most);
	if ((e = folds(p, g)) < 0 || (e = paces(p, g, mults)) < 0 || (p->slice = calloc(p->n, sizeof(*p->slice))) == NULL) {
		plan_free(p);
		return e < 0 ? e : err_nomem();
	}
	cut_all(p, most);
	*plan = p;
	return 0;
}

void
plan_free(struct plan *p)
{
	if (p == NULL)
		return;
	free(p->slice);
	free(p->fold);
	free(p->pace);
	free(p);
}

void
plan_over(const struct plan *p, size_t first, size_t count, uint32_t *from, uint32_t *to)
{
	uint32_t lo = 0, hi = p->nweights;

	assert(count > 0 && first + count <= p->P);
	/* The first slice that ends behind `first`; ends never fall, empty slices included. */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (p->slice[mid].first + p->slice[mid].count <= first)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (*from = lo; hi < p->nweights && p->slice[hi].first < first + count; hi++)
		;
	*to = hi;
}
