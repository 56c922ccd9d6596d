/* evaluate - evaluation of trained weights: loss and accuracy, predictions, or statistics of batch norm. */
#include "pworker/pworker.h"
#include "pworker/confusion.h"
#include "pworker/outputs.h"
#include "front.h"
#include "front_wait.h"

#include "base/err.h"
#include "base/num.h"
#include "engine/score.h"
#include "record/recmaker.h"
#include "record/recs.h"
#include "record/recs_stream.h"
#include "source/suffix.h"
#include "train/eval.h"
#include "train/preprocess.h"
#include "train/stats.h"
#include "wire/conn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
select_mode(struct pworker *p, const char *option, char *file)
{
	enum pworker_mode mode = strcmp(option, "--eval") == 0 ? PWORKER_EVAL :
	    strcmp(option, "--predict") == 0 ? PWORKER_PREDICT : PWORKER_STATISTICS;

	if (p->mode != PWORKER_TRAIN && p->mode != mode)
		front_wrong("more than one of --eval, --predict and --statistics");
	p->weights = file;
	p->mode = mode;
}

static const struct pworker_option eval_options[] = {
	{ "confusion", PWORKER_FLAG, PWORKER_MEMBER(confusion), .needs = NEED_EVAL },
	{ "eval", PWORKER_VALUE, .apply = select_mode },
	{ "final-views", PWORKER_FLAG, PWORKER_MEMBER(train.final_views), .needs = NEED_TRAINING | NEED_VIEWS },
	{ "flip", PWORKER_FLAG, PWORKER_MEMBER(train.views.flip), .needs = NEED_VIEWS },
	{ "no-average", PWORKER_FLAG, PWORKER_MEMBER(no_average), .needs = NEED_EVALUATION },
	{ "predict", PWORKER_VALUE, .apply = select_mode },
	{ "shift", PWORKER_WHOLE, PWORKER_MEMBER(train.views.shift), 0, 65535, .needs = NEED_VIEWS },
	{ "statistics", PWORKER_VALUE, .apply = select_mode },
	{ "top", PWORKER_WHOLE, PWORKER_MEMBER(top), 1, 1 << 24, .needs = NEED_PREDICTION },
	{ 0 }
};

/* Without --data and images, --eval and --predict read standard input, unless it is a terminal. */
static void
settle_eval_options(struct pworker *p)
{
	bool evaluates = p->mode != PWORKER_TRAIN, statistics = p->mode == PWORKER_STATISTICS;
	const char *data = p->train.data.path;

	if (!evaluates && p->nimage > 0 && p->before != NULL)
		front_wrong("'%.64s': %s takes no value", p->image[0], p->before);
	if (!evaluates && p->nimage > 0 && suffix_is(p->image[0], strlen(p->image[0]), ".rec"))
		front_wrong("'%.64s' is not an option; did you mean --data %.64s?", p->image[0], p->image[0]);
	if (!evaluates && p->nimage > 0)
		front_wrong("'%.64s' is not an option; images are for --eval and --predict; --help shows "
		    "the usage", p->image[0]);
	if (evaluates && data == NULL && p->nimage == 0 && (statistics || isatty(STDIN_FILENO)))
		front_wrong("needs --data, or images after the options; --help shows the usage");
	if (evaluates && p->net == NULL && p->noption > 0) {
		pworker_propose(p->option[0].key);
		front_wrong("--%s: needs --net if it is an option of a net; pworker has no such option",
		    p->option[0].key);
	}
	if (statistics && p->train.devices != NULL && strchr(p->train.devices, ',') != NULL)
		front_wrong("--statistics: runs on one device, not on %.64s", p->train.devices);
	if (p->train.final_views && !p->train.views.flip && p->train.views.shift == 0)
		front_wrong("--final-views: needs --flip or --shift");
	if (p->train.final_views && (p->train.best || p->train.patience > 0 || p->train.updates > 0)) {
		if (pworker_given(p, "final-views") == PWORKER_GIVEN && p->train.updates > 0)
			front_wrong("--final-views: does not go with --updates, which may end any epoch");
		if (pworker_given(p, "final-views") == PWORKER_GIVEN)
			front_wrong("--final-views: does not go with --best and --patience, which compare epochs");
		p->train.final_views = false;
	}
	if (p->nimage > 0 && (data != NULL || statistics))
		front_wrong("%s: images do not go with %s", p->image[0], data != NULL ? "--data" : "--statistics");
}

const struct pworker_theme pworker_eval_theme = { eval_options, settle_eval_options };

#define BAD_LINES	10u	/* most records left out of a score that are named */

struct evaluation {
	uint32_t	 classes, top;
	uint64_t	 bad;		/* records left out of a score */
	uint64_t	 n;		/* samples evaluated; for a score only those with a label */
	uint64_t	 first, five;	/* samples whose class is the most probable, or among the first five */
	uint64_t	 not_finite;	/* samples with NaN probabilities: their values are too large */
	double		 loss;		/* sum */
	uint32_t	*order;		/* [top] classes by probability */
	const struct names *names;	/* names of the classes */
	struct confusion confusion;	/* its count is NULL without --confusion */
	struct outputs	 outputs;	/* results of a loss that compares outputs with numbers */
	bool		 labels;	/* print labels too */
	struct recmaker	*pics;		/* their names are the ids of the rows; NULL: records have numbers */
	struct buf	 name;
};

/* Reports a record that is left out. */
static void
warn_bad_record(void *arg, const char *why)
{
	(void)arg;
	front_warn(NULL, err_fail(ERR_ITEM, "%s", why));
}

/* The first records that are left out show why; a wrong folder would fill the screen. */
static void
count_bad_record(void *arg, const char *why)
{
	struct evaluation *j = arg;

	if (++j->bad <= BAD_LINES)
		warn_bad_record(arg, why);
}

static void
warn_bad_batch(void *arg, uint32_t n, const char *why)
{
	warn_bad_record(arg, why);
	if (n > 1)
		front_say("%u more of that batch are left out", n - 1);
}

static int
add_score(void *arg, uint64_t id, int32_t label, const float *target, const float *p)
{
	struct evaluation *j = arg;
	size_t before;

	(void)id;
	if (target != NULL) {
		bool finite = num_finite(p, j->classes);

		j->n += finite;
		j->not_finite += !finite;
		return finite ? outputs_add(&j->outputs, target, p) : 0;
	}
	if (label < 0 || (uint32_t)label >= j->classes)
		return 0;
	before = score_rank(p, j->classes, (size_t)label);
	j->n++;
	j->first += before == 0;
	j->five += before < ENGINE_TOP;
	j->not_finite += !num_finite(p, j->classes);
	j->loss += score_loss(p[label]);
	if (j->confusion.count != NULL)
		confusion_add(&j->confusion, (uint32_t)label, p);
	return 0;
}

/* Writes the record's number, or the image's name with tabs, newlines and backslashes escaped. */
static int
format_id(struct evaluation *j, uint64_t id)
{
	struct buf raw = { 0 };
	int e = 0;

	j->name.n = 0;
	if (j->pics == NULL)
		return buf_put_fmt(&j->name, "%" PRIu64, id) < 0 ? ERR_NOMEM : buf_terminate(&j->name);
	if ((e = recmaker_name(j->pics, id, &raw)) == 0)
		for (const char *c = (const char *)raw.p; *c != 0 && e == 0; c++) {
			const char *as = *c == '\t' ? "\\t" : *c == '\n' ? "\\n" : *c == '\\' ? "\\\\" : NULL;

			e = as != NULL ? buf_put(&j->name, as, 2) : buf_put(&j->name, c, 1);
		}
	buf_free(&raw);
	return e < 0 ? e : buf_terminate(&j->name);
}

/*
 * The class with the name of the innermost folder that names one and has the image, or -1.  Within an archive the path
 * follows ": ".
 */
static long
find_folder_class(const struct evaluation *j, const char *path)
{
	const char *inner = strstr(path, ": "), *end;
	long y = -1, here;

	for (path = inner != NULL ? inner + 2 : path; (end = strchr(path, '/')) != NULL; path = end + 1)
		if ((here = names_find(j->names, path, (size_t)(end - path))) >= 0)
			y = here;
	return y;
}

/* Prints the class that the sample is known to have: its name if classes have names, or a hyphen. */
static void
print_label(const struct evaluation *j, int32_t label)
{
	long y = label < 0 && j->pics != NULL ? find_folder_class(j, (const char *)j->name.p) : label;

	if (y < 0 || y >= (long)j->classes || (j->names->n > 0 && (size_t)y >= j->names->n))
		printf("\t-");
	else if (j->names->n > 0)
		printf("\t%s", j->names->p[y]);
	else
		printf("\t%ld", y);
}

static int
print_prediction(void *arg, uint64_t id, int32_t label, const float *target, const float *p)
{
	struct evaluation *j = arg;
	int e = format_id(j, id);

	(void)target;
	if (e < 0)
		return e;
	j->n++;
	if (!num_finite(p, j->classes)) {
		front_warn(NULL, err_fail(ERR_ITEM, "%s: its probabilities are NaN", (const char *)j->name.p));
		return 0;
	}
	if (j->outputs.loss == GRAPH_LOSS_SQUARED) {
		outputs_print_values(&j->outputs, (const char *)j->name.p, p);
		front_flush();
		return 0;
	}
	score_top(p, j->classes, j->top, j->order);
	for (uint32_t k = 0; k < j->top; k++) {
		printf("%s\t%u\t%.6f", (const char *)j->name.p, j->order[k], (double)p[j->order[k]]);
		if (j->names->n > 0)
			printf("\t%s", j->order[k] < j->names->n ? j->names->p[j->order[k]] : "-");
		if (j->labels)
			print_label(j, label);
		putchar('\n');
	}
	front_flush();
	return 0;
}

static void
run_evaluation(struct eval_opt *o, struct evaluation *j)
{
	int e;

	o->arg = j;
	e = eval_run(o);
	if (j->bad > BAD_LINES)
		front_say("%" PRIu64 " more are left out", j->bad - BAD_LINES);
	front_must(NULL, e);
}

static void
print_score(struct eval_opt *o, bool confusion, const struct names *names)
{
	const struct graph *g = o->weights->graph;
	struct evaluation j = { .classes = g->classes, .outputs = { g->node[g->n - 1].loss, g->classes, names } };

	if (confusion && j.outputs.loss == GRAPH_LOSS_SQUARED)
		front_wrong("--confusion: needs classes or labels; this net predicts values");
	if (confusion && j.outputs.loss == GRAPH_LOSS_SOFTMAX && confusion_open(&j.confusion, j.classes, names) < 0)
		front_die("--confusion", ERR_NOMEM);
	o->sample = add_score;
	o->bad = count_bad_record;
	run_evaluation(o, &j);
	if (j.n == 0) {
		if (graph_targets(g) == 0 && o->data.stream != NULL)
			err_note(0, "no image has a class; name the folder whose folders are the classes, or a .lst");
		else if (graph_targets(g) == 0)
			err_note(0, "no record has a label below %u", j.classes);
		else
			err_note(0, "no record has %u labels, and finite outputs to compare with them", j.classes);
		front_die(NULL, ERR_FORMAT);
	}
	if (graph_targets(g) > 0 && outputs_print(&j.outputs, confusion) < 0)
		front_die("--eval", ERR_NOMEM);
	else if (graph_targets(g) == 0)
		printf("samples\tloss\taccuracy\ttop5_accuracy\n%" PRIu64 "\t%.6f\t%.6f\t%.6f\n", j.n,
		    j.loss / (double)j.n, (double)j.first / (double)j.n, (double)j.five / (double)j.n);
	if (j.confusion.count != NULL)
		confusion_print(&j.confusion);
	confusion_close(&j.confusion);
	outputs_close(&j.outputs);
	front_flush();
	if (j.not_finite > 0)
		front_warn(NULL, err_fail(ERR_ITEM, "%" PRIu64 " samples have NaN probabilities", j.not_finite));
}

/* Prints the `top` most probable classes or labels of each image, or all its values, a row each. */
static void
print_predictions(struct eval_opt *o, uint32_t top, struct recmaker *pics, const struct pworker_classes *k)
{
	const struct graph *g = o->weights->graph;
	const struct names *names = &k->names;
	struct evaluation j = { .classes = g->classes, .pics = pics, .names = names,
	    .outputs = { g->node[g->n - 1].loss, g->classes, names } };

	j.top = top < j.classes ? top : j.classes;
	if ((j.order = calloc(j.top, sizeof(*j.order))) == NULL)
		front_die(NULL, err_nomem());
	o->sample = print_prediction;
	o->bad = warn_bad_record;
	j.labels = graph_targets(g) == 0 && (pics != NULL ? names->n > 0 : !k->foreign);
	o->data.unlabelled = true;
	printf("id\t%s%s%s\n", j.outputs.loss == GRAPH_LOSS_SQUARED ? "output\tvalue" : "class\tprobability",
	    names->n > 0 ? "\tname" : "", j.labels ? "\tlabel" : "");
	run_evaluation(o, &j);
	if (j.n == 0 && front_status() == 0)
		front_die(pics != NULL ? NULL : o->data.path, err_fail(ERR_FORMAT, "no image"));
	free(j.order);
	buf_free(&j.name);
}

/* Stores the preprocessing that the statistics were measured with, if the weights had any. */
static void
update_preprocessing(struct weights *f, const struct batch_opt *d)
{
	struct preprocess images;
	struct buf text = { 0 };

	preprocess_from_aug(&d->aug, &images);
	images.label_at = (float)d->label_at;
	for (uint32_t i = 0; i < f->nmeta; i++)
		if (strcmp(f->meta[i].key, WEIGHTS_PREPROCESSING) == 0) {
			free(f->meta[i].value);
			if (preprocess_put(&images, &text) < 0 || (f->meta[i].value = strdup((char *)text.p)) == NULL)
				front_die(NULL, err_nomem());
			buf_free(&text);
		}
}

/* Writes the weights with new statistics to standard output. */
static void
write_statistics(const struct pworker *p, const struct eval_opt *j, struct weights *f)
{
	const struct stats_opt o = { .engine = j->engine, .device = j->devices, .threads = j->threads,
		.precision = j->precision, .tune = j->tune, .weights = f, .data = j->data,
		.seed = p->train.seed, .steps = p->train.steps, .bad = warn_bad_batch };
	uint64_t samples;
	int e;

	if (isatty(STDOUT_FILENO))
		front_wrong("--statistics: weights cannot be written to a terminal; redirect to a FILE");
	if ((e = stats_run(&o, f->aux, &samples)) == 0 && !num_finite(f->aux, f->graph->A))
		e = err_fail(ERR_FORMAT, "statistics of %" PRIu64 " samples are NaN or infinite", samples);
	update_preprocessing(f, &j->data);
	if (e < 0 ||
	    (e = weights_save("-", &(struct weights_content){ .graph = f->graph, .w = f->w, .aux = f->aux,
	    .state = f->state, .rule = f->rule, .mean_image = j->data.aug.mean, .meta = f->meta,
	    .nmeta = f->nmeta })) < 0)
		front_die(NULL, e);
	front_say("%s: statistics of %" PRIu64 " samples", p->weights, samples);
}

/* Training validates the average of the weights if there is one, and so does evaluation. */
static void
use_average(struct weights *f)
{
	if (f->average == NULL)
		return;
	memcpy(f->w, f->average, f->graph->P * sizeof(float));
	memcpy(f->aux, f->average + f->graph->P, f->graph->A * sizeof(float));
	front_say("uses the average of the weights");
}

/* Is the net of --net that of the weights, with their names? */
static bool
names_own_net(const struct pworker *p, const struct graph *g)
{
	struct graph *own;
	struct stat st;
	bool same;

	if (p->start_rename != NULL || stat(p->weights, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	front_must(NULL, weights_read_graph(p->weights, &own));
	same = own != NULL && graph_hash(own) == graph_hash(g);
	graph_free(own);
	return same;
}

/* Loads weights with their net, or all arrays of the net of --net. */
static void
load_weights(struct pworker *p, struct weights *f)
{
	struct graph *g = p->net != NULL ? pworker_net(p) : NULL;
	struct weights_taken taken;

	if (g == NULL || names_own_net(p, g)) {
		graph_free(g);
		front_must(NULL, weights_load(p->weights, NULL, f));
		return;
	}
	*f = (struct weights){ .graph = g };
	f->w = calloc(f->graph->P + 1, sizeof(*f->w));
	f->aux = calloc(f->graph->A + 1, sizeof(*f->aux));
	if (f->w == NULL || f->aux == NULL)
		front_die(p->weights, err_nomem());
	front_must(NULL, weights_start(p->weights, p->start_rename, f->graph, f->w, f->aux, &taken));
	if (taken.left > 0)
		front_die(p->weights, err_fail(ERR_FORMAT, "lacks %u of the net's arrays: %.500s%s", taken.left,
		    (const char *)taken.names.p, taken.names.n > 500 ? " ..." : ""));
	buf_free(&taken.names);
}

/* Opens the images of the command line or of standard input.  Returns NULL if these are records. */
static struct recmaker *
open_images(struct pworker *p, const struct graph *g)
{
	static const char *const in[] = { "-" };
	const char *const *path = p->nimage > 0 ? (const char *const *)p->image : in;
	bool classes = p->mode == PWORKER_EVAL;
	struct recmaker *pics;
	enum recmaker_kind kind;

	if (p->train.data.path != NULL && strcmp(p->train.data.path, "-") != 0)
		return NULL;
	for (size_t i = 0; i < p->nimage; i++)
		if (strcmp(path[i], "-") != 0 && recmaker_kind(path[i]) == RECMAKER_RECORDS)
			front_wrong("%s: holds records; use --data %s", path[i], path[i]);
	if (p->nimage == 0 || (p->nimage == 1 && strcmp(path[0], "-") == 0)) {
		front_wait_read("-");
		if ((kind = recmaker_kind("-")) == RECMAKER_RECORDS || p->mode == PWORKER_STATISTICS) {
			p->train.data.path = "-";
			return NULL;
		}
		if (kind == RECMAKER_NAMES && classes)
			front_wrong("--eval: names of images have no classes; give class folders or a .lst");
	}
	pworker_open_classes(p, p->weights, g);
	front_must(NULL, recmaker_open(path, p->nimage > 0 ? p->nimage : 1, classes, p->class.text, &pics));
	return pics;
}

static void
open_data(struct pworker *p, const struct graph *g, struct batch_opt *d, struct recmaker **pics)
{
	const char *file = p->data_key != NULL ? p->data_key : p->key;

	if ((*pics = open_images(p, g)) != NULL) {
		d->single_label = pworker_given(p, "label-at") == PWORKER_ABSENT;
		front_must(NULL, recs_stream_open_maker(*pics, &d->stream));
		return;
	}
	d->recs = pworker_open_records(d->path, file != NULL ? front_read_key(file) : NULL);
	pworker_open_classes(p, p->weights, g);
}

int
pworker_evaluate(struct pworker *p)
{
	struct train_opt *t = &p->train;
	struct weights f;
	struct eval_opt o = { .engine = engine_find(p->engine), .devices = t->devices, .threads = t->threads,
	    .precision = t->precision, .tune = t->tune, .weights = &f, .views = t->views };
	struct recmaker *pics;
	struct pworker_look look;
	float *mean;

	pworker_settle_batch(p);
	if (o.engine == NULL)
		front_die("--engine", ERR_ARG);
	load_weights(p, &f);
	if (!p->no_average)
		use_average(&f);
	pworker_take_label(p, p->weights);
	open_data(p, f.graph, &t->data, &pics);
	pworker_look(t->data.recs, pics == NULL ? t->data.path : NULL, &look);
	mean = pworker_open_preprocess(p, p->weights, f.graph, &look);
	o.data = t->data;
	o.data.aug.mean = mean;
	o.data.aug.seed = t->seed;
	if (pworker_given(p, "top") == PWORKER_GIVEN && f.graph->node[f.graph->n - 1].loss == GRAPH_LOSS_SQUARED)
		front_wrong("--top: needs probabilities; this net predicts values");
	switch (p->mode) {
	case PWORKER_PREDICT:	print_predictions(&o, p->top > 0 ? p->top : 1, pics, &p->class); break;
	case PWORKER_STATISTICS:	write_statistics(p, &o, &f); break;
	default:		print_score(&o, p->confusion, &p->class.names);
	}
	recs_stream_close(t->data.stream);
	recs_close(t->data.recs);
	recmaker_close(pics);
	weights_free(&f);
	free(mean);
	return front_status();
}
