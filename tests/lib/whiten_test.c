/* whiten_test - filters from pictures: what they make of the patches is uncorrelated and of variance 1. */
#include "base/err.h"
#include "base/rng.h"
#include "net/init.h"
#include "net/whiten.h"
#include "tap.h"

#include <stdlib.h>

#define N	40
#define C	2
#define SIDE	9
#define R	2
#define S	3
#define D	(C * R * S)
#define K	(2 * D + 3)

static float x[N][C][SIDE][SIDE];

/* Neighbours are alike, and so are channels; the second is ten times as large. */
static void
pictures(void)
{
	struct rng r = rng_start(4, 5, 6);

	for (int n = 0; n < N; n++)
		for (int h = 0; h < SIDE; h++)
			for (int w = 0; w < SIDE; w++) {
				float before = w > 0 ? x[n][0][h][w - 1] : 0, above = h > 0 ? x[n][0][h - 1][w] : 0;

				x[n][0][h][w] = 0.6f * before + 0.3f * above + 0.5f * rng_normal(&r) + 0.1f;
				x[n][1][h][w] = 10 * (0.5f * x[n][0][h][w] + rng_normal(&r));
			}
}

static double
filtered(const float *w, int n, int h, int j)
{
	double sum = 0;

	for (int c = 0; c < C; c++)
		for (int r = 0; r < R; r++)
			for (int s = 0; s < S; s++)
				sum += (double)*w++ * x[n][c][h + r][j + s];
	return sum;
}

/* The mean product of what filters a and b make of all patches. */
static double
product(const float *w, int a, int b)
{
	double sum = 0;
	int count = 0;

	for (int n = 0; n < N; n++)
		for (int h = 0; h + R <= SIDE; h++)
			for (int j = 0; j + S <= SIDE; j++, count++)
				sum += filtered(w + a * D, n, h, j) * filtered(w + b * D, n, h, j);
	return sum / count;
}

static void
judge(const float *w, const float *before)
{
	double off = 0, own = 0, last = 0;
	int falls = 0, bad = 0;

	for (int a = 0; a < D; a++) {
		double size = 0;

		for (int b = 0; b < a; b++)
			off = fmax(off, fabs(product(w, a, b)));
		own = fmax(own, fabs(product(w, a, a) - 1));
		for (int j = 0; j < D; j++) {
			size += (double)w[a * D + j] * w[a * D + j];
			bad += w[(D + a) * D + j] != -w[a * D + j];
		}
		falls += size >= last;	/* of 1 / eigenvalue */
		last = size;
	}
	near(off, 0, 1e-4, "outputs are uncorrelated");
	near(own, 0, 0.02, "outputs have variance 1, but for eps");
	is(falls, D, "the largest eigenvalue comes first");
	is(bad, 0, "the negatives of the filters follow");
	ok(memcmp(w + 2 * D * D, before + 2 * D * D, (K - 2 * D) * D * sizeof(*w)) == 0, "the filters after these stay");
}

int
main(void)
{
	struct graph_node conv = { .op = GRAPH_CONV, .name = "c", .in = (uint32_t[]){ 0 }, .nin = 1, .k = K, .r = R, .s = S,
	    .stride = GRAPH_BOTH(2), .pad = GRAPH_BOTH(1), .begin = GRAPH_WHITEN };
	struct graph_node second = conv, wide = conv;
	struct graph *g = graph_new(C, SIDE, SIDE), *h = graph_new(64, SIDE, SIDE);
	float *w, *before, *again;
	uint32_t at;

	ok(!whiten_wanted(g), "a net without such a layer wants no whitening");
	is(graph_add(g, &conv, &at), 0, "a layer that whitens is added");
	second.in = (uint32_t[]){ 1 };
	second.name[0] = 'd';
	is(graph_add(g, &second, &at), ERR_FORMAT, "a second layer that whitens is refused: %s", err_line());
	is(graph_add(h, &wide, &at), ERR_LIMIT, "a layer that whitens too few numbers is refused: %s", err_line());
	ok(whiten_wanted(g), "wanted");
	w = calloc(g->P, sizeof(*w));
	before = calloc(g->P, sizeof(*w));
	again = calloc(g->P, sizeof(*w));
	init_weights(g, "uniform:0.5", 1, w, NULL);
	memcpy(before, w, g->P * sizeof(*w));
	pictures();
	ok(whiten_weights(g, &x[0][0][0][0], 0, w) == 0 && memcmp(w, before, g->P * sizeof(*w)) == 0, "no pictures, no change");
	memcpy(again, w, g->P * sizeof(*w));
	is(whiten_weights(g, &x[0][0][0][0], N, w), 0, "a layer is whitened by %d images", N);
	judge(w, before);
	whiten_weights(g, &x[0][0][0][0], N, again);
	ok(memcmp(w, again, g->P * sizeof(*w)) == 0, "the same images give the same bits");
	free(w);
	free(before);
	free(again);
	graph_free(g);
	graph_free(h);
	return done();
}
