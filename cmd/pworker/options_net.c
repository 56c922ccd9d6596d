/* options_net - the options that name a net, and those of the net's own script, into its graph. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"

#include <string.h>

enum { O_CLASSES, O_NET, O_NETOPT, O_SHAPE };

static const struct option longs[] = {
	{ "classes", required_argument, NULL, O_CLASSES },
	{ "net", required_argument, NULL, O_NET },
	{ "net-opt", required_argument, NULL, O_NETOPT },
	{ "shape", required_argument, NULL, O_SHAPE },
	{ NULL, 0, NULL, 0 }
};

static void
apply_net_option(struct pworker *p, int c, char *text)
{
	switch (c) {
	case O_CLASSES:	p->classes = (uint32_t)front_num("--classes", text, 1, 1 << 24); break;
	case O_NET:	p->net = text; break;
	case O_NETOPT:
		if (script_opt_take(p->option, &p->noption, text) < 0)
			front_wrong("--net-opt: %s", err_line());
		break;
	case O_SHAPE:	front_shape("--shape", text, &p->c, &p->h, &p->w); break;
	}
}

const struct worker_theme worker_net_theme = { longs, apply_net_option, NULL };

void
worker_net_option(struct pworker *p, int argc, char *argv[])
{
	char *key = argv[optind - 1], *value;

	if (key[2] == 0 || key[2] == '=')
		front_usage();
	key += 2;
	if (p->noption == SCRIPT_OPTS)
		front_wrong("--%s: more than %d options of a net", key, SCRIPT_OPTS);
	if ((value = strchr(key, '=')) != NULL)
		*value++ = 0;
	else if (optind < argc)
		value = argv[optind++];
	else
		front_wrong("--%s: neither an option of pworker nor one of a net with its value", key);
	p->option[p->noption++] = (struct script_opt){ key, value };
}

struct graph *
worker_net(struct pworker *p)
{
	struct graph *g;
	int e = script_run(p->net, p->c, p->h, p->w, p->classes, p->option, p->noption, &g);

	if (e < 0)
		front_die(NULL, e);
	worker_freeze(p, g);
	return g;
}
