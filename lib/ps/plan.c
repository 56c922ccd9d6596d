/* plan - who owns which floats of a model: slices, a function of (graph, servers, slice size). */
#include "ps/plan.h"
#include "base/err.h"
#include "base/num.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Floats that are not frozen. */
static size_t
live(const struct graph *g)
{
	size_t n = 0;

	for (uint32_t i = 0; i < g->nw; i++)
		n += g->w[i].frozen ? 0 : g->w[i].count;
	return n;
}

/* Where the range of server s begins: before it stand its lower neighbours' live floats; L <= 2^30 and s <= 2^12. */
static size_t
begin(const struct graph *g, size_t L, uint32_t s, uint32_t nservers)
{
	size_t before = (size_t)(((uint64_t)L * s + nservers - 1) / nservers), at = 0;

	if (s == 0 || s == nservers)
		return s == 0 ? 0 : g->P;
	for (uint32_t i = 0; i < g->nw && before > 0; i++) {
		size_t some = g->w[i].frozen || g->w[i].count < before ? g->w[i].count : before;

		at += some;
		before -= g->w[i].frozen ? 0 : some;
	}
	return at;
}

/* Appends a slice; with p->slice NULL it only counts. */
static void
put(struct plan *p, struct plan_slice slice)
{
	if (p->slice != NULL)
		p->slice[p->n] = slice;
	p->n++;
}

/* Cuts [first, end) of the arrays for one owner where what is frozen begins and ends, and by size.  Was any part live? */
static bool
cut(struct plan *p, const struct graph_array *a, uint32_t n, struct plan_slice of, size_t end, size_t most)
{
	bool any = false;

	for (uint32_t i = 0; i < n && of.first < end; i++) {
		size_t to = a[i].first + a[i].count;

		for (; i + 1 < n && a[i + 1].frozen == a[i].frozen; i++)
			to += a[i + 1].count;
		of.frozen = a[i].frozen;
		for (to = to < end ? to : end; of.first < to; of.first += of.count) {
			of.count = to - of.first < most ? to - of.first : most;
			put(p, of);
			any |= !of.frozen;
		}
	}
	return any;
}

static void
cut_all(struct plan *p, const struct graph *g, size_t most)
{
	size_t L = live(g);

	p->n = 0;
	for (uint32_t s = 0; s < p->nservers; s++) {
		size_t first = begin(g, L, s, p->nservers), end = begin(g, L, s + 1, p->nservers);

		if (!cut(p, g->w, g->nw, (struct plan_slice){ PLAN_WEIGHTS, s, first, 0, false }, end, most))
			put(p, (struct plan_slice){ PLAN_WEIGHTS, s, end, 0, false });
	}
	p->nweights = p->n;
	cut(p, g->aux, g->naux, (struct plan_slice){ PLAN_AUX, 0, 0, 0, false }, p->A, most);
	while (p->slice != NULL && p->slice[p->lead].frozen)
		p->lead++;
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

	if (strncmp(rule, "freeze", 6) == 0)
		return 0;	/* it has marked the graph */
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
	if (g->P / most + g->A / most + g->nw + g->naux > PLAN_SLICES - 2 * (size_t)nservers)
		return err_fail(ERR_LIMIT, "slices of %u bytes are too many", bytes);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_nomem();
	p->nservers = nservers;
	p->P = g->P;
	p->A = g->A;
	cut_all(p, g, most);
	if ((e = folds(p, g)) < 0 || (e = paces(p, g, mults)) < 0 || (p->slice = calloc(p->n, sizeof(*p->slice))) == NULL) {
		plan_free(p);
		return e < 0 ? e : err_nomem();
	}
	cut_all(p, g, most);
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
