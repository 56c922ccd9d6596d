/* weights_net - the net and its options in the metadata of a checkpoint, for --resume and --start. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "net/weights.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A script of one's own has a path, which checkpoints do not store. */
static bool
is_included_net(const char *net)
{
	size_t n = strlen(net);

	return strchr(net, '/') == NULL && (n < 4 || strcmp(net + n - 4, ".lua") != 0);
}

static int
compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct script_opt *)a)->key, ((const struct script_opt *)b)->key);
}

void
pworker_describe_net(struct pworker *p)
{
	struct script_opt option[SCRIPT_OPTS];
	uint32_t n = 0;
	int e = buf_put_fmt(&p->net_text, "%s", p->net);

	/* The last of several is the one that counts. */
	for (uint32_t i = 0; i < p->noption; i++) {
		uint32_t at = 0;

		while (at < n && strcmp(option[at].key, p->option[i].key) != 0)
			at++;
		option[at] = p->option[i];
		n += at == n;
	}
	qsort(option, n, sizeof(*option), compare_keys);
	for (uint32_t i = 0; i < n && e == 0; i++)
		e = buf_put_fmt(&p->net_text, "\n%s=%s", option[i].key, option[i].value);
	if (e < 0 || (e = buf_terminate(&p->net_text)) < 0)
		front_die(NULL, e);
	if (is_included_net(p->net) && tensors_is_utf8((char *)p->net_text.p))
		p->train.net_text = (char *)p->net_text.p;
}

static const char *
find_option(const struct pworker *p, const char *key)
{
	const char *value = NULL;

	for (uint32_t i = 0; i < p->noption; i++)
		if (strcmp(p->option[i].key, key) == 0)
			value = p->option[i].value;
	return value;
}

/* Adds the options in lines KEY=VALUE that are not given, and reports those that are given with another value. */
static void
take_options(struct pworker *p, const char *weights, char *lines)
{
	const char *given;
	char *line, *value;

	while ((line = strsep(&lines, "\n")) != NULL) {
		if ((value = strchr(line, '=')) == NULL || p->noption == SCRIPT_OPTS)
			front_wrong("%s: its net has an option '%.64s'; name the net with --net", weights, line);
		*value++ = 0;
		given = find_option(p, line);
		if (given == NULL)
			p->option[p->noption++] = (struct script_opt){ line, value };
		else if (strcmp(given, value) != 0 && p->train.ps.rank == 0)
			front_say("--%s %s: %s was trained with %s", line, given, weights, value);
	}
}

static void
take_shape(struct pworker *p, const char *weights)
{
	struct graph *g;

	front_must(NULL, weights_read_graph(weights, &g));
	if (g != NULL && p->c == 0) {
		p->c = g->node[0].c;
		p->h = g->node[0].h;
		p->w = g->node[0].w;
	}
	graph_free(g);
}

void
pworker_take_net(struct pworker *p)
{
	const char *path = p->train.resume != NULL ? p->train.resume : p->train.start, *text;
	struct tensors t;
	struct stat st;
	char *options;

	if (p->mode != PWORKER_TRAIN || path == NULL || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
		return;
	/* Another worker's host may lack the file; with --net it is not needed yet. */
	if (p->net != NULL && access(path, F_OK) < 0)
		return;
	front_must(NULL, tensors_open(&t, path));
	if ((text = tensors_meta(&t, WEIGHTS_NET)) != NULL && (p->taken = options = strdup(text)) == NULL)
		front_die(path, err_nomem());
	tensors_close(&t);
	if (text == NULL)
		return;
	text = strsep(&options, "\n");
	if (p->net != NULL && strcmp(p->net, text) != 0)
		return;
	/* A name of the file is no reason to run a script elsewhere. */
	if (!is_included_net(text))
		front_wrong("%s: net '%.64s' is not included; name its script with --net", path, text);
	p->net = text;
	p->weights_net = true;
	if (options != NULL)
		take_options(p, path, options);
	take_shape(p, path);
}
