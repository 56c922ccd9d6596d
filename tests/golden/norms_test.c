/* norms_test - clipping by norm, LARS, Muon and averages through a worker and its server, against PyTorch's and MXNet's weights. */
#include "steps.h"

#include "lars_mxnet.h"
#include "norms_torch.h"

#define FLOATS	107

/* Three layers: a matrix with more rows than columns, one with fewer, and the classifier. */
static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 8, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "m", .in = &at, .nin = 1, .k = 4, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "b", .in = &at, .nin = 1, .k = 3, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

int
main(void)
{
	struct graph *g = net();
	struct opt_hyper lars = { .wd = 0.01f };
	static const float rate[STEPS] = { 0.05f, 0.05f, 0.05f, 0.05f }, high[STEPS] = { 2, 2, 2, 2 };
	float w[FLOATS], average[FLOATS];

	is(g->P, FLOATS, "the net has the weights of norms.py");
	for (size_t i = 0; i < sizeof(torch_norms) / sizeof(*torch_norms); i++) {
		struct opt_hyper h = { .rule = torch_norms[i].rule, .momentum = torch_norms[i].momentum,
			.beta2 = torch_norms[i].beta2, .eps = torch_norms[i].eps, .wd = 0.01f,
			.clip_norm = torch_norms[i].clip_norm, .turns = torch_norms[i].turns, .unit = torch_norms[i].unit };

		for (uint32_t slice = 64; slice <= 4096; slice *= 8) {
			is(steps(g, &h, NULL, slice, rate, w, NULL), 0,
			    "%s trains, clipped at %g, in slices of %u bytes", opt_name(h.rule),
			    (double)h.clip_norm, slice);
			near(steps_worst(w, torch_norms[i].w, FLOATS), 0, 3e-6,
			    "%s has PyTorch's weights", opt_name(h.rule));
		}
	}
	opt_usual(OPT_LARS, &lars);
	lars.trust = 0.02f;
	is(steps(g, &lars, "wd:*_bias=0", 64, high, w, NULL), 0, "lars trains with a decay by name");
	near(steps_worst(w, mxnet_lars, FLOATS), 0, 3e-6, "lars has MXNet's weights");
	for (size_t i = 0; i < sizeof(torch_averages) / sizeof(*torch_averages); i++) {
		struct opt_hyper h = { .momentum = 0.9f, .wd = 0.01f, .average = { torch_averages[i].kind, 0.75f, 3 } };

		is(steps(g, &h, NULL, 64, rate, w, average), 0, "average %s trains", average_name(h.average.kind));
		near(steps_worst(w, torch_averages[i].w, FLOATS), 0, 3e-6,
		    "average %s has PyTorch's weights", average_name(h.average.kind));
		near(steps_worst(average, torch_averages[i].average, FLOATS), 0, 3e-6,
		    "average %s is PyTorch's", average_name(h.average.kind));
	}
	graph_free(g);
	return done();
}
