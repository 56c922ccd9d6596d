/* opt_test - the update rules against plain arithmetic, and their bits against how a range is cut. */
#include "base/rng.h"
#include "net/optim/opt.h"
#include "tap.h"
#include "../golden/opt_torch.h"

#define COUNT 1003

static float w[COUNT], m[2 * COUNT], g[COUNT], w2[COUNT], m2[2 * COUNT];

static void
fill(void)
{
	struct rng r = rng_start(3, 0, 0);

	for (int i = 0; i < COUNT; i++) {
		w[i] = w2[i] = rng_normal(&r);
		g[i] = 100 * rng_normal(&r);
	}
	for (int i = 0; i < 2 * COUNT; i++)
		m[i] = m2[i] = fabsf(rng_normal(&r));
}

static void
values(void)
{
	const struct opt_hyper h = { .lr = 0.1f, .momentum = 0.9f, .wd = 0.01f };
	float x = 2, mom = 0.5f, grad = 30;

	opt_step(&x, &mom, &grad, 1, 10, &h);
	near(mom, 0.9 * 0.5 - 0.1 * (3 + 0.01 * 2), 1e-6, "m = momentum m - lr (g/n + wd w)");
	near(x, 2 + 0.148, 1e-6, "w = w + m");
	x = 5;
	grad = 8;
	opt_fold_to(&x, &grad, 1, 4, 0.9f, &x);
	near(x, 0.9 * 5 + 0.1 * 2, 1e-6, "fold: w = momentum w + (1 - momentum) g/n");
}

static void
clipped(void)
{
	const struct opt_hyper h = { .lr = 1, .clip = 0.5f };
	float x[4] = { 0 }, mom[4] = { 0 };
	const float grad[4] = { 8, -8, 1, NAN };

	opt_step(x, mom, grad, 4, 4, &h);
	near(x[0], -0.5, 0, "clip cuts from above");
	near(x[1], 0.5, 0, "clip cuts from below");
	near(x[2], -0.25, 0, "clip leaves what is between");
	ok(isnan(x[3]), "clip does not hide a NaN");
}

/* Every start and length near the vector widths. */
static void
cuts(enum opt_rule rule, float clip)
{
	struct opt_hyper h = { .lr = 0.05f, .wd = 1e-4f, .clip = clip, .t = 3 };
	uint32_t states = opt_states(rule);
	size_t len;

	opt_usual(rule, &h);
	fill();
	opt_step(w, m, g, COUNT, 96, &h);
	for (size_t at = 0, i = 0; at < COUNT; at += len, i++) {
		len = i * 7 % 41 + 1;
		len = len > COUNT - at ? COUNT - at : len;
		opt_step(w2 + at, m2 + at * states, g + at, len, 96, &h);
	}
	ok(memcmp(w, w2, sizeof(w)) == 0 && memcmp(m, m2, sizeof(m)) == 0, "%s: however cut, the same bits (clip %g)",
	    opt_name(rule), (double)clip);
}

static void
elsewhere(enum opt_rule rule)
{
	static float to_w[COUNT], to_m[2 * COUNT], from_w[COUNT];
	struct opt_hyper h = { .lr = 0.05f, .wd = 1e-4f, .t = 3 };

	opt_usual(rule, &h);
	fill();
	memcpy(from_w, w2, sizeof(w2));
	memcpy(to_m, m2, sizeof(m2));
	opt_step(w, m, g, COUNT, 96, &h);
	opt_step_to(w2, m2, g, COUNT, 96, &h, to_w, to_m);
	ok(memcmp(w, to_w, sizeof(w)) == 0 && memcmp(m, to_m, sizeof(m)) == 0,
	    "%s: an update into other arrays has the same bits", opt_name(rule));
	ok(memcmp(w2, from_w, sizeof(w2)) == 0, "%s: an update into other arrays leaves its source", opt_name(rule));
}

/* Five steps of four weights by PyTorch in f64. */
static void
torch(void)
{
	for (size_t r = 0; r < sizeof(torch_rule) / sizeof(*torch_rule); r++) {
		struct opt_hyper h = { .rule = torch_rule[r].rule, .lr = torch_rule[r].lr, .momentum = torch_rule[r].momentum,
			.wd = torch_rule[r].wd, .beta2 = torch_rule[r].beta2, .eps = torch_rule[r].eps };
		float x[4], s[8] = { 0 }, worst = 0, grad[4];

		memcpy(x, torch_w, sizeof(x));
		for (h.t = 1; h.t <= 5; h.t++) {
			for (int i = 0; i < 4; i++)
				grad[i] = 8 * torch_g[h.t - 1][i];
			opt_step(x, s, grad, 4, 8, &h);
		}
		for (int i = 0; i < 4; i++)
			worst = fmaxf(worst, fabsf(x[i] - torch_rule[r].w[i]));
		near(worst, 0, 1e-6, "%s, momentum %g: PyTorch's weights", opt_name(h.rule), (double)h.momentum);
	}
}

static void
names(void)
{
	enum opt_rule rule;
	size_t n;

	for (int r = 0; r < OPT_RULES; r++)
		ok(opt_find(opt_name((enum opt_rule)r), &rule) && (int)rule == r, "%s is found by its name", opt_name((enum opt_rule)r));
	ok(!opt_find("sdg", &rule), "another is not");
	ok(opt_tail(OPT_ADAM, 1) != NULL && opt_tail(OPT_ADAM, 2) == NULL && opt_tail(OPT_DESCENT, 0) == NULL,
	    "a rule has as many suffixes as states");
	ok(opt_is_state("a:b:exp_avg_sq", &n) && n == 3, "a tensor of state is known by its suffix");
	ok(!opt_is_state("a:weight", &n) && !opt_is_state("momentum", &n), "other suffixes are no state");
}

static void
sparse(void)
{
	const struct opt_hyper h = { .lr = 1, .l1 = 0.25f };
	float x[3] = { 2, -2, 0 }, mom[3] = { 0 };
	const float grad[3] = { 0 };

	opt_step(x, mom, grad, 3, 1, &h);
	ok(x[0] == 1.75f && x[1] == -1.75f && x[2] == 0, "l1 pulls to zero and stays there");
}

/* The header's formula, each operation rounded to a float of its own. */
static void
rounding(void)
{
	const struct opt_hyper h = { .lr = 0.05f, .momentum = 0.9f, .wd = 1e-4f };
	int same = 0;

	fill();
	opt_step(w, m, g, COUNT, 96, &h);
	for (int i = 0; i < COUNT; i++) {
		volatile float d = g[i] * (float)(1 / 96.0), decay = h.wd * w2[i], sum = d + decay, pull = h.lr * sum,
		    keep = h.momentum * m2[i], mom = keep - pull, out = w2[i] + mom;

		same += out == w[i] && mom == m[i];
	}
	is(same, COUNT, "no multiply and add is fused");
}

static void
folds(void)
{
	size_t half = 500;

	fill();
	opt_fold_to(w, g, COUNT, 3, 0.9f, w);
	opt_fold_to(w2, g, half, 3, 0.9f, w2);
	opt_fold_to(w2 + half, g + half, COUNT - half, 3, 0.9f, w2 + half);
	ok(memcmp(w, w2, sizeof(w)) == 0, "fold: however cut, the same bits");
}

int
main(void)
{
	values();
	clipped();
	for (int r = 0; r < OPT_RULES; r++) {
		cuts((enum opt_rule)r, 0);
		cuts((enum opt_rule)r, 0.7f);
		elsewhere((enum opt_rule)r);
	}
	torch();
	names();
	sparse();
	rounding();
	folds();
	return done();
}
