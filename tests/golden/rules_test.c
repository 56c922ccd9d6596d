/*
 * rules_test - update rules through a worker and its server, against PyTorch's and MXNet's weights: gradients cut by value,
 * an L1, decay by name, rates that change and differ.
 */
#include "steps.h"

#include "rules_mxnet.h"
#include "rules_torch.h"

#define FLOATS	99

/* A layer, batch norm and the classifier: the arrays of rules.py. */
static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 8, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_BN, .name = "bn", .in = &at, .nin = 1, .eps = 1e-5f, .momentum = 0.9f }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "b", .in = &at, .nin = 1, .k = 3, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

int
main(void)
{
	struct graph *g = net();
	float w[FLOATS];

	is(g->P, FLOATS, "the net has the weights of rules.py");
	for (size_t i = 0; i < sizeof(rules_torch) / sizeof(*rules_torch); i++) {
		struct opt_hyper h = { .rule = rules_torch[i].rule, .momentum = rules_torch[i].momentum, .beta2 = 0.96875f,
			.eps = 0x1p-10f, .wd = rules_torch[i].wd, .clip = rules_torch[i].clip, .l1 = rules_torch[i].l1 };

		is(steps(g, &h, NULL, 64, rules_torch[i].rate, w, NULL), 0,
		    "%s trains with momentum %g, clip %g, l1 %g", opt_name(h.rule),
		    (double)h.momentum, (double)h.clip, (double)h.l1);
		near(steps_worst(w, rules_torch[i].w, FLOATS), 0, 1e-6, "%s has PyTorch's weights", opt_name(h.rule));
	}
	for (size_t i = 0; i < sizeof(rules_mxnet) / sizeof(*rules_mxnet); i++) {
		struct opt_hyper h = { .rule = rules_mxnet[i].rule, .momentum = rules_mxnet[i].momentum, .beta2 = rules_mxnet[i].beta2,
			.eps = 1e-12f, .wd = rules_mxnet[i].wd, .clip = rules_mxnet[i].clip };

		is(steps(g, &h, rules_mxnet[i].mults, 64, rules_mxnet[i].rate, w, NULL), 0,
		    "%s trains with momentum %g, decay %g, clip %g, %s",
		    opt_name(h.rule), (double)h.momentum, (double)h.wd, (double)h.clip, rules_mxnet[i].mults);
		near(steps_worst(w, rules_mxnet[i].w, FLOATS), 0, 1e-6, "%s has MXNet's weights", opt_name(h.rule));
	}
	graph_free(g);
	return done();
}
