/* alias_test - tables of names both ways; those of share/names on the nets that they are for. */
#include "base/err.h"
#include "net/alias.h"
#include "net/graph/script.h"
#include "pics.h"
#include "tap.h"

static char path[256];

static int
load(const char *text, bool back, struct alias **a)
{
	pics_write(path, text, strlen(text));
	return alias_load(path, back, a);
}

static const char *
other(const struct alias *a, const char *name)
{
	static struct buf b;

	b.n = 0;
	alias_apply(a, name, &b);
	buf_terminate(&b);
	return (const char *)b.p;
}

static void
plain(void)
{
	static const char text[] = "# a table\na.1 b\n\n  x*y \t p*q # behind\nx* z*\nab*ba t*\n";
	static const char *const no[] = { "a\n", "a b c\n", "a* b\n", "a b*\n", "a** b*\n" };
	struct alias *a;

	is(load(text, false, &a), 0, "a table: %s", err_line());
	is_str(other(a, "a.1"), "b", "a name is translated");
	is_str(other(a, "a.12"), "a.12", "a name that is not in the table stays");
	is_str(other(a, "x--y"), "p--q", "a star in a row matches text");
	is_str(other(a, "xy"), "pq", "a star matches no text, too");
	is_str(other(a, "x--"), "z--", "the first line that fits counts");
	is_str(other(a, "aba"), "aba", "the ends of a name do not overlap");
	alias_free(a);
	is(load(text, true, &a), 0, "the other way");
	is_str(other(a, "b"), "a.1", "a name");
	is_str(other(a, "p--q"), "x--y", "the other direction of a row with a star works");
	alias_free(a);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		ok(load(no[i], false, &a) == ERR_FORMAT && strstr(err_line(), "line 1") != NULL && a == NULL, "no table: %s", err_line());
	pics_write(path, "a\0b c\n", 6);
	is(alias_load(path, false, &a), ERR_FORMAT, "a table with a zero byte is refused: %s", err_line());
	is(alias_load("none-such", false, &a), ERR_SYS, "a table that does not exist is refused: %s", err_line());
	is(alias_load("torch-resnet50", false, &a), ERR_SYS, "a name that begins with a table's is refused");
	is_str(err_line(), "there is no table 'torch-resnet50'; did you mean torch-resnet?", "the error names the nearest table");
}

/* Every array of the net has a name of its own there, PyTorch's and Gluon's of their form, and comes back. */
static void
net(const char *table, const char *name, const char *layers, const char *key, const char *value, const char *theirs, const char *ours)
{
	const struct script_opt opt[] = { { "layers", layers }, { key, value } };
	bool torch = strncmp(table, "torch", 5) == 0 || strncmp(table, "gluon", 5) == 0;
	struct alias *to, *from;
	struct graph *g;
	int same = 1, named = 1, found = 0;
	char was[128];

	if (alias_load(table, true, &to) < 0 || alias_load(table, false, &from) < 0 ||
	    script_run(name, 0, 0, 0, 0, layers != NULL ? opt : opt + 1, (layers != NULL) + (key != NULL), &g) < 0) {
		ok(0, "%s: %s", table, err_line());
		return;
	}
	for (uint32_t i = 0; i < g->nw + g->naux; i++) {
		const struct graph_array *a = i < g->nw ? &g->w[i] : &g->aux[i - g->nw];

		snprintf(was, sizeof(was), "%s", other(to, a->name));
		named &= !torch || (strchr(was, '.') != NULL && strcmp(was, a->name) != 0);
		same &= strcmp(other(from, was), a->name) == 0;
		found += strcmp(was, theirs) == 0 && strcmp(a->name, ours) == 0;
	}
	ok(named, "%s, %s: %s has a name for each array", name, layers != NULL ? layers : "", table);
	ok(same, "%s: their names map to ours again", table);
	is(found, 1, "%s is %s", theirs, ours);
	graph_free(g);
	alias_free(to);
	alias_free(from);
}

int
main(void)
{
	snprintf(path, sizeof(path), "%s", pics_path("table"));
	plain();
	net("torch-resnet", "resnet", "18", "variant", "post", "layer4.1.bn2.bias", "layer4.1.bn2_beta");
	net("torch-resnet", "resnet", "50", "variant", "post", "layer1.0.downsample.1.weight", "layer1.0.downsample.1_gamma");
	net("torch-vgg11", "vgg", "11", NULL, NULL, "features.18.weight", "conv5_2_weight");
	net("torch-vgg13", "vgg", "13", NULL, NULL, "features.22.bias", "conv5_2_bias");
	net("torch-vgg16", "vgg", "16", NULL, NULL, "features.28.bias", "conv5_3_bias");
	net("torch-vgg19", "vgg", "19", NULL, NULL, "classifier.6.weight", "fc8_weight");
	net("torch-vgg11-bn", "vgg", "11", "norm", "bn", "features.26.running_var", "bn5_2_moving_var");
	net("torch-vgg13-bn", "vgg", "13", "norm", "bn", "features.1.weight", "bn1_1_gamma");
	net("torch-vgg16-bn", "vgg", "16", "norm", "bn", "features.41.bias", "bn5_3_beta");
	net("torch-vgg19-bn", "vgg", "19", "norm", "bn", "features.49.weight", "conv5_4_weight");
	net("mxnet-resnet50-v2", "resnet", "50", NULL, NULL, "resnetv20_stage3_batchnorm17_running_var", "stage3_unit6_bn3_moving_var");
	net("torch-alexnet", "alexnet", NULL, "variant", "torch", "features.10.bias", "conv5_bias");
	net("torch-googlenet", "googlenet", NULL, "variant", "torch", "inception3a.branch2.1.bn.running_var",
	    "inception3a.branch2.1.bn_moving_var");
	net("gluon-alexnet", "alexnet", NULL, "variant", "torch", "features.5.weight", "conv4_weight");
	net("gluon-resnet18-v2", "resnet", "18", "shortcuts", "needed", "features.6.0.downsample.weight", "stage2_unit1_sc_weight");
	net("gluon-resnet34-v2", "resnet", "34", "shortcuts", "needed", "features.8.2.bn2.gamma", "stage4_unit3_bn2_gamma");
	net("gluon-resnet50-v2", "resnet", "50", NULL, NULL, "features.5.0.downsample.weight", "stage1_unit1_sc_weight");
	net("gluon-resnet101-v2", "resnet", "101", NULL, NULL, "features.7.22.bn3.running_var", "stage3_unit23_bn3_moving_var");
	net("gluon-vgg11", "vgg", "11", NULL, NULL, "features.21.bias", "fc6_bias");
	net("gluon-vgg13", "vgg", "13", NULL, NULL, "features.22.weight", "conv5_2_weight");
	net("gluon-vgg16", "vgg", "16", NULL, NULL, "features.33.weight", "fc7_weight");
	net("gluon-vgg19", "vgg", "19", NULL, NULL, "output.weight", "fc8_weight");
	net("gluon-vgg11-bn", "vgg", "11", "norm", "bn", "features.26.running_var", "bn5_2_moving_var");
	net("gluon-vgg13-bn", "vgg", "13", "norm", "bn", "features.4.beta", "bn1_2_beta");
	net("gluon-vgg16-bn", "vgg", "16", "norm", "bn", "features.41.beta", "bn5_3_beta");
	net("gluon-vgg19-bn", "vgg", "19", "norm", "bn", "features.53.weight", "fc6_weight");
	net("mxnet-resnet18-v2", "resnet", "18", "shortcuts", "needed", "resnetv20_stage2_conv2_weight", "stage2_unit1_sc_weight");
	net("mxnet-resnet34-v2", "resnet", "34", "shortcuts", "needed", "resnetv20_stage3_batchnorm11_beta", "stage3_unit6_bn2_beta");
	net("mxnet-resnet101-v2", "resnet", "101", NULL, NULL, "resnetv20_stage3_conv3_weight", "stage3_unit1_sc_weight");
	net("mxnet-inception", "inception", NULL, NULL, NULL, "bn_in4e_conv_gamma", "in4e_3x3_bn_gamma");
	net("mxnet-inception-bn", "inception-bn", NULL, NULL, NULL, "fullyconnected0_weight", "fc1_weight");
	net("mxnet-lenet", "lenet", NULL, NULL, NULL, "fullyconnected1_bias", "fc2_bias");
	pics_clean();
	return done();
}
