/* pworker_judge - what a trained net says of records: a score of all, a row a picture, or batch norm's statistics. */
#include "pworker.h"
#include "pworker_open.h"
#include "front.h"

#include "base/err.h"
#include "ps/judge.h"
#include "ps/stats.h"
#include "wire/conn.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIVE 5u

enum { O_EVAL, O_FLIP, O_NOAVERAGE, O_PREDICT, O_SHIFT, O_STATISTICS, O_TOP };

static const struct option longs[] = {
	{ "eval", required_argument, NULL, O_EVAL },
	{ "flip", no_argument, NULL, O_FLIP },
	{ "no-average", no_argument, NULL, O_NOAVERAGE },
	{ "predict", required_argument, NULL, O_PREDICT },
	{ "shift", required_argument, NULL, O_SHIFT },
	{ "statistics", required_argument, NULL, O_STATISTICS },
	{ "top", required_argument, NULL, O_TOP },
	{ NULL, 0, NULL, 0 }
};

static void
take(struct pworker *p, int c, char *text)
{
	switch (c) {
	case O_EVAL:	p->judged = text; p->verdict = WORKER_SCORE; break;
	case O_FLIP:	p->train.views.flip = true; break;
	case O_NOAVERAGE: p->no_average = true; break;
	case O_PREDICT:	p->judged = text; p->verdict = WORKER_ROWS; break;
	case O_SHIFT:	p->train.views.shift = (uint32_t)front_num("--shift", text, 0, 65535); break;
	case O_STATISTICS: p->judged = text; p->verdict = WORKER_STATISTICS; break;
	case O_TOP:	p->top = (uint32_t)front_num("--top", text, 1, 1 << 24); break;
	}
}

const struct worker_theme worker_judge_theme = { longs, take, NULL };

/* What is summed over the samples, or how many rows each gets. */
struct job {
	uint32_t	 classes, top;
	uint64_t	 n, first, five;	/* samples with a label, those right at once and among the first five */
	double		 loss;
	uint32_t	*order;		/* [classes] */
};

static void
warn(void *arg, uint32_t n, const char *why)
{
	(void)arg;
	err_note(0, "%s", why);
	front_warn(NULL, ERR_ITEM);
	if (n > 1)
		front_say("... and %u more of that batch", n - 1);
}

/* How many classes are more probable than c; of equals the lower number counts as more. */
static uint32_t
rank(const float *p, uint32_t classes, uint32_t c)
{
	uint32_t better = 0;

	for (uint32_t i = 0; i < classes; i++)
		better += p[i] > p[c] || (p[i] == p[c] && i < c);
	return better;
}

static int
score(void *arg, uint64_t id, int32_t label, const float *p)
{
	struct job *j = arg;
	uint32_t at;

	(void)id;
	if (label < 0 || (uint32_t)label >= j->classes)
		return 0;
	at = rank(p, j->classes, (uint32_t)label);
	j->n++;
	j->first += at == 0;
	j->five += at < FIVE;
	j->loss -= log(fmax((double)p[label], 1e-37));
	return 0;
}

static int
row(void *arg, uint64_t id, int32_t label, const float *p)
{
	struct job *j = arg;

	(void)label;
	for (uint32_t i = 0; i < j->classes; i++)
		j->order[rank(p, j->classes, i)] = i;
	for (uint32_t k = 0; k < j->top; k++)
		printf("%" PRIu64 "\t%u\t%.6f\n", id, j->order[k], (double)p[j->order[k]]);
	front_flush();
	return 0;
}

static void
run(struct judge_opt *o, struct job *j)
{
	int e;

	o->bad = warn;
	o->arg = j;
	if ((e = judge_run(o)) < 0)
		front_die(NULL, e);
}

/* The sums of all records. */
static void
put_score(struct judge_opt *o)
{
	struct job j = { .classes = o->weights->graph->classes };

	o->sample = score;
	run(o, &j);
	if (j.n == 0) {
		err_note(0, "no record has a label below %u", j.classes);
		front_die(NULL, ERR_FORMAT);
	}
	printf("samples\tloss\taccuracy\ttop5_accuracy\n%" PRIu64 "\t%.6f\t%.6f\t%.6f\n", j.n, j.loss / (double)j.n,
	    (double)j.first / (double)j.n, (double)j.five / (double)j.n);
	front_flush();
}

/* The `top` most probable classes of each picture, a row each. */
static void
put_rows(struct judge_opt *o, uint32_t top)
{
	struct job j = { .classes = o->weights->graph->classes };

	j.top = top < j.classes ? top : j.classes;
	if ((j.order = calloc(j.classes, sizeof(*j.order))) == NULL)
		front_die(NULL, err_nomem());
	o->sample = row;
	printf("id\tclass\tprobability\n");
	run(o, &j);
	free(j.order);
}

/* The weights with new statistics, on standard output. */
static void
put_weights(const struct pworker *p, const struct judge_opt *j, struct weights *f)
{
	const struct stats_opt o = { .engine = j->engine, .threads = j->threads, .weights = f, .data = j->data,
		.seed = p->train.seed, .steps = p->train.steps, .bad = warn };
	uint64_t samples;
	int e;

	if (isatty(STDOUT_FILENO))
		front_wrong("--statistics: weights do not go to a terminal: say > FILE");
	if ((e = stats_run(&o, f->aux, &samples)) < 0 ||
	    (e = weights_save("-", f->graph, f->w, f->aux, f->state, f->rule, NULL, f->meta, f->nmeta)) < 0)
		front_die(NULL, e);
	front_say("%s: statistics of %" PRIu64 " samples", p->judged, samples);
}

/* An average of the weights is what training validates, so it is what counts here too. */
static void
take_average(struct weights *f)
{
	if (f->average == NULL)
		return;
	memcpy(f->w, f->average, f->graph->P * sizeof(float));
	memcpy(f->aux, f->average + f->graph->P, f->graph->A * sizeof(float));
	front_say("takes the average of the weights");
}

/* Weights that know their net, and records: no training. */
int
worker_judge(struct pworker *p)
{
	struct train_opt *t = &p->train;
	struct weights f;
	struct judge_opt o = { .engine = engine_find(p->engine), .devices = t->devices, .threads = t->threads,
	    .precision = t->precision, .weights = &f, .views = t->views };
	const char *file = p->data_key != NULL ? p->data_key : p->key;
	uint8_t key[CONN_KEY];
	float *mean = NULL;
	int e;

	worker_batch_settle(&p->batch, t);
	if (o.engine == NULL)
		front_die("--engine", ERR_ARG);
	if ((e = weights_load(p->judged, NULL, &f)) < 0)
		front_die(NULL, e);
	if (!p->no_average)
		take_average(&f);
	if (file != NULL && (e = conn_key_read(file, key)) < 0)
		front_die(file, e);
	t->data.recs = worker_open_records(t->data.path, file != NULL ? key : NULL);
	if (p->mean != NULL)
		mean = worker_open_mean(p->mean, t, f.graph);
	o.data = t->data;
	o.data.aug.mean = mean;
	o.data.aug.seed = t->seed;
	switch (p->verdict) {
	case WORKER_SCORE:	put_score(&o); break;
	case WORKER_ROWS:	put_rows(&o, p->top > 0 ? p->top : 1); break;
	case WORKER_STATISTICS:	put_weights(p, &o, &f); break;
	}
	recs_close(t->data.recs);
	weights_free(&f);
	free(mean);
	return front_status();
}
