/* confusion - counts evaluated samples by label and predicted class, and prints them as tables. */
#include "pworker/confusion.h"

#include "base/err.h"
#include "base/num.h"
#include "engine/score.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int
confusion_open(struct confusion *k, uint32_t classes, const struct names *names)
{
	k->classes = classes;
	k->names = names;
	k->count = calloc((size_t)classes * classes, sizeof(*k->count));
	return k->count != NULL ? 0 : err_nomem();
}

void
confusion_close(struct confusion *k)
{
	free(k->count);
}

void
confusion_add(struct confusion *k, uint32_t label, const float *p)
{
	uint32_t predicted;

	if (!num_finite(p, k->classes))
		return;
	score_top(p, k->classes, 1, &predicted);
	k->count[(size_t)label * k->classes + predicted]++;
}

void
confusion_print_name(const struct names *names, uint32_t c)
{
	if (c < names->n)
		fputs(names->p[c], stdout);
	else
		printf("%" PRIu32, c);
}

void
confusion_print_share(double part, uint64_t all)
{
	if (all > 0)
		printf("\t%.6f", part / (double)all);
	else
		fputs("\t-", stdout);
}

static void
print_class_row(const struct confusion *k, uint32_t c)
{
	uint64_t samples = 0, predicted = 0, both = k->count[(size_t)c * k->classes + c];

	for (uint32_t i = 0; i < k->classes; i++) {
		samples += k->count[(size_t)c * k->classes + i];
		predicted += k->count[(size_t)i * k->classes + c];
	}
	confusion_print_name(k->names, c);
	printf("\t%" PRIu64 "\t%" PRIu64, samples, predicted);
	confusion_print_share((double)both, predicted);
	confusion_print_share((double)both, samples);
	putchar('\n');
}

void
confusion_print(const struct confusion *k)
{
	printf("\nclass\tsamples\tpredicted\tprecision\trecall\n");
	for (uint32_t c = 0; c < k->classes; c++)
		print_class_row(k, c);
	printf("\nlabel");
	for (uint32_t c = 0; c < k->classes; c++) {
		putchar('\t');
		confusion_print_name(k->names, c);
	}
	putchar('\n');
	for (uint32_t c = 0; c < k->classes; c++) {
		confusion_print_name(k->names, c);
		for (uint32_t i = 0; i < k->classes; i++)
			printf("\t%" PRIu64, k->count[(size_t)c * k->classes + i]);
		putchar('\n');
	}
}
