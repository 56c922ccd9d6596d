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

/* The records that each class or label has, and those whose label is known. */
struct count {
	uint64_t has, known;
};

/* Adds a record's class, or with targets all its labels, of which -1 is not known. */
static void
count_record(const struct batch_opt *d, const struct imrec *rec, struct count *count, uint32_t classes, bool targets)
{
	float label;

	for (uint32_t k = 0; targets && k < classes && d->label_at + k < rec->labels; k++) {
		label = imrec_label(rec, d->label_at + k);
		count[k].has += label >= 0.5f;
		count[k].known += label >= 0;
	}
	if (targets || d->label_at >= rec->labels)
		return;
	label = imrec_label(rec, d->label_at);
	if (d->class_of != NULL && label >= 0 && label < (float)d->labels)
		label = (float)d->class_of[(uint32_t)label];
	if (label >= 0 && label < (float)classes)
		count[(uint32_t)label].has++;
}

/* The reader reports records that cannot be read. */
static void
count_records(const struct batch_opt *d, struct count *count, uint32_t classes, bool targets)
{
	const struct recs *r = d->recs;
	struct buf room = { 0 };

	for (uint64_t i = 0; i < r->count; i++) {
		const uint8_t *data;
		struct imrec rec;
		size_t size;

		if (r->read(r, i, &room, &data, &size) == 0 && imrec_decode(&rec, data, size) == 0)
			count_record(d, &rec, count, classes, targets);
	}
	buf_free(&room);
}

/*
 * Each class gets the same share of the loss, and the mean weight of a record is 1.  With targets, the records that
 * have a label get as large a share as those that lack it.
 */
static void
balance_weights(const struct batch_opt *d, float *weight, uint32_t classes, bool targets)
{
	struct count *count;
	uint64_t all = 0;
	uint32_t present = 0;

	if (d->recs == NULL || d->recs->remote)
		front_wrong("--class-weights balanced: %s cannot be counted before the first step; give CLASS=W,...",
		    d->path);
	if ((count = calloc(classes, sizeof(*count))) == NULL)
		front_die("--class-weights", err_nomem());
	count_records(d, count, classes, targets);
	for (uint32_t c = 0; c < classes; c++) {
		present += count[c].has > 0;
		all += count[c].has;
	}
	for (uint32_t c = 0; c < classes; c++) {
		double has = (double)count[c].has, lack = (double)count[c].known - has;

		if (count[c].has > 0)
			weight[c] = (float)(targets ? lack / has : (double)all / ((double)present * has));
	}
	free(count);
}

void
pworker_open_class_weights(const struct pworker *p, const struct graph *g, float **weight)
{
	const uint32_t classes = g->classes;

	*weight = NULL;
	if (p->class_weights == NULL)
		return;
	if (g->node[g->n - 1].loss == GRAPH_LOSS_SQUARED)
		front_wrong("--class-weights: needs classes or labels, not --loss squared");
	if ((*weight = calloc(classes, sizeof(**weight))) == NULL)
		front_die("--class-weights", err_nomem());
	for (uint32_t c = 0; c < classes; c++)
		(*weight)[c] = 1;
	if (strcmp(p->class_weights, "balanced") == 0)
		balance_weights(&p->train.data, *weight, classes, graph_targets(g) > 0);
	else
		parse_weights(p, *weight, classes);
}
