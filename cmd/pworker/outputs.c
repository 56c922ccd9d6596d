/* outputs - figures of evaluated samples whose outputs are compared with numbers: several labels, or values. */
#include "pworker/outputs.h"
#include "pworker/confusion.h"

#include "base/err.h"
#include "engine/score.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct pair {
	float	 p, target;
};

/* The figures of one label. */
struct label {
	uint64_t samples, predicted, both, right;
	double	 average_precision;
};

int
outputs_add(struct outputs *o, const float *target, const float *p)
{
	bool right;

	o->sum += score_targets(o->loss, p, target, o->n, &right);
	o->right += right;
	o->samples++;
	for (uint32_t k = 0; k < o->n; k++) {
		double away = (double)p[k] - target[k];

		if (!isnan(target[k])) {
			o->squares += away * away;
			o->distances += fabs(away);
			o->known++;
		}
		if (o->loss == GRAPH_LOSS_SIGMOID)
			ERR_TRY(buf_put(&o->pairs, &(struct pair){ p[k], target[k] }, sizeof(struct pair)));
	}
	return 0;
}

void
outputs_close(struct outputs *o)
{
	buf_free(&o->pairs);
}

static int
compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return (x->p < y->p) - (x->p > y->p);
}

/* Counts the pairs [n] of a label, and sorts them. */
static struct label
measure_label(struct pair *pair, uint64_t n)
{
	struct label l = { 0 };
	uint64_t found = 0, before = 0;

	for (uint64_t i = 0; i < n; i++) {
		bool is = pair[i].target >= 0.5f, predicted = pair[i].p >= 0.5f;

		l.samples += is;
		l.predicted += predicted;
		l.both += is && predicted;
		l.right += is == predicted;
	}
	qsort(pair, n, sizeof(*pair), compare_pairs);
	for (uint64_t i = 0; i < n; i++) {
		found += pair[i].target >= 0.5f;
		/* Samples of equal probability are found together. */
		if (found == before || (i + 1 < n && pair[i + 1].p == pair[i].p))
			continue;
		l.average_precision += (double)(found - before) / (double)l.samples * (double)found / (double)(i + 1);
		before = found;
	}
	return l;
}

static double
get_f1(const struct label *l)
{
	uint64_t all = l->samples + l->predicted;

	return all > 0 ? 2 * (double)l->both / (double)all : 0;
}

static void
print_label_rows(const struct outputs *o, const struct label *label)
{
	printf("\nlabel\tsamples\tpredicted\tprecision\trecall\tf1\taverage_precision\n");
	for (uint32_t k = 0; k < o->n; k++) {
		const struct label *l = &label[k];

		confusion_print_name(o->names, k);
		printf("\t%" PRIu64 "\t%" PRIu64, l->samples, l->predicted);
		confusion_print_share((double)l->both, l->predicted);
		confusion_print_share((double)l->both, l->samples);
		confusion_print_share(get_f1(l) * (double)l->samples, l->samples);
		confusion_print_share(l->average_precision * (double)l->samples, l->samples);
		putchar('\n');
	}
}

static int
print_labels(const struct outputs *o, bool each)
{
	const struct pair *all = (const struct pair *)o->pairs.p;
	struct label *label = calloc(o->n, sizeof(*label));
	struct pair *pair = calloc(o->samples + 1, sizeof(*pair));
	double f1 = 0, precision = 0;
	uint64_t right = 0, had = 0;

	if (label == NULL || pair == NULL) {
		free(label);
		free(pair);
		return err_nomem();
	}
	for (uint32_t k = 0; k < o->n; k++) {
		uint64_t known = 0;

		for (uint64_t i = 0; i < o->samples; i++)
			if (!isnan(all[i * o->n + k].target))
				pair[known++] = all[i * o->n + k];
		label[k] = measure_label(pair, known);
		right += label[k].right;
		if (label[k].samples == 0)
			continue;
		had++;
		f1 += get_f1(&label[k]);
		precision += label[k].average_precision;
	}
	printf("samples\tloss\taccuracy\tlabel_accuracy\tf1\taverage_precision\n%" PRIu64 "\t%.6f", o->samples,
	    o->sum / (double)o->samples);
	confusion_print_share((double)o->right, o->samples);
	confusion_print_share((double)right, o->known);
	confusion_print_share(f1, had);
	confusion_print_share(precision, had);
	putchar('\n');
	if (each)
		print_label_rows(o, label);
	free(label);
	free(pair);
	return 0;
}

int
outputs_print(const struct outputs *o, bool each)
{
	double values = (double)o->known;

	if (o->loss == GRAPH_LOSS_SIGMOID)
		return print_labels(o, each);
	printf("samples\tloss\trmse\tmae\n%" PRIu64 "\t%.6g\t%.6g\t%.6g\n", o->samples, o->sum / (double)o->samples,
	    sqrt(o->squares / values), o->distances / values);
	return 0;
}

void
outputs_print_values(const struct outputs *o, const char *id, const float *p)
{
	for (uint32_t k = 0; k < o->n; k++) {
		printf("%s\t%" PRIu32 "\t%.6g", id, k, (double)p[k]);
		if (o->names->n > 0) {
			putchar('\t');
			confusion_print_name(o->names, k);
		}
		putchar('\n');
	}
}
