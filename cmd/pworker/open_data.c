/* open_data - what --data, --val and --mean name into records and a mean image. */
#include "pworker/open_data.h"
#include "front.h"

#include "base/err.h"
#include "record/recs_stream.h"
#include "batch/mean.h"
#include "dataset/dataset_client.h"

#include <stdlib.h>
#include <unistd.h>

static void
report_wait(void *arg, const char *whom)
{
	(void)arg;
	front_say("waiting for %s", whom);
}

static void
report_mean_wait(void *arg, const char *whom)
{
	front_say("waiting for %s, which is made by %s", (const char *)arg, whom);
}

struct recs *
worker_open_records(const char *path, const uint8_t *key)
{
	struct recs *r;
	int e;

	if (recs_stream_is(path))
		return NULL;
	if (!dataset_client_is_addr(path))
		e = recs_open(&r, path);
	else if (key == NULL)
		front_wrong("%s: records of another host need a --data-key-file or the job's --key-file", path);
	else
		e = dataset_client_open(&r, &(struct dataset_client_opt){ .addr = path, .key = key,
		    .waiting = report_wait });
	if (e < 0)
		front_die(NULL, e);
	return r;
}

float *
worker_open_mean(const char *path, const struct train_opt *t, const struct graph *g)
{
	const struct graph_node *x = &g->node[0];
	float *mean = calloc((size_t)x->c * x->h * x->w, sizeof(*mean));
	struct aug aug = t->data.aug;
	int e;

	if (mean == NULL)
		front_die(path, err_nomem());
	if (t->data.recs == NULL && access(path, R_OK) < 0)
		front_wrong("--mean: %s is not there, and is not made from a pipe", path);
	aug.c = x->c;
	aug.h = x->h;
	aug.w = x->w;
	e = mean_get(path, t->data.recs, &aug, t->data.threads, report_mean_wait, (void *)(uintptr_t)path, mean);
	if (e < 0)
		front_die(NULL, e);
	if (e > 0)
		front_say("%s: made from the records of %s", path, t->data.recs->path);
	return mean;
}
