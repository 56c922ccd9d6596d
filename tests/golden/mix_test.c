/* mix_test - the loss of mixtures and its gradient are PyTorch's of soft labels, by every engine. */
#include "golden/mix_torch.h"
#include "op/nets.h"

/* The loss and the gradient of weighted samples are the sums of those of each sample, times its weight. */
static void
check_weights(const struct engine *e, struct engine_plan *p, struct samples s, struct samples_mix *mix, float *d)
{
	static const float weight[MIX_N] = { 0.5f, 2, 0, 1, 3 };
	double sum[MIX_K * MIX_D] = { 0 }, loss = 0, worst = 0;
	struct engine_result one, all;

	for (uint32_t i = 0; i < MIX_N; i++) {
		struct samples part = samples_part(&s, i, 1);

		nets_must(e->forward(p, &part, NULL, NULL, &one));
		nets_must(e->backward(p, d, NULL, NULL));
		loss += (double)weight[i] * one.loss;
		for (size_t k = 0; k < MIX_K * MIX_D; k++)
			sum[k] += (double)(weight[i] * d[k]);
	}
	for (int i = 0; i < MIX_N; i++)
		mix[i].weight = weight[i];
	nets_must(e->forward(p, &s, NULL, NULL, &all));
	nets_must(e->backward(p, d, NULL, NULL));
	for (size_t k = 0; k < MIX_K * MIX_D; k++)
		worst = fmax(worst, fabs((double)d[k] - sum[k]));
	near(all.loss, loss, 1e-5, "%s: weights multiply the losses of samples", e->name);
	ok(worst < 1e-6, "%s: weights multiply the gradients of samples: %.2g off", e->name, worst);
	nets_must(e->evaluate(p, &s, &all, NULL));
	near(all.loss, MIX_PLAIN, 1e-5, "%s: evaluation ignores weights", e->name);
}

static void
run(const struct engine *e, struct engine_dev *dev, int smooth)
{
	struct graph *g = graph_new(MIX_D, 1, 1);
	struct samples_mix mix[MIX_N];
	struct engine_result train, eval;
	struct engine_plan *p;
	struct samples s;
	float *d;
	double worst = 0;
	uint32_t at;

	at = NODE(g, 0, FC, .k = MIX_K);
	NODE(g, at, SOFTMAX, .smooth = smooth ? 0.125f : 0);
	d = nets_floats(g->P);
	nets_must(engine_plan(e, dev, g, MIX_N, ENGINE_F32, 0, &p));
	nets_must(e->load(p, 0, mix_w));
	s = *NETS_SAMPLES(g, mix_x, mix_y, MIX_N);
	for (int i = 0; i < MIX_N; i++)
		mix[i] = (struct samples_mix){ mix_other[i], mix_share[i], 1 };
	s.mix = mix;
	nets_must(e->forward(p, &s, NULL, NULL, &train));
	nets_must(e->backward(p, d, NULL, NULL));
	for (size_t k = 0; k < MIX_K * MIX_D; k++)
		worst = fmax(worst, fabs((double)(d[k] - mix_dw[(size_t)smooth * MIX_K * MIX_D + k])));
	near(train.loss, (double)mix_loss[smooth], 1e-5,
	    "%s: the loss with smoothing %d is PyTorch's", e->name, smooth);
	ok(worst < 1e-6, "%s: the gradient is PyTorch's: %.2g off", e->name, worst);
	is((int)train.correct, MIX_CORRECT, "%s: accuracy counts the class with the larger weight", e->name);
	nets_must(e->evaluate(p, &s, &eval, NULL));
	near(eval.loss, MIX_PLAIN, 1e-5, "%s: evaluation ignores mixtures", e->name);
	check_weights(e, p, s, mix, d);
	mix[2].other = MIX_K;
	is(e->forward(p, &s, NULL, NULL, &train), ERR_FORMAT, "%s: a class outside the net is refused", e->name);
	e->plan_free(p);
	graph_free(g);
	free(d);
}

int
main(void)
{
	for (size_t i = 0; engine_list[i] != NULL; i++) {
		const struct engine *e = engine_list[i];
		struct engine_dev *dev;

		if (engine_open(&e, 0, 1, &dev) < 0) {
			skip(e->name, err_line());
			continue;
		}
		run(e, dev, 0);
		run(e, dev, 1);
		e->close(dev);
	}
	return done();
}
