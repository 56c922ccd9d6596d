/* freeze_test - rules mark the arrays they name, batch norm's statistics follow, and servers share what is left. */
#include "tap.h"

#include "base/err.h"
#include "net/freeze.h"
#include "ps/shard_plan.h"

#define SERVERS 60	/* one more than the most */

/* fc a (28 weights) in block 1, bn (8) in block 2, fc b (15) in none; aux 8. */
static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 4, .bias = true }, &at);
	g->node[at].block = 1;
	graph_add(g, &(struct graph_node){ .op = GRAPH_BN, .name = "bn", .in = &at, .nin = 1, .eps = 1e-3f,
	    .momentum = 0.9f }, &at);
	g->node[at].block = 2;
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "b", .in = &at, .nin = 1, .k = 3, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

/* "10", a digit an array. */
static const char *
marks(const struct graph_array *a, uint32_t n)
{
	static char text[16];

	for (uint32_t i = 0; i < n; i++)
		text[i] = a[i].frozen ? '1' : '0';
	text[n] = 0;
	return text;
}

static void
rule(const char *rules, const char *w, const char *aux)
{
	struct graph *g = net();

	is(freeze_rules(g, rules), 0, "%s", rules != NULL ? rules : "no rules");
	is_str(marks(g->w, g->nw), w, "the frozen weights are as expected");
	is_str(marks(g->aux, g->naux), aux, "the frozen statistics are as expected");
	graph_free(g);
}

static void
wrong(const char *rules)
{
	struct graph *g = net();

	is(freeze_rules(g, rules), ERR_ARG, "%s: %s", rules, err_line());
	graph_free(g);
}

static void
blocks(void)
{
	struct graph *g = net();
	struct buf b = { 0 };

	is(freeze_blocks(g, 2, &b), 0, "two blocks");
	buf_terminate(&b);
	is_str((char *)b.p, "freeze-to:bn_beta", "two blocks are all arrays up to the last one of the second");
	b.n = 0;
	is(freeze_blocks(g, 0, &b), 0, "no block");
	is(b.n, 0, "no block gives no rule");
	is(freeze_blocks(g, 3, &b), ERR_ARG, "%s", err_line());
	buf_free(&b);
	graph_free(g);
}

/* However many servers: all is covered in order, no slice is both, and what learns is shared out evenly. */
static bool
shares(const char *rules, uint32_t S, uint32_t bytes)
{
	struct graph *g = net();
	size_t at = 0, least = SIZE_MAX, most = 0, live = 0, all = 0, own[SERVERS] = { 0 };
	struct shard_plan *p = NULL;
	bool good = freeze_rules(g, rules) == 0 && shard_plan_new(g, S, bytes, rules, NULL, &p) == 0;
	uint32_t some[SERVERS] = { 0 };

	for (uint32_t i = 0; good && i < p->nweights; at += p->slice[i++].count) {
		const struct shard_plan_slice *s = &p->slice[i];

		good &= s->first == at && s->count * 4 <= bytes && s->owner < S;
		for (uint32_t a = 0; a < g->nw && s->count > 0; a++)
			if (g->w[a].first < at + s->count && g->w[a].first + g->w[a].count > at)
				good &= g->w[a].frozen == s->frozen;
		own[s->owner] += s->frozen ? 0 : s->count;
		some[s->owner] += !s->frozen;
	}
	for (uint32_t a = 0; a < g->nw; a++)
		all += g->w[a].frozen ? 0 : g->w[a].count;
	for (uint32_t s = 0; s < S; live += own[s++]) {
		good &= some[s] > 0;
		least = own[s] < least ? own[s] : least;
		most = own[s] > most ? own[s] : most;
	}
	good = good && at == g->P && live == all && most - least <= (all * 4 + S * bytes - 1) / (S * bytes) &&
	    p->slice[p->lead].owner == 0 && !p->slice[p->lead].frozen;
	shard_plan_free(p);
	graph_free(g);
	return good;
}

int
main(void)
{
	static const char *const rules[] = { "", "freeze-to:a_bias", "freeze:b_*", "freeze:bn*", "freeze:a_*;freeze:bn_*",
	    "freeze:*_weight;freeze:bn*" };
	unsigned good = 0, all = 0;

	rule(NULL, "000000", "00");
	rule("lr:*=2;wd:a_*=0", "000000", "00");
	rule("freeze:a_*", "110000", "00");
	rule("freeze-to:bn_gamma", "111000", "00");
	rule("freeze-to:bn_beta;lr:b_*=10", "111100", "11");
	rule("freeze:bn_beta;freeze:bn_gamma", "001100", "11");
	rule("freeze:*_bias", "010001", "00");
	wrong("freeze:c*");
	wrong("freeze-to:a");
	wrong("freeze:*");
	wrong("freeze-to:b_bias");
	blocks();
	for (size_t r = 0; r < sizeof(rules) / sizeof(*rules); r++)
		for (uint32_t S = 1; S < SERVERS; S += 3)
			for (uint32_t bytes = 4; bytes <= 1024; bytes *= 4, all++)
				if (shares(rules[r], S, bytes))
					good++;
				else
					printf("# '%s', %u servers, %u bytes\n", rules[r], S, bytes);
	is(good, all, "slices are frozen or not, and servers share evenly what is not");
	return done();
}
