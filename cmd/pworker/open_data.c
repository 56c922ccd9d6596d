/* open_data - opens records, and prepares images as the weights need them. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "record/recs_stream.h"
#include "batch/mean.h"
#include "dataset/dataset_client.h"
#include "train/preprocess.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest and least usual distance between black and white; with --std-rgb 58 it is 4.4. */
#define SPAN		16
#define LEAST_SPAN	0.1f

void
pworker_report_wait(void *arg, const char *whom)
{
	(void)arg;
	front_say("waiting for %s", whom);
}

static void
report_mean_wait(void *arg, const char *whom)
{
	front_say("waiting for %s, which %s makes", (const char *)arg, whom);
}

struct recs *
pworker_open_records(const char *path, const uint8_t *key)
{
	struct recs *r;
	int e;

	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		front_wrong("standard input is a terminal; pipe records into it, or name a file of them");
	if (recs_stream_is(path))
		return NULL;
	if (!dataset_client_is_addr(path))
		e = recs_open(path, &r);
	else if (key == NULL)
		front_wrong("%s: needs --data-key-file, or the job's --key-file", path);
	else
		e = dataset_client_open(&(struct dataset_client_opt){ .addr = path, .key = key,
		    .waiting = pworker_report_wait }, &r);
	front_must(NULL, e);
	return r;
}

static float *
open_mean(const struct pworker *p, const struct graph *g)
{
	const struct train_opt *t = &p->train;
	const char *path = p->mean;
	const struct graph_node *x = &g->node[0];
	float *mean = calloc((size_t)x->c * x->h * x->w, sizeof(*mean));
	struct aug aug = t->data.aug;
	struct stat st;
	const char *slash;
	char *folder = NULL;
	int e;

	if (mean == NULL)
		front_die(path, err_nomem());
	if ((slash = strrchr(path, '/')) != NULL && slash > path &&
	    (folder = strndup(path, (size_t)(slash - path))) == NULL)
		front_die(path, err_nomem());
	if (folder != NULL && access(folder, F_OK) < 0)
		front_wrong("--mean: %s: there is no folder %s", path, folder);
	free(folder);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		front_wrong("--mean: %s: is a folder; name a mean image, or a file to have one made", path);
	if (path[strspn(path, "0123456789.,")] == 0 && access(path, F_OK) < 0)
		front_wrong("--mean: %s: is no file; --mean-rgb takes numbers", path);
	if (t->data.recs == NULL && access(path, R_OK) < 0)
		front_wrong("--mean: %s does not exist, and cannot be made from a pipe", path);
	if (p->mode != PWORKER_TRAIN && access(path, R_OK) < 0)
		front_wrong("--mean: %s does not exist, and is made from records of training alone", path);
	aug.c = x->c;
	aug.h = x->h;
	aug.w = x->w;
	e = mean_get(path, t->data.recs, &aug, t->data.threads, report_mean_wait, (void *)(uintptr_t)path, mean);
	front_must(NULL, e);
	if (e > 0)
		front_say("%s: made from the records of %s", path, t->data.recs->path);
	return mean;
}

/* Reports that an option differs from the preprocessing of the weights. */
static void
report_difference(const struct pworker *p, const char *option, const char *value, const char *weights, const char *was)
{
	if (p->train.ps.rank == 0)
		front_say("--%s %s: %s was trained with %s", option, value, weights, was);
}

/*
 * Takes each field from the file unless its option is given.  Images outside records get the size that the records
 * were packed with; --resize to that size is no difference.
 */
static void
use_preprocessing(struct pworker *p, const char *weights, struct preprocess *file)
{
	struct preprocess mine;

	preprocess_from_aug(&p->train.data.aug, &mine);
	mine.label_at = (float)p->train.data.label_at;
	if (p->mode != PWORKER_TRAIN)
		mine.packed = file->packed;
	if (file->resize <= 0 && (p->train.data.stream != NULL || mine.resize == file->packed))
		file->resize = file->packed;
	for (const struct preprocess_field *f = preprocess_fields; f->name != NULL; f++) {
		float *a = preprocess_get(&mine, f), *b = preprocess_get(file, f);
		struct buf is = { 0 }, was = { 0 };

		if (f->option == NULL)
			continue;
		if (pworker_given(p, f->option) == PWORKER_ABSENT) {
			memcpy(a, b, f->n * sizeof(*a));
			continue;
		}
		if (preprocess_put_field(&mine, f, &is) < 0 || preprocess_put_field(file, f, &was) < 0 ||
		    buf_terminate(&is) < 0 || buf_terminate(&was) < 0)
			front_die(NULL, ERR_NOMEM);
		if (strcmp(f->name, "mean") == 0 && file->has_mean_image > 0)
			report_difference(p, f->option, (char *)is.p, weights, "a mean image");
		else if (memcmp(a, b, f->n * sizeof(*a)) != 0)
			report_difference(p, f->option, (char *)is.p, weights, (char *)was.p);
		buf_free(&is);
		buf_free(&was);
	}
	preprocess_to_aug(&mine, &p->train.data.aug);
}

void
pworker_take_label(struct pworker *p, const char *weights)
{
	struct preprocess file;
	struct stat st;

	if (weights == NULL || pworker_given(p, "label-at") != PWORKER_ABSENT || stat(weights, &st) < 0 ||
	    !S_ISREG(st.st_mode))
		return;
	front_must(NULL, preprocess_read(weights, &file));
	p->train.data.label_at = (uint32_t)file.label_at;
	preprocess_free(&file);
}

/* Takes the mean image out of the file's preprocessing, for an input [c,h,w]. */
static float *
take_mean_image(const char *weights, struct preprocess *file, const struct graph_node *x)
{
	float *mean = file->mean_image;

	if (mean == NULL)
		front_wrong("%s: was trained with a mean image, which the file lacks; use --mean FILE", weights);
	if (file->c != x->c || file->h != x->h || file->w != x->w)
		front_wrong("%s: its mean image has another shape than the net's input %ux%ux%u; use --mean FILE",
		    weights, x->c, x->h, x->w);
	file->mean_image = NULL;
	return mean;
}

static bool
has_batch_norm(const struct graph *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->node[i].op == GRAPH_BN)
			return true;
	return false;
}

static bool
gives_mean(const struct pworker *p, enum pworker_given how)
{
	return pworker_given(p, "mean") == how || pworker_given(p, "mean-rgb") == how;
}

/* Normalizes pixels as the net's script proposes, unless an option does. */
static void
use_net_defaults(struct pworker *p, const struct graph *g)
{
	static const char *const option[] = { "mean", "mean-rgb", "std-rgb", "scale" };
	struct aug *a = &p->train.data.aug;

	for (size_t i = 0; i < sizeof(option) / sizeof(*option); i++)
		if (pworker_given(p, option[i]) != PWORKER_ABSENT)
			return;
	memcpy(a->mean_of, g->defaults.mean, sizeof(a->mean_of));
	memcpy(a->std_of, g->defaults.std, sizeof(a->std_of));
}

static bool
has_normalization(const struct pworker *p, enum pworker_given how)
{
	return gives_mean(p, how) || pworker_given(p, "std-rgb") == how || pworker_given(p, "scale") == how;
}

/* PyTorch's means and deviations are for pixels from 0 to 1. */
static bool
is_for_unit_pixels(const struct pworker *p)
{
	const struct aug *a = &p->train.data.aug;

	if (p->mean != NULL || pworker_given(p, "std-rgb") != PWORKER_GIVEN ||
	    pworker_given(p, "scale") != PWORKER_ABSENT)
		return false;
	for (int c = 0; c < 3; c++)
		if (a->std_of[c] >= 1 || a->mean_of[c] > 1 || a->mean_of[c] < 0)
			return false;
	return true;
}

static void
report_unit_pixels(const struct aug *a)
{
	const float *m = a->mean_of, *s = a->std_of;

	front_say("--std-rgb: pixels are 0 to 255, so use 255 times these numbers: --mean-rgb %.6g,%.6g,%.6g --std-rgb "
	    "%.6g,%.6g,%.6g", 255 * (double)m[0], 255 * (double)m[1], 255 * (double)m[2], 255 * (double)s[0],
	    255 * (double)s[1], 255 * (double)s[2]);
}

/*
 * Warns of pixels that options and defaults leave too far apart, or too close.  The deviation of photographs is near a
 * quarter of the span, and first weights and rates are meant for one near 1.  Recipes know what they do.
 */
static void
warn_raw_pixels(const struct pworker *p, const struct graph *g)
{
	const struct aug *a = &p->train.data.aug;
	float span = 0;

	if (p->train.ps.rank > 0 || has_normalization(p, PWORKER_BY_RECIPE))
		return;
	for (uint32_t c = 0; c < g->node[0].c && c < 3; c++)
		span = fmaxf(span, 255 * (a->scale > 0 ? a->scale : 1) / (a->std_of[c] > 0 ? a->std_of[c] : 1));
	if (is_for_unit_pixels(p))
		report_unit_pixels(a);
	else if (span < LEAST_SPAN)
		front_say("%s: pixels span only %.3g; leave out --std-rgb or --scale", p->net, (double)span);
	else if (span > SPAN && !has_batch_norm(g))
		front_say("%s: pixels span %.3g%s, and the net has no batch norm to scale them; %s --std-rgb 58 or "
		    "--scale 0.00390625", p->net, (double)span,
		    gives_mean(p, PWORKER_GIVEN) ? " after the mean is subtracted" : "",
		    pworker_given(p, "std-rgb") != PWORKER_ABSENT ? "use" : "add");
}

/* Files of other programs do not tell how images were made, and the net's defaults are for first weights. */
static void
report_unknown_pixels(const struct pworker *p, const char *weights)
{
	if (!has_normalization(p, PWORKER_GIVEN) && !has_normalization(p, PWORKER_BY_RECIPE))
		front_say("%s: does not say how its images were made, so pixels are 0 to 255; --mean-rgb, --std-rgb "
		    "and --scale change that", weights);
}

float *
pworker_open_preprocess(struct pworker *p, const char *weights, const struct graph *g, const struct pworker_look *l)
{
	const struct graph_node *x = &g->node[0];
	size_t bytes = (size_t)x->c * x->h * x->w * sizeof(float);
	struct preprocess file = { 0 };
	struct stat st = { 0 };
	float *mean = NULL;
	bool old = false;	/* a checkpoint without preprocessing */
	uint32_t packed = 0;
	int known = 0;

	/* Another worker's host may lack the file; train_agree.c compares. */
	if (weights != NULL && stat(weights, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			front_say("%s: is a pipe; images are prepared as the options say", weights);
		else if ((known = preprocess_read(weights, &file)) < 0)
			front_die(NULL, known);
		old = known == 0 && p->train.resume != NULL;
	}
	if (known > 0) {
		packed = (uint32_t)file.packed;
		use_preprocessing(p, weights, &file);
	} else if (p->mode == PWORKER_TRAIN && !old) {
		use_net_defaults(p, g);
		pworker_choose_size(p, g, l);
	}
	/* A recipe names what training makes; afterwards the weights have the same image. */
	if (p->mean != NULL && p->mode != PWORKER_TRAIN && pworker_given(p, "mean") == PWORKER_BY_RECIPE &&
	    access(p->mean, F_OK) < 0)
		p->mean = NULL;
	if (p->mean != NULL) {
		mean = open_mean(p, g);
		if (known > 0 && (file.mean_image == NULL || file.c != x->c || file.h != x->h || file.w != x->w ||
		    memcmp(mean, file.mean_image, bytes) != 0))
			report_difference(p, "mean", p->mean, weights, file.has_mean_image > 0 ?
			    "another mean image" : "no mean image");
	} else if (file.has_mean_image > 0 && pworker_given(p, "mean-rgb") == PWORKER_ABSENT) {
		mean = take_mean_image(weights, &file, x);
	}
	preprocess_free(&file);
	if (known > 0)
		pworker_compare_sizes(p, weights, packed, g, l);
	if (known == 0 && p->mode == PWORKER_TRAIN && !old)
		warn_raw_pixels(p, g);
	if (known == 0 && p->mode != PWORKER_TRAIN && S_ISREG(st.st_mode))
		report_unknown_pixels(p, weights);
	return mean;
}
