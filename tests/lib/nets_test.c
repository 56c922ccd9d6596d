/*
 * nets_test - the nets of share/nets: weights, arrays, statistics and multiply-adds are those of the nets they re-create.
 *
 * Counts: mxnet's nets as its own symbols give them, torchvision's as its models do (sum of p.numel()).
 */
#include "base/err.h"
#include "net/graph/script.h"
#include "tap.h"

#include <stdlib.h>

#define OPTS 4

struct want {
	const char *net;
	struct script_opt opt[OPTS];
	uint32_t c, h, w, classes;
	size_t	 P;
	uint32_t nw;		/* 0: not compared, as A and macs are */
	size_t	 A;
	double	 macs;		/* millions, as many digits as are known */
	double	 within;
};

static const struct want nets[] = {
	{ "mlp", { { 0 } }, 0, 0, 0, 0, 109386, 6, 0, 0.109, 0.001 },
	{ "mlp", { { "widths", "200,100,50,25" }, { "act", "elu" }, { "dropout", "0.01" } }, 0, 0, 0, 0, 183685, 10, 0, 0.183, 0.001 },
	{ "lenet", { { 0 } }, 0, 0, 0, 0, 431080, 8, 0, 2.3, 0.05 },
	{ "lenet", { { "variant", "bn" } }, 0, 0, 0, 0, 10986, 10, 128, 0.1, 0.05 },
	{ "inception", { { 0 } }, 0, 0, 0, 0, 1652826, 78, 3424, 204.2, 0.05 },
	{ "inception-bn", { { 0 } }, 0, 0, 0, 0, 11295240, 278, 20032, 2030, 5 },
	{ "inception", { { "pools", "floor" } }, 0, 0, 0, 0, 1652826, 78, 3424, 204.2, 0.05 },
	{ "inception-bn", { { "pools", "floor" } }, 0, 0, 0, 0, 11295240, 278, 20032, 0, 0 },
	{ "inception-bn", { { 0 } }, 3, 227, 227, 0, 11295240, 278, 20032, 0, 0 },
	{ "inception-bn", { { "variant", "full" } }, 0, 0, 0, 0, 33619969, 278, 0, 0, 0 },
	{ "resnet", { { "layers", "20" } }, 3, 28, 28, 10, 272544, 64, 1382, 31.4, 0.05 },
	{ "resnet", { { "layers", "32" } }, 3, 28, 28, 10, 466976, 100, 2278, 53.1, 0.05 },
	{ "resnet", { { "layers", "44" } }, 3, 28, 28, 10, 661408, 136, 3174, 74.8, 0.05 },
	{ "resnet", { { "layers", "50" } }, 3, 28, 28, 10, 758624, 154, 3622, 85.6, 0.05 },
	{ "resnet", { { "layers", "56" } }, 3, 28, 28, 10, 855840, 172, 4070, 96.5, 0.05 },
	{ "resnet", { { "layers", "110" } }, 3, 28, 28, 10, 1730784, 334, 8102, 194.0, 0.05 },
	{ "resnet", { { "layers", "164" } }, 3, 28, 28, 10, 1703264, 496, 24230, 189.6, 0.05 },
	{ "vgg", { { "layers", "19" } }, 3, 32, 32, 10, 38947914, 38, 0, 417.0, 0.1 },
	{ "resnet", { { "layers", "50" } }, 3, 32, 32, 10, 23513168, 0, 0, 0, 0 },
	{ "resnet", { { "layers", "18" } }, 3, 224, 224, 1000, 11691950, 61, 7942, 1827, 1.5 },
	{ "resnet", { { "layers", "34" } }, 3, 224, 224, 1000, 21800110, 109, 15366, 3677, 1.5 },
	{ "resnet", { { "layers", "50" } }, 3, 224, 224, 1000, 25549486, 157, 45574, 4089, 1.5 },
	{ "resnet", { { "layers", "101" } }, 3, 224, 224, 1000, 44541614, 310, 97798, 7801, 1.5 },
	{ "resnet", { { "layers", "152" } }, 3, 224, 224, 1000, 60185262, 463, 143878, 11514, 1.5 },
	{ "resnet", { { "layers", "18" }, { "shortcuts", "needed" } }, 3, 224, 224, 1000, 11687854, 60, 7942, 0, 0 },
	{ "resnet", { { "layers", "34" }, { "shortcuts", "needed" } }, 3, 224, 224, 1000, 21796014, 108, 15366, 0, 0 },
	{ "resnet", { { "layers", "50" }, { "shortcuts", "needed" } }, 3, 224, 224, 1000, 25549486, 157, 45574, 0, 0 },
	{ "resnet", { { "variant", "small" } }, 0, 0, 0, 0, 273258, 86, 0, 0, 0 },
	{ "resnet", { { "variant", "small" }, { "layers", "32" } }, 0, 0, 0, 0, 468138, 0, 0, 0, 0 },
	{ "resnet", { { "variant", "small" }, { "layers", "56" } }, 0, 0, 0, 0, 857898, 230, 0, 0, 0 },
	{ "resnet", { { "variant", "small" }, { "layers", "110" } }, 0, 0, 0, 0, 1734858, 0, 0, 0, 0 },
	{ "resnet", { { "variant", "post" }, { "layers", "18" } }, 0, 0, 0, 0, 11689512, 62, 0, 1814, 1 },
	{ "resnet", { { "variant", "post" }, { "layers", "34" } }, 0, 0, 0, 0, 21797672, 110, 0, 3664, 1 },
	{ "resnet", { { "variant", "post" } }, 0, 0, 0, 0, 25557032, 161, 0, 4089, 1 },
	{ "resnet", { { "variant", "post" }, { "layers", "101" } }, 0, 0, 0, 0, 44549160, 314, 0, 7801, 1 },
	{ "resnet", { { "variant", "post" }, { "layers", "152" } }, 0, 0, 0, 0, 60192808, 467, 0, 11514, 1 },
	{ "vgg", { { "layers", "11" } }, 0, 0, 0, 0, 132863336, 22, 0, 0, 0 },
	{ "vgg", { { "layers", "13" } }, 0, 0, 0, 0, 133047848, 0, 0, 0, 0 },
	{ "vgg", { { 0 } }, 0, 0, 0, 0, 138357544, 32, 0, 15470, 5 },
	{ "vgg", { { "layers", "19" } }, 0, 0, 0, 0, 143667240, 0, 0, 0, 0 },
	{ "vgg", { { 0 } }, 3, 32, 32, 10, 33638218, 32, 0, 332.1, 0.05 },
	{ "vgg", { { "norm", "bn" } }, 0, 0, 0, 0, 138365992, 58, 0, 0, 0 },
	{ "vgg", { { "norm", "bn" }, { "layers", "19" } }, 0, 0, 0, 0, 143678248, 0, 0, 0, 0 },
	{ "alexnet", { { 0 } }, 0, 0, 0, 0, 62378344, 16, 0, 0, 0 },
	{ "alexnet", { { "variant", "v0.7" } }, 3, 227, 227, 0, 62378344, 16, 0, 0, 0 },
	{ "alexnet", { { "pools", "floor" } }, 0, 0, 0, 0, 50844008, 16, 0, 0, 0 },
	{ "alexnet", { { "pools", "floor" } }, 3, 227, 227, 0, 62378344, 16, 0, 0, 0 },
	{ "alexnet", { { "groups", "2" } }, 3, 227, 227, 0, 60965224, 16, 0, 724, 1 },
	{ "alexnet", { { "variant", "torch" } }, 0, 0, 0, 0, 61100840, 16, 0, 714.19, 0.01 },
	{ "googlenet", { { 0 } }, 0, 0, 0, 0, 6998552, 116, 0, 1580, 5 },
	{ "googlenet", { { "variant", "torch" } }, 0, 0, 0, 0, 6624904, 173, 14560, 1498.38, 0.01 },
	{ "vgg", { { "norm", "bn" }, { "layers", "11" } }, 0, 0, 0, 0, 132868840, 38, 5504, 7609.09, 0.01 },
	{ "vgg", { { "norm", "bn" }, { "layers", "13" } }, 0, 0, 0, 0, 133053736, 46, 5888, 11308.47, 0.01 },
	{ "fast", { { 0 } }, 0, 0, 0, 0, 1972792, 0, 0, 118, 1 },
};

static void
net(const struct want *x)
{
	struct graph *g = NULL;
	uint32_t nopt = 0;
	char name[128];
	int n, e;

	n = snprintf(name, sizeof(name), "%s", x->net);
	while (nopt < OPTS && x->opt[nopt].key != NULL) {
		n += snprintf(name + n, sizeof(name) - (size_t)n, " --%s %s", x->opt[nopt].key, x->opt[nopt].value);
		nopt++;
	}
	if (x->h > 0)
		snprintf(name + n, sizeof(name) - (size_t)n, " at %u", x->h);
	e = script_run(x->net, x->c, x->h, x->w, x->classes, x->opt, nopt, &g);
	if (!ok(e == 0, "%s (%s)", name, e < 0 ? err_line() : "runs"))
		return;
	is(g->P, x->P, "%s: weights", name);
	if (x->nw > 0)
		is(g->nw, x->nw, "%s: arrays", name);
	if (x->A > 0)
		is(g->A, x->A, "%s: running statistics", name);
	if (x->macs > 0)
		near((double)graph_macs(g) * 1e-6, x->macs, x->within, "%s: million multiply-adds", name);
	graph_free(g);
}

/* The blocks that --freeze counts. */
static void
blocks(const char *name, uint32_t n)
{
	struct graph *g;
	uint32_t most = 0;

	if (!ok(script_run(name, 0, 0, 0, 0, NULL, 0, &g) == 0, "%s", name))
		return;
	for (uint32_t i = 0; i < g->n; i++)
		most = g->node[i].block > most ? g->node[i].block : most;
	is(most, n, "%s: blocks", name);
	graph_free(g);
}

static void
wrong(const char *name, struct script_opt opt, const char *says)
{
	struct graph *g;

	ok(script_run(name, 0, 0, 0, 0, &opt, 1, &g) < 0 && strstr(err_line(), says) != NULL, "%s --%s %s: %s", name, opt.key,
	    opt.value, err_line());
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++)
		net(&nets[i]);
	wrong("vgg", (struct script_opt){ "layers", "17" }, "--layers: 17 is none of 11, 13, 16, 19");
	wrong("vgg", (struct script_opt){ "width", "3.5" }, "--width: 3.5 is not a whole number");
	wrong("resnet", (struct script_opt){ "variant", "pre" }, "--variant: pre is none of preact, post, small");
	wrong("resnet", (struct script_opt){ "layers", "21" }, "21 is not 6n+2");
	wrong("resnet", (struct script_opt){ "layers", "1e400" }, "--layers: 1e400 is not a whole number");
	wrong("alexnet", (struct script_opt){ "groups", "1.5" }, "--groups: 1.5 is not a whole number");
	wrong("lenet", (struct script_opt){ "variant", "x" }, "--variant: x is none of classic, bn");
	wrong("mlp", (struct script_opt){ "widths", "20,x" }, "--widths: '20,x' is not whole numbers");
	wrong("mlp", (struct script_opt){ "widths", "20,0" }, "--widths: '20,0' is not whole numbers from 1");
	wrong("mlp", (struct script_opt){ "layers", "2.5" }, "--layers: 2.5 is not a whole number");
	wrong("mlp", (struct script_opt){ "dropout", "1e400" }, "--dropout: 1e400 is not a number");
	wrong("mlp", (struct script_opt){ "act", "foo" }, "act: 'foo' is not one of relu, tanh, ");
	wrong("mlp", (struct script_opt){ "dropout", "-1" }, "--dropout: -1 is not a number of at least 0");
	wrong("inception", (struct script_opt){ "bn-momentum", "1.5" }, "--bn-momentum: 1.5 is not a number from 0 to 1");
	wrong("mlp", (struct script_opt){ "depth", "3" }, "no option 'depth'");
	blocks("mlp", 2);
	blocks("lenet", 2);
	blocks("alexnet", 5);
	blocks("googlenet", 11);
	blocks("inception", 11);
	blocks("inception-bn", 12);
	blocks("resnet", 4);
	blocks("vgg", 5);
	blocks("fast", 4);
	return done();
}
