/* class_weights - the weights of classes in the loss: given, or balanced by the records of each class. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "base/num.h"
#include "record/imrec.h"
#include "record/recs.h"

#include <stdlib.h>
#include <string.h>

/* The class of a name, or else of a number. */
static uint32_t
find_class(const struct pworker *p, const char *text, uint32_t classes)
{
	long c = names_find(&p->class.names, text, strlen(text));
	uint64_t number;

	if (c >= 0 && c < (long)classes)
		return (uint32_t)c;
	if (num_u64(text, 0, classes - 1, &number) < 0)
		front_wrong("--class-weights: '%.64s' is neither a class by name%s%.64s%s nor a number below %u", text,
		    p->class.names.n > 0 ? ", such as " : "", p->class.names.n > 0 ? p->class.names.p[0] : "",
		    p->class.names.n > 0 ? "," : "", classes);
	return (uint32_t)number;
}

/* CLASS=W,... */
static void
parse_weights(const struct pworker *p, float *weight, uint32_t classes)
{
	char *copy = strdup(p->class_weights), *rest = copy, *one, *value;

	if (copy == NULL)
		front_die("--class-weights", err_nomem());
	while ((one = strsep(&rest, ",")) != NULL) {
		if ((value = strchr(one, '=')) == NULL)
			front_wrong("--class-weights: '%.64s' is neither balanced nor CLASS=W,...", one);
		*value++ = 0;
		weight[find_class(p, one, classes)] = (float)front_real("--class-weights", value, 0, 1e6);
	}
	free(copy);
}

/* Counts the records of each class.  The reader reports records that cannot be read. */
static uint64_t
count_records(const struct batch_opt *d, uint64_t *count, uint32_t classes)
{
	const struct recs *r = d->recs;
	struct buf room = { 0 };
	uint64_t all = 0;

	for (uint64_t i = 0; i < r->count; i++) {
		const uint8_t *data;
		struct imrec rec;
		size_t size;
		float label;

		if (r->read(r, i, &room, &data, &size) < 0 || imrec_decode(&rec, data, size) < 0 ||
		    d->label_at >= rec.labels)
			continue;
		label = imrec_label(&rec, d->label_at);
		if (d->class_of != NULL && label >= 0 && label < (float)d->labels)
			label = (float)d->class_of[(uint32_t)label];
		if (label >= 0 && label < (float)classes) {
			count[(uint32_t)label]++;
			all++;
		}
	}
	buf_free(&room);
	return all;
}

/* Each class gets the same share of the loss, and the mean weight of a record is 1. */
static void
balance_weights(const struct batch_opt *d, float *weight, uint32_t classes)
{
	uint64_t *count = calloc(classes, sizeof(*count)), all;
	uint32_t present = 0;

	if (count == NULL)
		front_die("--class-weights", err_nomem());
	if (d->recs == NULL || d->recs->classes == NULL)
		front_wrong("--class-weights balanced: %s cannot be counted before the first step; give CLASS=W,...",
		    d->path);
	all = count_records(d, count, classes);
	for (uint32_t c = 0; c < classes; c++)
		present += count[c] > 0;
	for (uint32_t c = 0; c < classes; c++)
		if (count[c] > 0)
			weight[c] = (float)((double)all / ((double)present * (double)count[c]));
	free(count);
}

void
pworker_open_class_weights(const struct pworker *p, uint32_t classes, float **weight)
{
	*weight = NULL;
	if (p->class_weights == NULL)
		return;
	if ((*weight = calloc(classes, sizeof(**weight))) == NULL)
		front_die("--class-weights", err_nomem());
	for (uint32_t c = 0; c < classes; c++)
		(*weight)[c] = 1;
	if (strcmp(p->class_weights, "balanced") == 0)
		balance_weights(&p->train.data, *weight, classes);
	else
		parse_weights(p, *weight, classes);
}
