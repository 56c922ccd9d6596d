/*
 * evaluate - what a trained net says of records or pictures: a score of all, a row a picture, or
 * batch norm's statistics.
 */
#include "pworker/pworker.h"
#include "pworker/open_data.h"
#include "front.h"

#include "base/err.h"
#include "base/num.h"
#include "engine/score.h"
#include "record/recpics.h"
#include "record/recs_stream.h"
#include "train/eval.h"
#include "train/stats.h"
#include "wire/conn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
set_verdict(struct pworker *p, enum worker_verdict verdict, const char *file)
{
	if (p->judged != NULL && p->verdict != verdict)
		front_wrong("more than one of --eval, --predict and --statistics");
	p->judged = file;
	p->verdict = verdict;
}

static void
apply_eval_option(struct pworker *p, int c, char *text)
{
	switch (c) {
	case O_EVAL:	set_verdict(p, WORKER_SCORE, text); break;
	case O_FLIP:	p->train.views.flip = true; break;
	case O_NOAVERAGE: p->no_average = true; break;
	case O_PREDICT:	set_verdict(p, WORKER_ROWS, text); break;
	case O_SHIFT:	p->train.views.shift = (uint32_t)front_num("--shift", text, 0, 65535); break;
	case O_STATISTICS: set_verdict(p, WORKER_STATISTICS, text); break;
	case O_TOP:	p->top = (uint32_t)front_num("--top", text, 1, 1 << 24); break;
	}
}

/* Samples come from somewhere: from standard input, where nothing was said, but not from a terminal. */
static void
settle_eval_options(struct pworker *p)
{
	bool none = p->train.data.path == NULL && p->npicture == 0;

	if (p->judged == NULL && p->npicture > 0)
		front_wrong("'%.64s' is no option, and pictures are for --eval and --predict", p->picture[0]);
	if (p->judged != NULL && none && (p->verdict == WORKER_STATISTICS || isatty(STDIN_FILENO)))
		front_usage();
	if (p->judged != NULL && p->net == NULL && p->noption > 0)
		front_wrong("--%s: needs --net", p->option[0].key);
	if (p->verdict == WORKER_STATISTICS && p->train.devices != NULL && strchr(p->train.devices, ',') != NULL)
		front_wrong("--statistics: goes on one device, not on %.64s", p->train.devices);
	if (p->npicture > 0 && (p->train.data.path != NULL || p->verdict == WORKER_STATISTICS))
		front_wrong("%s: pictures do not go with %s", p->picture[0],
		    p->train.data.path != NULL ? "--data" : "--statistics");
}

const struct worker_theme worker_judge_theme = { longs, apply_eval_option, settle_eval_options };

/* What is summed over the samples, or how many rows each gets. */
struct job {
	uint32_t	 classes, top;
	/* samples, of a score those with a label; those right at once and among the first five */
	uint64_t	 n, first, five;
	/* Finite weights and NaN probabilities: the values of the images are too large. */
	uint64_t	 odd;
	double		 loss;
	uint32_t	*order;		/* [top] */
	struct recpics	*pics;		/* whose names are the rows' ids, or NULL */
	struct buf	 name;
};

static void
warn_bad_record(void *arg, const char *why)
{
	(void)arg;
	err_note(0, "%s", why);
	front_warn(NULL, ERR_ITEM);
}

static void
warn_of_batch(void *arg, uint32_t n, const char *why)
{
	warn_bad_record(arg, why);
	if (n > 1)
		front_say("... and %u more of that batch", n - 1);
}

static int
add_score(void *arg, uint64_t id, int32_t label, const float *p)
{
	struct job *j = arg;
	size_t before;

	(void)id;
	if (label < 0 || (uint32_t)label >= j->classes)
		return 0;
	before = score_rank(p, j->classes, (size_t)label);
	j->n++;
	j->first += before == 0;
	j->five += before < ENGINE_TOP;
	j->odd += !num_finite(p, j->classes);
	j->loss += score_loss(p[label]);
	return 0;
}

/*
 * A record's number; a picture's name, in which \\t, \\n and \\\\ stand for what would end a field,
 * and for themselves.
 */
static int
id_text(struct job *j, uint64_t id)
{
	struct buf raw = { 0 };
	int e = 0;

	j->name.n = 0;
	if (j->pics == NULL)
		return buf_put_fmt(&j->name, "%" PRIu64, id) < 0 ? ERR_NOMEM : buf_terminate(&j->name);
	if ((e = recpics_name(j->pics, id, &raw)) == 0)
		for (const char *c = (const char *)raw.p; *c != 0 && e == 0; c++) {
			const char *as = *c == '\t' ? "\\t" : *c == '\n' ? "\\n" : *c == '\\' ? "\\\\" : NULL;

			e = as != NULL ? buf_put(&j->name, as, 2) : buf_put(&j->name, c, 1);
		}
	buf_free(&raw);
	return e < 0 ? e : buf_terminate(&j->name);
}

static int
print_prediction(void *arg, uint64_t id, int32_t label, const float *p)
{
	struct job *j = arg;
	int e = id_text(j, id);

	(void)label;
	if (e < 0)
		return e;
	j->n++;
	if (!num_finite(p, j->classes)) {
		err_note(0, "%s: its probabilities are no numbers", (const char *)j->name.p);
		front_warn(NULL, ERR_ITEM);
		return 0;
	}
	score_top(p, j->classes, j->order, j->top);
	for (uint32_t k = 0; k < j->top; k++)
		printf("%s\t%u\t%.6f\n", (const char *)j->name.p, j->order[k], (double)p[j->order[k]]);
	front_flush();
	return 0;
}

static void
run_evaluation(struct eval_opt *o, struct job *j)
{
	int e;

	o->bad = warn_bad_record;
	o->arg = j;
	if ((e = eval_run(o)) < 0)
		front_die(NULL, e);
}

/* The sums of all records. */
static void
put_score(struct eval_opt *o)
{
	struct job j = { .classes = o->weights->graph->classes };

	o->sample = add_score;
	run_evaluation(o, &j);
	if (j.n == 0) {
		err_note(0, "no record has a label below %u", j.classes);
		front_die(NULL, ERR_FORMAT);
	}
	printf("samples\tloss\taccuracy\ttop5_accuracy\n%" PRIu64 "\t%.6f\t%.6f\t%.6f\n", j.n, j.loss / (double)j.n,
	    (double)j.first / (double)j.n, (double)j.five / (double)j.n);
	front_flush();
	if (j.odd > 0) {
		err_note(0, "%" PRIu64 " samples have probabilities that are no numbers", j.odd);
		front_warn(NULL, ERR_ITEM);
	}
}

/* The `top` most probable classes of each picture, a row each. */
static void
put_rows(struct eval_opt *o, uint32_t top, struct recpics *pics)
{
	struct job j = { .classes = o->weights->graph->classes, .pics = pics };

	j.top = top < j.classes ? top : j.classes;
	if ((j.order = calloc(j.top, sizeof(*j.order))) == NULL)
		front_die(NULL, err_nomem());
	o->sample = print_prediction;
	printf("id\tclass\tprobability\n");
	run_evaluation(o, &j);
	if (j.n == 0 && front_status() == 0) {
		err_note(0, "no picture came");
		front_die(pics != NULL ? NULL : o->data.path, ERR_FORMAT);
	}
	free(j.order);
	buf_free(&j.name);
}

/* The weights with new statistics, on standard output. */
static void
put_weights(const struct pworker *p, const struct eval_opt *j, struct weights *f)
{
	const struct stats_opt o = { .engine = j->engine, .device = j->devices, .threads = j->threads,
		.precision = j->precision, .tune = j->tune, .weights = f, .data = j->data,
		.seed = p->train.seed, .steps = p->train.steps, .bad = warn_of_batch };
	uint64_t samples;
	int e;

	if (isatty(STDOUT_FILENO))
		front_wrong("--statistics: weights do not go to a terminal: say > FILE");
	if ((e = stats_run(&o, f->aux, &samples)) == 0 && !num_finite(f->aux, f->graph->A))
		e = err_fail(ERR_FORMAT, "statistics of %" PRIu64 " samples are no numbers", samples);
	if (e < 0 ||
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

/* Weights that know their net; or of a net that is named, whose arrays must all be there. */
static void
load_weights(struct pworker *p, struct weights *f)
{
	struct weights_taken taken;
	int e;

	if (p->net == NULL) {
		if ((e = weights_load(p->judged, NULL, f)) < 0)
			front_die(NULL, e);
		return;
	}
	*f = (struct weights){ .graph = worker_net(p) };
	f->w = calloc(f->graph->P + 1, sizeof(*f->w));
	f->aux = calloc(f->graph->A + 1, sizeof(*f->aux));
	if (f->w == NULL || f->aux == NULL)
		front_die(p->judged, err_nomem());
	if ((e = weights_start(p->judged, p->start_rename, f->graph, f->w, f->aux, &taken)) < 0)
		front_die(NULL, e);
	if (taken.left > 0) {
		err_note(0, "lacks %u of the net's arrays: %.500s%s", taken.left, (const char *)taken.names.p,
		    taken.names.n > 500 ? " ..." : "");
		front_die(p->judged, ERR_FORMAT);
	}
	buf_free(&taken.names);
}

/* Pictures of the command line or of standard input, unless what comes there are records; NULL: records. */
static struct recpics *
open_pictures(struct pworker *p)
{
	static const char *const in[] = { "-" };
	const char *const *path = p->npicture > 0 ? (const char *const *)p->picture : in;
	bool classes = p->verdict == WORKER_SCORE;
	struct recpics *pics;
	enum recpics_kind kind;
	int e;

	if (p->train.data.path != NULL && strcmp(p->train.data.path, "-") != 0)
		return NULL;
	for (size_t i = 0; i < p->npicture; i++)
		if (strcmp(path[i], "-") != 0 && recpics_kind(path[i]) == RECPICS_RECORDS)
			front_wrong("%s: holds records: say --data %s", path[i], path[i]);
	if (p->npicture == 0 || (p->npicture == 1 && strcmp(path[0], "-") == 0)) {
		if ((kind = recpics_kind("-")) == RECPICS_RECORDS || p->verdict == WORKER_STATISTICS) {
			p->train.data.path = "-";
			return NULL;
		}
		if (kind == RECPICS_NAMES && classes)
			front_wrong("--eval: names of pictures tell no classes: give it folders of them, or a .lst");
	}
	if ((e = recpics_open(&pics, path, p->npicture > 0 ? p->npicture : 1, classes)) < 0)
		front_die(NULL, e);
	return pics;
}

/* Where the samples come from, records or pictures. */
static void
open_data(struct pworker *p, struct batch_opt *d, struct recpics **pics)
{
	const char *file = p->data_key != NULL ? p->data_key : p->key;
	uint8_t key[CONN_KEY];
	int e;

	if ((*pics = open_pictures(p)) != NULL) {
		if ((e = recs_stream_open_pics(&d->stream, *pics)) < 0)
			front_die(NULL, e);
		return;
	}
	if (file != NULL && (e = conn_key_read(file, key)) < 0)
		front_die(file, e);
	d->recs = worker_open_records(d->path, file != NULL ? key : NULL);
}

/* No training. */
int
worker_judge(struct pworker *p)
{
	struct train_opt *t = &p->train;
	struct weights f;
	struct eval_opt o = { .engine = engine_find(p->engine), .devices = t->devices, .threads = t->threads,
	    .precision = t->precision, .tune = t->tune, .weights = &f, .views = t->views };
	struct recpics *pics;
	float *mean = NULL;

	worker_batch_settle(&p->batch, t);
	if (o.engine == NULL)
		front_die("--engine", ERR_ARG);
	load_weights(p, &f);
	if (!p->no_average)
		take_average(&f);
	open_data(p, &t->data, &pics);
	if (p->mean != NULL)
		mean = worker_open_mean(p->mean, t, f.graph);
	o.data = t->data;
	o.data.aug.mean = mean;
	o.data.aug.seed = t->seed;
	switch (p->verdict) {
	case WORKER_SCORE:	put_score(&o); break;
	case WORKER_ROWS:	put_rows(&o, p->top > 0 ? p->top : 1, pics); break;
	case WORKER_STATISTICS:	put_weights(p, &o, &f); break;
	}
	recs_stream_close(t->data.stream);
	recs_close(t->data.recs);
	recpics_close(pics);
	weights_free(&f);
	free(mean);
	return front_status();
}
