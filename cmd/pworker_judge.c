/* pworker_judge - what a trained net says of records: a score of all, or a row a picture. */
#include "pworker_judge.h"
#include "front.h"

#include "base/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FIVE 5u

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

void
worker_judge_score(struct judge_opt *o)
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

void
worker_judge_rows(struct judge_opt *o, uint32_t top)
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
