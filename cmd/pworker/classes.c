/* classes - the names of classes: in weights, beside records, and the classes that labels stand for. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "record/recs.h"
#include "train/preprocess.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The names that a checkpoint stores.  Weights from a pipe are read once, without their names. */
static void
read_weights_classes(const char *path, struct names *names)
{
	struct preprocess file;
	struct stat st;
	int e;

	if (path == NULL || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	front_must(NULL, preprocess_read(path, &file));
	if (file.class_names != NULL && (e = names_parse(names, file.class_names)) < 0)
		front_die(NULL, err_wrap(e, "%s: its names of classes", path));
	preprocess_free(&file);
}

/* The names beside records, or of their server, or none. */
static void
read_record_classes(const struct recs *r, uint32_t label_at, struct names *names)
{
	int e;

	if (r != NULL && label_at == 0 && (e = r->classes(r, names)) < 0)
		front_die(NULL, e);
}

static bool
are_known(const struct names *some, const struct names *all, const char **unknown)
{
	for (size_t i = 0; i < some->n; i++)
		if (names_find(all, *unknown = some->p[i], strlen(some->p[i])) < 0)
			return false;
	return true;
}

/* Refuses records with a class that all classes lack.  whose: who has those. */
static void
refuse_class(const char *records, const char *unknown, const struct names *all, const char *whose)
{
	struct buf list = { 0 };

	if (names_put(all, &list) < 0 || buf_terminate(&list) < 0)
		front_die(NULL, ERR_NOMEM);
	front_wrong("%s: class '%.64s' is unknown to %s, which have %s", records, unknown, whose,
	    (char *)list.p);
}

/* The class [names->n] that each label stands for; NULL if labels are the classes, or either has no names. */
static uint32_t *
map_labels(const char *records, const struct names *names, const struct names *all, const char *whose)
{
	const char *unknown;
	uint32_t *of;

	if (names->n == 0 || all->n == 0 || names_equal(names, all))
		return NULL;
	if (!are_known(names, all, &unknown))
		refuse_class(records, unknown, all, whose);
	if ((of = calloc(names->n, sizeof(*of))) == NULL)
		front_die(NULL, err_nomem());
	for (size_t i = 0; i < names->n; i++)
		of[i] = (uint32_t)names_find(all, names->p[i], strlen(names->p[i]));
	return of;
}

/*
 * Keeps names as lines, if they are distinct and can be stored and printed.  Numbers are kept too: records with other
 * names are of other classes.
 */
static void
keep_names(struct pworker_classes *k, const struct names *names)
{
	struct buf text = { 0 };
	int e;

	if ((e = names_put_lines(names, &text)) < 0 || (e = buf_terminate(&text)) < 0)
		front_die(NULL, e);
	names_free(&k->names);
	if (names->n > 0 && names_are_printable((char *)text.p) && names_parse(&k->names, (char *)text.p) == 0 &&
	    k->names.n == names->n) {
		k->text = (char *)text.p;
		return;
	}
	names_free(&k->names);
	buf_free(&text);
}

/* Says that records without names are taken for the classes of others.  Numbers as names say nothing else. */
static void
report_unnamed(const struct pworker *p, const struct recs *r, const char *path, const struct names *own,
    const struct names *all)
{
	const char *lacks = own->n == 0 ? path : NULL;

	if (p->train.ps.rank > 0 || all->n == 0 || names_are_numbers(all))
		return;
	if (r != NULL && r->unnamed != NULL && own->n > 0)
		lacks = r->unnamed(r);
	if (lacks != NULL)
		front_say(RECS_UNNAMED, lacks, all->p[0]);
}

void
pworker_open_classes(struct pworker *p, const char *weights, const struct graph *g)
{
	struct train_opt *t = &p->train;
	struct pworker_classes *k = &p->class;
	struct names file = { 0 }, data = { 0 }, val = { 0 };
	const char *unknown, *whose;
	bool starts = p->mode == PWORKER_TRAIN && t->resume == NULL;

	read_weights_classes(weights, &file);
	read_record_classes(t->data.recs, t->data.label_at, &data);
	read_record_classes(t->val_recs, t->data.label_at, &val);
	/* Weights to start from may be those of other classes. */
	if (file.n > g->classes || (starts && !are_known(&data, &file, &unknown)))
		names_free(&file);
	/* Several labels or values have as many names as outputs. */
	if (graph_targets(g) > 0 && data.n != g->classes)
		names_free(&data);
	whose = file.n > 0 ? "the weights" : "the training records";
	keep_names(k, file.n > 0 || data.n > g->classes ? &file : &data);
	if (t->data.label_at == 0 && graph_targets(g) == 0 && p->mode != PWORKER_STATISTICS) {
		const struct names *all = data.n == 0 && file.n == 0 ? &val : &k->names;

		if (t->data.path != NULL)
			report_unnamed(p, t->data.recs, t->data.path, &data, all);
		if (t->val != NULL)
			report_unnamed(p, t->val_recs, t->val, &val, &k->names);
	}
	if (p->mode == PWORKER_PREDICT)
		k->foreign = data.n > 0 && k->names.n > 0 && !are_known(&data, &k->names, &unknown);
	if (p->mode != PWORKER_STATISTICS && !k->foreign && graph_targets(g) == 0) {
		t->data.class_of = k->of = map_labels(t->data.path, &data, &k->names, whose);
		t->data.labels = k->of != NULL ? (uint32_t)data.n : 0;
		t->val_class_of = k->val_of = map_labels(t->val, &val, &k->names, whose);
		t->val_labels = k->val_of != NULL ? (uint32_t)val.n : 0;
	}
	if (p->mode == PWORKER_EVAL && t->data.path != NULL && file.n == 0 && graph_targets(g) == 0 && data.n > 0 &&
	    data.n < g->classes && !names_are_numbers(&data))
		front_say("%s: %s has no names of its %u classes, so its class 0 counts as %s", t->data.path, weights,
		    g->classes, data.p[0]);
	t->class_names = k->text;
	if (names_are_numbers(&k->names))
		names_free(&k->names);	/* tables have the numbers themselves */
	names_free(&file);
	names_free(&data);
	names_free(&val);
}

void
pworker_close_classes(struct pworker_classes *k)
{
	names_free(&k->names);
	free(k->text);
	free(k->of);
	free(k->val_of);
}
