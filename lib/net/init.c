/* init - a net's initial weights, a function of (graph, rule, seed). */
#include "net/init.h"
#include "base/err.h"
#include "base/num.h"
#include "base/rng.h"

#include <fnmatch.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#define STREAM	0x696e6974u	/* "init" in place of an epoch, so that no stream of the shuffle is used */

struct rule {
	const char *name;	/* ends with ':' if a number follows */
	bool	    normal;	/* else uniform */
	double	  (*scale)(double x, double fan_in);	/* returns sigma or the bound */
};

static double
scale_given(double x, double fan_in)
{
	(void)fan_in;
	return x;
}

static double
scale_xavier(double magnitude, double fan_in)
{
	return sqrt(magnitude / fan_in);
}

static double
scale_msra(double x, double fan_in)
{
	(void)x;
	return sqrt(2 / fan_in);
}

static const struct rule rules[] = {
	{ "uniform:", false, scale_given },
	{ "normal:", true, scale_given },
	{ "xavier:", false, scale_xavier },
	{ "msra", true, scale_msra },
};

static int
parse_rule(const char *text, const struct rule **rule, double *x)
{
	*x = 0;
	for (const struct rule *r = rules; r < rules + sizeof(rules) / sizeof(*rules); r++) {
		size_t n = strlen(r->name);

		if (strncmp(text, r->name, n) != 0 || (r->name[n - 1] != ':' && text[n] != 0))
			continue;
		*rule = r;
		if (r->name[n - 1] != ':' || num_f64(text + n, 0, 1e6, x) == 0)
			return 0;
		return err_fail(ERR_FORMAT, "%.64s: not a number in 0..1e6", text);
	}
	return err_fail(ERR_FORMAT, "'%.64s' is not uniform:A, normal:SIGMA, xavier:MAGNITUDE or msra", text);
}

/* Refuses a PATTERN=RULE that matches no array. */
static int
check_patterns(const struct graph *g, const char *text)
{
	char pattern[2 * GRAPH_NAME];

	for (const char *at = strchr(text, ','); at != NULL; at = strchr(at + 1, ',')) {
		uint32_t i = 0;

		snprintf(pattern, sizeof(pattern), "%.*s", (int)strcspn(at + 1, "="), at + 1);
		while (i < g->nw && fnmatch(pattern, g->w[i].name, 0) != 0)
			i++;
		if (i == g->nw)
			return err_fail(ERR_ARG, "--init: '%.64s' is the name of no array of the net", pattern);
	}
	return 0;
}

/*
 * The rule of the array of this name: that of the last PATTERN=RULE which matches, else the first.  Without a name all
 * rules are checked.
 */
static int
find_rule(const char *text, const char *name, const struct rule **rule, double *x)
{
	char part[2 * GRAPH_NAME], *pattern, *one;
	const struct rule *r;
	double v;

	for (const char *at = text, *end; at != NULL; at = *end != 0 ? end + 1 : NULL) {
		end = at + strcspn(at, ",");
		if ((size_t)(end - at) >= sizeof(part))
			return err_fail(ERR_FORMAT, "'%.64s...' is too long", at);
		snprintf(part, sizeof(part), "%.*s", (int)(end - at), at);
		one = strchr(part, '=');
		pattern = one != NULL ? part : NULL;
		if (one != NULL)
			*one++ = 0;
		if ((at == text) != (pattern == NULL))
			return err_fail(ERR_FORMAT, "'%.64s': only the first rule has no PATTERN=", at);
		ERR_TRY(parse_rule(pattern != NULL ? one : part, &r, &v));
		if (pattern == NULL || (name != NULL && fnmatch(pattern, name, 0) == 0)) {
			*rule = r;
			*x = v;
		}
	}
	return 0;
}

static void
draw_weights(const struct graph_array *a, const struct rule *rule, double x, struct rng rng, float *w)
{
	/* Weights are [K, fan_in]. */
	float scale = (float)rule->scale(x, (double)(a->count / a->dim[0]));

	for (size_t i = 0; i < a->count; i++)
		w[i] = rule->normal ? scale * rng_normal(&rng) : scale * (2 * rng_f32(&rng) - 1);
}

/* Sets w [K, C, R, S] to a Dirac delta; with groups, k counts within its group. */
static void
fill_identity(const struct graph_node *l, const struct graph_array *a, float *w)
{
	size_t taps = l->op == GRAPH_CONV ? (size_t)l->r * l->s : 1, each = a->count / a->dim[0],
	    channels = each / taps;
	size_t group = l->op == GRAPH_CONV ? l->k / l->groups : l->k;
	size_t middle = l->op == GRAPH_CONV ? (size_t)l->r / 2 * l->s + l->s / 2 : 0;

	for (size_t k = 0; k < a->dim[0]; k++) {
		if (k % group >= channels)
			continue;
		memset(w + k * each, 0, each * sizeof(*w));
		w[k * each + k % group * taps + middle] = 1;
	}
}

static void
fill_array(float *p, size_t n, float v)
{
	for (size_t i = 0; i < n; i++)
		p[i] = v;
}

int
init_check(const char *rule)
{
	const struct rule *r;
	double x;

	return find_rule(rule, NULL, &r, &x);
}

int
init_weights(const struct graph *g, const char *rule, uint64_t seed, float *w, float *aux)
{
	const struct rule *r;
	double x;
	int e = init_check(rule);

	if (e < 0 || (e = check_patterns(g, rule)) < 0)
		return e;
	for (uint32_t i = 0; i < g->nw; i++) {
		const struct graph_array *a = &g->w[i];

		ERR_TRY(find_rule(rule, a->name, &r, &x));
		if (a->role == GRAPH_WEIGHT)
			draw_weights(a, r, x, rng_start(seed, STREAM, i), w + a->first);
		else
			fill_array(w + a->first, a->count, a->role == GRAPH_GAMMA ? 1 : 0);
		if (a->role == GRAPH_WEIGHT && g->node[a->node].begin == GRAPH_IDENTITY)
			fill_identity(&g->node[a->node], a, w + a->first);
	}
	for (uint32_t i = 0; i < g->naux; i++)
		fill_array(aux + g->aux[i].first, g->aux[i].count, g->aux[i].role == GRAPH_VAR ? 1 : 0);
	return 0;
}
