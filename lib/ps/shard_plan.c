/* shard_plan - which server owns which floats of a model, and how they are cut into slices. */
#include "ps/shard_plan.h"
#include "base/err.h"
#include "base/num.h"
#include "wire/msg.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CODEC_RULE "codec:"
#define USUAL_SLICES	8u	/* of a server, of a small net */
#define LEAST_USUAL	(32u << 10)	/* bytes of such a slice */

/* Floats that are not frozen. */
static size_t
count_trained_floats(const struct graph *g)
{
	size_t n = 0;

	for (uint32_t i = 0; i < g->nw; i++)
		n += g->w[i].frozen ? 0 : g->w[i].count;
	return n;
}

/* The first float of part i: i/n of the L floats that are not frozen stand before it.  L <= 2^30, i <= 2^20. */
static size_t
find_part_start(const struct graph *g, size_t L, uint32_t i, uint32_t n)
{
	size_t before = (size_t)(((uint64_t)L * i + n - 1) / n), at = 0;

	if (i == 0 || i == n)
		return i == 0 ? 0 : g->P;
	for (uint32_t a = 0; a < g->nw && before > 0; a++) {
		size_t some = g->w[a].frozen || g->w[a].count < before ? g->w[a].count : before;

		at += some;
		before -= g->w[a].frozen ? 0 : some;
	}
	return at;
}

/*
 * The start of an array, or the end of the last one, that is nearest to float `at`.  An array that is not frozen must
 * stand before it, so that server 0 has one.
 */
static size_t
find_nearest_array(const struct graph *g, size_t at)
{
	size_t best = g->P;

	for (uint32_t i = g->nw; i-- > 0;) {
		size_t first = g->w[i].first, far = first > at ? first - at : at - first;
		bool some = false;

		for (uint32_t k = 0; k < i && !some; k++)
			some = !g->w[k].frozen;
		if (some && far <= (best > at ? best - at : at - best))
			best = first;
	}
	return best;
}

static void
append_slice(struct shard_plan *p, struct shard_plan_slice slice)
{
	p->slice[p->n++] = slice;
}

static struct codec
get_codec(const struct graph_array *a, const struct codec *codec, uint32_t i)
{
	return codec != NULL && !a[i].frozen ? codec[i] : (struct codec){ .kind = CODEC_F32 };
}

/* The most floats of a slice.  Of a matrix that is sent as factors it has whole rows, and as many as is possible. */
static size_t
get_piece(struct codec c, size_t most)
{
	size_t rows = c.cols > 1 ? SHARD_PLAN_MOST / sizeof(float) / c.cols : 0;

	return rows * c.cols > most ? rows * c.cols : most;
}

/* The start of the row of a matrix that is sent as factors in which `at` is; else `at`. */
static size_t
find_row(const struct shard_plan *p, const struct graph *g, size_t at)
{
	for (uint32_t i = 0; i < g->nw; i++)
		if (!g->w[i].frozen && p->codec[i].cols > 1 && at > g->w[i].first && at < g->w[i].first + g->w[i].count)
			return at - (at - g->w[i].first) % p->codec[i].cols;
	return at;
}

/*
 * Cuts [of.first, end) of the arrays into slices of one owner: between frozen and other arrays, between codecs [n]
 * (NULL: all are f32), and by size.  group [n] names the matrices, which are slices of their own; NULL: there are none.
 * Returns whether any slice is not frozen.
 */
static bool
cut_slices(struct shard_plan *p, const struct graph_array *a, uint32_t n, const struct shard_plan_group *group,
    const struct codec *codec, struct shard_plan_slice of, size_t end, size_t most)
{
	bool any = false;

	for (uint32_t i = 0; i < n && of.first < end; i++) {
		size_t to = a[i].first + a[i].count, piece;

		of.frozen = a[i].frozen;
		of.codec = get_codec(a, codec, i);
		of.rows = group != NULL ? group[i].rows : 0;
		piece = of.rows > 0 ? a[i].count : get_piece(of.codec, most);
		for (; of.rows == 0 && i + 1 < n && a[i + 1].frozen == a[i].frozen &&
		    codec_same(get_codec(a, codec, i + 1), of.codec) && (group == NULL || group[i + 1].rows == 0); i++)
			to += a[i + 1].count;
		for (to = to < end ? to : end; of.first < to; of.first += of.count) {
			of.count = to - of.first < piece ? to - of.first : piece;
			append_slice(p, of);
			any |= !of.frozen;
		}
	}
	return any;
}

/* The parts that each server owns.  Matrices and factors are better whole than shared out evenly. */
static uint32_t
count_parts(const struct shard_plan *p, const struct graph *g, size_t L, size_t most, bool whole)
{
	const size_t round = p->nservers * most;

	if (p->nservers == 1 || whole)
		return 1;
	for (uint32_t i = 0; i < g->nw; i++)
		if (!g->w[i].frozen && p->codec[i].cols > 1)
			return 1;
	return L > round ? (uint32_t)((L + round - 1) / round) : 1;
}

static void
build_slices(struct shard_plan *p, const struct graph *g, size_t most, bool whole)
{
	const size_t L = count_trained_floats(g);
	const uint32_t n = p->nservers * count_parts(p, g, L, most, whole);
	size_t first = 0, end;

	for (uint32_t i = 0; i < n; i++, first = end) {
		const uint32_t owner = i % p->nservers;

		end = find_part_start(g, L, i + 1, n);
		end = whole && i + 1 < n ? find_nearest_array(g, end) : find_row(p, g, end);
		if (!cut_slices(p, g->w, g->nw, whole ? p->group : NULL, p->codec,
		    (struct shard_plan_slice){ .owner = owner, .first = first },
		    end, most))
			append_slice(p, (struct shard_plan_slice){ .owner = owner, .first = end });
	}
	p->nweights = p->n;
	cut_slices(p, g->aux, g->naux, NULL, NULL, (struct shard_plan_slice){ .kind = SHARD_PLAN_AUX }, p->A, most);
	while (p->slice[p->lead].frozen)
		p->lead++;
}

static int
build_folds(struct shard_plan *p, const struct graph *g)
{
	if ((p->fold = calloc(g->naux > 0 ? g->naux : 1, sizeof(*p->fold))) == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < g->naux; i++) {
		const struct graph_array *a = &g->aux[i];

		p->fold[p->nfold++] = (struct shard_plan_fold){ a->first, a->count, g->node[a->node].momentum };
	}
	return 0;
}

/* Applies one rule codec:PATTERN=NAME. */
static int
apply_codec_rule(struct shard_plan *p, const struct graph *g, char *rule)
{
	char *pattern = strchr(rule, ':') + 1, *name = strrchr(pattern, '=');
	struct codec codec;
	bool any = false;

	if (name == NULL)
		return err_fail(ERR_ARG, "'%.64s' is not PATTERN=CODEC", rule);
	*name++ = 0;
	if (!codec_find(name, &codec))
		return err_fail(ERR_ARG, "--codec: '%.64s' is none of " CODEC_NAMES, name);
	for (uint32_t i = 0; i < g->nw; i++)
		if (fnmatch(pattern, g->w[i].name, 0) == 0) {
			p->codec[i] = codec;
			if (codec.kind == CODEC_POWERSGD)
				p->codec[i].cols = g->w[i].ndim > 1 ? (uint32_t)(g->w[i].count / g->w[i].dim[0]) : 1;
			any = true;
		}
	return any ? 0 : err_fail(ERR_ARG, "--codec: '%.64s' is the name of no array of the net", pattern);
}

/* Applies one rule, such as lr:fc*=10, while each array has a group of its own. */
static int
apply_mult_rule(struct shard_plan *p, const struct graph *g, char *rule)
{
	char *pattern = strchr(rule, ':'), *value = strrchr(rule, '=');
	bool lr = strncmp(rule, "lr:", 3) == 0, any = false;
	double x;

	if (strncmp(rule, "freeze", 6) == 0)
		return 0;	/* freeze_rules() has marked the graph */
	if (strncmp(rule, CODEC_RULE, sizeof(CODEC_RULE) - 1) == 0)
		return apply_codec_rule(p, g, rule);
	if (pattern == NULL || value == NULL || value < pattern || (!lr && strncmp(rule, "wd:", 3) != 0))
		return err_fail(ERR_ARG, "'%.64s' is not PATTERN=X", rule);
	*value++ = 0;
	if (num_f64(value, 0, 1e6, &x) < 0) {
		err_within("--%.2s-mult: '%.64s'", rule, pattern + 1);
		return ERR_ARG;
	}
	for (uint32_t i = 0; i < g->nw; i++)
		if (fnmatch(pattern + 1, g->w[i].name, 0) == 0) {
			*(lr ? &p->group[i].lr : &p->group[i].wd) *= (float)x;
			any = true;
		}
	return any ? 0 : err_fail(ERR_ARG, "--%.2s-mult: '%.64s' is the name of no array of the net", rule,
	    pattern + 1);
}

/* Joins adjacent groups with the same multipliers: without rules there is one group. */
static void
merge_groups(struct shard_plan *p)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < p->ngroup; i++)
		if (p->group[i].lr == p->group[n].lr && p->group[i].wd == p->group[n].wd)
			p->group[n].count += p->group[i].count;
		else
			p->group[++n] = p->group[i];
	p->ngroup = p->ngroup > 0 ? n + 1 : 0;
}

/*
 * Sets the rows of matrices.  If the optimizer needs them whole, the last one does not count and none may be too
 * large.
 */
static int
mark_matrices(struct shard_plan *p, const struct graph *g, bool whole)
{
	struct shard_plan_group *last = NULL;

	for (uint32_t i = 0; i < g->nw; i++)
		if (g->w[i].ndim >= 2) {
			p->group[i].rows = g->w[i].frozen ? 0 : g->w[i].dim[0];
			last = &p->group[i];
		}
	if (whole && last != NULL)
		last->rows = 0;
	for (uint32_t i = 0; whole && i < g->nw; i++) {
		if (p->group[i].rows == 0)
			continue;
		if (p->group[i].count > SHARD_PLAN_MATRIX / sizeof(float))
			return err_fail(ERR_LIMIT,
			    "%s has %zu weights: the optimizer needs whole matrices, of at most %zu",
			    g->w[i].name, p->group[i].count, SHARD_PLAN_MATRIX / sizeof(float));
		if (codec_bytes(p->codec[i], p->group[i].count) > MSG_MOST)
			return err_fail(ERR_LIMIT, "%s has %zu weights: the optimizer needs whole matrices, and with "
			    "this codec it is larger than a message", g->w[i].name, p->group[i].count);
	}
	return 0;
}

static int
build_groups(struct shard_plan *p, const struct graph *g, const char *mults, unsigned needs)
{
	char *text = strdup(mults != NULL ? mults : ""), *rest = text, *rule;
	int e = 0;

	p->codec = calloc(g->nw + 1, sizeof(*p->codec));
	if (text == NULL || p->codec == NULL ||
	    (p->group = calloc(g->nw > 0 ? g->nw : 1, sizeof(*p->group))) == NULL) {
		free(text);
		return err_nomem();
	}
	for (; p->ngroup < g->nw; p->ngroup++)
		p->group[p->ngroup] = (struct shard_plan_group){ g->w[p->ngroup].first, g->w[p->ngroup].count, 1, 1,
		    0 };
	while (e == 0 && mults != NULL && *mults != 0 && (rule = strsep(&rest, ";")) != NULL)
		e = apply_mult_rule(p, g, rule);
	free(text);
	if (!(needs & (OPT_NORMS | OPT_WHOLE)))
		merge_groups(p);
	else if (e == 0)
		e = mark_matrices(p, g, needs & OPT_WHOLE);
	return e;
}

int
shard_plan_new(const struct graph *g, uint32_t nservers, uint32_t bytes, const char *mults, const struct opt_hyper *h,
    struct shard_plan **plan)
{
	unsigned needs = h != NULL ? opt_needs(h) : 0;
	struct shard_plan *p;
	size_t most = bytes / sizeof(float), most_slices;
	int e;

	*plan = NULL;
	if (nservers < 1 || nservers > SHARD_PLAN_SERVERS)
		return err_fail(ERR_LIMIT, "%u servers are not in 1..%u", nservers, SHARD_PLAN_SERVERS);
	if (bytes < SHARD_PLAN_LEAST || bytes > SHARD_PLAN_MOST)
		return err_fail(ERR_LIMIT, "slices of %u bytes are not in %u..%u", bytes, SHARD_PLAN_LEAST,
		    SHARD_PLAN_MOST);
	/* Each array and each part's end may leave one slice that is not full, and a part may need an empty one. */
	most_slices = 3 * (g->P / most) + g->A / most + g->nw + g->naux + 4 * (size_t)nservers;
	if (most_slices > SHARD_PLAN_SLICES)
		return err_fail(ERR_LIMIT, "slices of %u bytes are too many", bytes);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_nomem();
	p->nservers = nservers;
	p->P = g->P;
	p->A = g->A;
	e = (p->slice = calloc(most_slices, sizeof(*p->slice))) == NULL ? err_nomem() : 0;
	if (e < 0 || (e = build_folds(p, g)) < 0 || (e = build_groups(p, g, mults, needs)) < 0) {
		shard_plan_free(p);
		return e;
	}
	build_slices(p, g, most, needs & OPT_WHOLE);
	assert(p->n <= most_slices);
	*plan = p;
	return 0;
}

uint32_t
shard_plan_usual_slice(size_t P, uint32_t nservers)
{
	const size_t bytes = nservers > 0 ? P * sizeof(float) / nservers / USUAL_SLICES : SHARD_PLAN_SLICE;

	return bytes < LEAST_USUAL ? LEAST_USUAL : bytes < SHARD_PLAN_SLICE ? (uint32_t)bytes : SHARD_PLAN_SLICE;
}

void
shard_plan_free(struct shard_plan *p)
{
	if (p == NULL)
		return;
	free(p->slice);
	free(p->fold);
	free(p->group);
	free(p->codec);
	free(p);
}

bool
shard_plan_coded(const char *mults)
{
	for (const char *at = mults; at != NULL && *at != 0; at += *at == ';') {
		size_t n = strcspn(at, ";");

		if (strncmp(at, CODEC_RULE, strlen(CODEC_RULE)) == 0 && (n < 4 || memcmp(at + n - 4, "=f32", 4) != 0))
			return true;
		at += n;
	}
	return false;
}

bool
shard_plan_recodes(const char *mults)
{
	bool any = false;

	for (const char *at = mults; at != NULL && *at != 0; at += *at == ';') {
		const size_t n = strcspn(at, ";");
		const char *end = at + n;
		bool codec = strncmp(at, CODEC_RULE, strlen(CODEC_RULE)) == 0;

		if (codec && (n < 5 || (memcmp(end - 4, "=f32", 4) != 0 && memcmp(end - 5, "=bf16", 5) != 0 &&
		    memcmp(end - 5, "=fp16", 5) != 0)))
			return false;
		any |= codec;
		at = end;
	}
	return any;
}

struct codec
shard_plan_codec(const struct shard_plan_slice *s, const struct msg *m, bool sync)
{
	const uint32_t changed = (m->flags & MSG_CODEC) / (MSG_CODEC & -MSG_CODEC);

	if (m->flags & MSG_EXACT)
		return (struct codec){ .kind = CODEC_F32 };
	if (changed > 0)
		return (struct codec){ .kind = (enum codec_kind)(changed - 1) };
	return m->type == MSG_PUSH ? s->codec : shard_plan_answer(s, sync);
}

uint16_t
shard_plan_codec_flags(struct codec plan, struct codec now)
{
	return codec_same(plan, now) ? 0 : (uint16_t)((now.kind + 1) * (MSG_CODEC & -MSG_CODEC));
}

struct codec
shard_plan_answer(const struct shard_plan_slice *s, bool sync)
{
	return codec_updates(s->codec) && !sync ? (struct codec){ .kind = CODEC_BF16 } : s->codec;
}

enum codec_kind
shard_plan_carried(const struct shard_plan *p, const struct msg *m, bool sync)
{
	if ((m->type != MSG_PUSH && m->type != MSG_WEIGHTS) || m->slice >= p->n)
		return CODEC_F32;
	return shard_plan_codec(&p->slice[m->slice], m, sync).kind;
}

size_t
shard_plan_bytes(const struct shard_plan_slice *s)
{
	return codec_bytes(s->codec, s->count);
}

void
shard_plan_over(const struct shard_plan *p, size_t first, size_t count, uint32_t *from, uint32_t *to)
{
	uint32_t lo = 0, hi = p->nweights;

	assert(count > 0 && first + count <= p->P);
	/* Finds the first slice that ends after `first`; ends never decrease, not even with empty slices. */
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
