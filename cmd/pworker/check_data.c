/* check_data - compares the images and labels of the records with the net before the first step. */
#include "pworker/pworker.h"
#include "front.h"

#include "net/weights.h"
#include "record/imrec.h"
#include "record/recs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define SCANNED		16384u	/* most records whose labels are read */
#define SCANNED_NAMED	1024u	/* the same if the classes have names, which rarely lack one */

/* Whether the option --loss of nets asks for a number for each output. */
static bool
asks_for_targets(const struct pworker *p)
{
	bool asks = false;

	for (uint32_t i = 0; i < p->noption; i++)
		if (strcmp(p->option[i].key, "loss") == 0)
			asks = strcmp(p->option[i].value, "softmax") != 0;
	return asks;
}

/* The classes of weights; 0 without a path, or if they come from a pipe or do not tell. */
static uint32_t
read_weights_outputs(const char *path)
{
	struct graph *g = NULL;
	struct stat st;
	uint32_t n;

	if (path == NULL || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	front_must(NULL, weights_read_graph(path, &g));
	n = g != NULL ? g->classes : 0;
	graph_free(g);
	return n;
}

static uint32_t
count_names(const struct recs *r)
{
	struct names names = { 0 };
	uint32_t n;

	if (r == NULL)
		return 0;
	front_must(NULL, r->classes(r, &names));
	n = (uint32_t)names.n;
	names_free(&names);
	return n;
}

/*
 * Sets as many outputs as the weights to resume from have, or else as there are names of classes beside the records, or
 * else as the weights to start from have, if the net has another number of its own.
 */
static void
choose_classes(struct pworker *p)
{
	uint32_t resumed = read_weights_outputs(p->train.resume);
	uint32_t named = resumed > 0 ? 0 : count_names(p->train.data.recs), n = resumed > 0 ? resumed : named;
	struct graph *own, *g = NULL;

	if (n == 0 && p->weights_net)
		n = read_weights_outputs(p->train.start);
	if (n == 0 || p->train.data.label_at > 0 ||
	    script_run(p->net, p->c, p->h, p->w, 0, p->option, p->noption, &own) < 0)
		return;
	/* A net whose script sets the number keeps it. */
	if (n != own->classes && script_run(p->net, p->c, p->h, p->w, n, p->option, p->noption, &g) == 0) {
		p->classes = n;
		if (p->train.ps.rank == 0 && named > 0)
			front_say("%s: there are names of %u classes, so the net has as many; --classes %u is "
			    "the net's own", p->train.data.path, n, own->classes);
	}
	graph_free(g);
	graph_free(own);
}

/* Sets the number of outputs without --classes: that of the records' classes, or of the labels to compare with. */
static void
choose_outputs(struct pworker *p, const struct pworker_look *l)
{
	const struct batch_opt *d = &p->train.data;
	uint32_t end = d->weighted && d->weight_at > d->label_at && d->weight_at < l->labels ? d->weight_at : l->labels;

	if (p->classes > 0)
		return;
	if (!asks_for_targets(p))
		choose_classes(p);
	else if (end > d->label_at)
		p->classes = end - d->label_at;
}

/* Whether the pixels of a sample are of another size than those of the record. */
static bool
scales_images(const struct aug *a)
{
	return a->resize > 0 || a->resized_crop || a->crop_size.hi > 0 || a->scale_by.hi > 0 || a->side.hi > 0;
}

/* Whether an option decides on the size of images. */
static bool
has_size_options(const struct pworker *p)
{
	return scales_images(&p->train.data.aug) || p->train.data.aug.pad > 0 || p->train.device_cache;
}

/* Sets the shape of samples without --shape: smaller than the net's if all images are as small. */
static void
choose_shape(struct pworker *p, const struct pworker_look *l)
{
	struct graph *own, *g = NULL;
	const struct graph_node *x;
	uint32_t h = l->h[0], w = l->w[0];

	if (p->c > 0 || has_size_options(p) || !pworker_look_alike(l) ||
	    script_run(p->net, 0, 0, 0, p->classes, p->option, p->noption, &own) < 0)
		return;
	x = &own->node[0];
	/* A net that halves the image too often for its size may take one of twice the size. */
	while (h < x->h && w < x->w && script_run(p->net, x->c, h, w, p->classes, p->option, p->noption, &g) < 0) {
		h *= 2;
		w *= 2;
	}
	if (g != NULL) {
		p->c = x->c;
		p->h = h;
		p->w = w;
		if (p->train.ps.rank == 0)
			front_say("%s: images are %ux%u, so samples are %ux%ux%u; --shape %ux%ux%u is the net's own",
			    p->train.data.path, l->h[0], l->w[0], p->c, h, w, x->c, x->h, x->w);
	}
	graph_free(g);
	graph_free(own);
}

void
pworker_choose_sample(struct pworker *p, struct pworker_look *l)
{
	pworker_look(p->train.data.recs, p->train.data.path, l);
	p->train.data.aug.packed = pworker_look_side(l);
	choose_outputs(p, l);
	choose_shape(p, l);
}

/* Says what of the images is lost if no option asks for it. */
static void
report_crops(const struct pworker *p, const struct graph_node *x, const struct pworker_look *l)
{
	bool shaped = pworker_given(p, "shape") != PWORKER_ABSENT, random = p->train.data.aug.rand_crop;
	bool alike = pworker_look_alike(l);
	uint32_t side = x->h > x->w ? x->h : x->w, most = pworker_look_largest(l);

	if (has_size_options(p) || pworker_given(p, "rand-crop") == PWORKER_BY_RECIPE)
		return;
	if (pworker_look_loses(l, side, random) ||
	    (!shaped && !random && alike && (l->h[0] > x->h || l->w[0] > x->w)))
		front_say("%s: of images of %s%ux%u %s %ux%u is used; --resize %u%s or --shape change that",
		    p->train.data.path, alike ? "" : "up to ", l->h[most], l->w[most],
		    random ? "a random" : "the middle", x->h, x->w, side, random ? "" : ", --rand-crop");
}

static void
report_losses(const struct pworker *p, const struct graph_node *x, const struct pworker_look *l)
{
	if (p->train.ps.rank > 0)
		return;
	if (pworker_given(p, "shape") == PWORKER_ABSENT && x->c == 1 && pworker_look_colours(p->train.data.recs))
		front_say("%s: images have colours, and samples are gray; --shape 3x%ux%u keeps them",
		    p->train.data.path, x->h, x->w);
	report_crops(p, x, l);
}

void
pworker_compare_sizes(const struct pworker *p, const char *weights, uint32_t side, const struct graph *g,
    const struct pworker_look *l)
{
	const struct graph_node *x = &g->node[0];

	if (p->train.ps.rank > 0)
		return;
	if (p->train.start != NULL && x->c == 1 && pworker_look_colours(p->train.data.recs))
		front_say("%s: images have colours, and %s takes gray ones", p->train.data.path, weights);
	/* A border that weights were trained with does not change what they see. */
	if (scales_images(&p->train.data.aug))
		return;
	if (side == 0)
		report_crops(p, x, l);
	else if (pworker_look_differs(l, side))
		front_say("%s: images are %ux%u, and %s was trained on images with a shorter side of %u; --resize %u "
		    "makes them alike", p->train.data.path, l->h[0], l->w[0], weights, side, side);
}

static void
choose_resize(struct pworker *p, const struct graph *g, const struct pworker_look *l)
{
	const struct graph_node *x = &g->node[0];
	uint32_t side = x->h > x->w ? x->h : x->w;
	/* A random crop is meant to leave out a part of a large image. */
	bool large = l->n > 0 && !p->train.data.aug.rand_crop;
	uint32_t decides = 0, small = 0;

	if (has_size_options(p))
		return;
	for (uint32_t i = 0; i < l->n; i++) {
		if ((l->h[i] < x->h || l->w[i] < x->w) && small++ == 0)
			decides = i;
		large &= l->h[i] >= 2 * side && l->w[i] >= 2 * side;
	}
	if (small == 0 && !large)
		return;
	p->train.data.aug.resize = side;
	if (p->train.ps.rank == 0)
		front_say("%s: images of %ux%u are resized to %u, the side of the samples; --shape or --resize change "
		    "that", p->train.data.path, l->h[decides], l->w[decides], side);
}

void
pworker_choose_size(struct pworker *p, const struct graph *g, const struct pworker_look *l)
{
	choose_resize(p, g, l);
	report_losses(p, &g->node[0], l);
}

/* Refuses images none of which is large enough. */
static void
check_sizes(const char *path, struct aug a, const struct graph *g, const struct pworker_look *l)
{
	const struct graph_node *x = &g->node[0];
	struct aug_plan plan;
	float least;

	a.c = x->c;
	a.h = x->h;
	a.w = x->w;
	for (uint32_t i = 0; i < l->n; i++)
		if (aug_choose(&a, 0, 0, &(struct img){ NULL, x->c, l->h[i], l->w[i] }, &plan) == 0)
			return;
	if (l->n == 0)
		return;
	least = fmaxf(a.crop_size.hi, (float)(x->h > x->w ? x->h : x->w));
	front_wrong("%s: images of %ux%u are too small for samples of %ux%ux%u; use %s--resize %.0f", path, l->h[0],
	    l->w[0], x->c, x->h, x->w, a.side.hi > 0 && a.side.hi < least ? "a larger --img-size and " : "",
	    (double)least);
}

/*
 * Refuses images to validate on that are too small, and says if they are of another size than those to train on.
 * Crops that are resized come from larger images than the centres that validate.
 */
static void
check_val_sizes(const struct pworker *p, const struct graph *g)
{
	const struct aug *a = &p->train.data.aug;
	struct pworker_look l;

	pworker_look(p->train.val_recs, NULL, &l);
	check_sizes(p->train.val, aug_plain(a), g, &l);
	if (p->train.ps.rank == 0 && !scales_images(a) && pworker_look_differs(&l, a->packed))
		front_say("%s: images are %ux%u, and those of %s have a shorter side of %u; --resize %u makes them "
		    "alike", p->train.val, l.h[0], l.w[0], p->train.data.path, a->packed, a->packed);
}

/* What the labels of records are. */
struct label_scan {
	uint64_t n;		/* records read */
	uint64_t beyond, parts;	/* with a label of `end` and more, and with one that is no whole number */
	float most, part;	/* the largest label, and one that is no whole number */
};

/* Reads `labels` labels of up to most_n records.  The reader reports what cannot be read. */
static struct label_scan
scan_labels(const struct pworker *p, const struct recs *r, uint64_t most_n, uint32_t labels, float end)
{
	struct label_scan s = { .n = r->count < most_n ? r->count : most_n };
	uint32_t at = p->train.data.label_at;
	struct buf room = { 0 };
	const uint8_t *data;
	struct imrec rec;
	size_t size;

	for (uint64_t i = 0; i < s.n; i++) {
		bool beyond = false, parts = false;

		if (r->read(r, i * (r->count / s.n), &room, &data, &size) < 0 || imrec_decode(&rec, data, size) < 0)
			continue;
		for (uint32_t k = at; k < rec.labels && k - at < labels; k++) {
			float label = imrec_label(&rec, k);

			beyond |= label >= end;
			s.most = fmaxf(s.most, label);
			if (isfinite(label) && label != floorf(label)) {
				parts = true;
				s.part = label;
			}
		}
		s.beyond += beyond;
		s.parts += parts;
	}
	buf_free(&room);
	return s;
}

/*
 * Refuses labels from `classes` on, which is the number of names if named, and records most of which have values in
 * place of classes.  A few such labels are left out as they are read.
 */
static void
check_classes(const struct pworker *p, const struct recs *r, uint32_t classes, bool named)
{
	struct label_scan s = scan_labels(p, r, named ? SCANNED_NAMED : SCANNED, 1, (float)classes);
	const char *looked = s.n < r->count ? " looked at" : "";

	if (2 * s.parts > s.n)
		front_wrong("%s: %" PRIu64 " of %" PRIu64 " records%s have labels that are not whole numbers, such as "
		    "%g; --loss squared learns values", r->path, s.parts, s.n, looked, (double)s.part);
	if (s.beyond == 0 || s.most >= 1 << 24)
		return;
	if (named)
		front_wrong("%s: %" PRIu64 " of %" PRIu64 " records%s have labels beyond the %u names of its classes, "
		    "up to %g; add the missing names to its .labels file", r->path, s.beyond, s.n, looked, classes,
		    (double)s.most);
	front_wrong("%s: %" PRIu64 " of %" PRIu64 " records%s have labels beyond the net's %u classes, up to "
		    "%g; use --classes %g", r->path, s.beyond, s.n, looked, classes, (double)s.most,
	    floor((double)s.most) + 1);
}

/*
 * The names of the classes tell how many there are, but may be too few.  Without names all labels are read.  Labels of
 * remote records are not read.
 */
static void
check_labels(const struct pworker *p, const struct recs *r, const uint32_t *class_of, uint32_t classes)
{
	uint32_t n = p->train.data.label_at > 0 ? 0 : count_names(r);

	if (n > classes && class_of == NULL)
		front_wrong("%s: has %u classes, more than the net's %u; use --classes %u", r->path, n, classes, n);
	if (r == NULL || r->remote)
		return;
	if (n == 0)
		check_classes(p, r, classes, false);
	else if (class_of != NULL || n == classes)
		check_classes(p, r, n, true);
}

/* Refuses records that have fewer labels than the net has outputs. */
static void
check_targets(const struct pworker *p, const struct graph *g, const struct pworker_look *l)
{
	uint32_t at = p->train.data.label_at;

	if (l->n > 0 && at >= l->labels)
		front_wrong("--label-at %u: %s has records of %u label%s, counted from 0", at, p->train.data.path,
		    l->labels, l->labels == 1 ? "" : "s");
	if (l->n > 0 && graph_targets(g) > l->labels - at)
		front_wrong("%s: records have %u label%s, and the net compares %u outputs with labels%s; use --classes "
		    "%u", p->train.data.path, l->labels, l->labels == 1 ? "" : "s", g->classes,
		    at > 0 ? " from --label-at on" : "", l->labels - at);
}

/* Refuses records most of which have classes in place of the labels, 0 to 1, that a sigmoid is compared with. */
static void
check_shares(const struct pworker *p, const struct recs *r, const struct graph *g)
{
	struct label_scan s;

	if (r == NULL || r->remote || g->node[g->n - 1].loss != GRAPH_LOSS_SIGMOID)
		return;
	s = scan_labels(p, r, SCANNED_NAMED, graph_targets(g), nextafterf(1, 2));
	if (2 * s.beyond > s.n)
		front_wrong("%s: %" PRIu64 " of %" PRIu64 " records%s have labels above 1, up to %g, which --loss "
		    "sigmoid does not learn; --loss softmax learns classes, squared values", r->path, s.beyond, s.n,
		    s.n < r->count ? " looked at" : "", (double)s.most);
}

/* Says which of several labels the class is, if no option chooses it. */
static void
report_labels(const struct pworker *p, const struct pworker_look *l)
{
	const struct batch_opt *d = &p->train.data;

	if (p->train.ps.rank == 0 && l->n > 0 && l->labels > 1 && d->label_at == 0 &&
	    pworker_given(p, "label-at") == PWORKER_ABSENT && !(d->weighted && l->labels == 2))
		front_say("%s: records have %u labels, and the first is the class; --label-at chooses another, --loss "
		    "sigmoid or squared learns all", d->path, l->labels);
}

void
pworker_check_data(const struct pworker *p, const struct graph *g, const struct pworker_look *l)
{
	const struct graph_node *x = &g->node[0];

	if (x->c != 1 && x->c != 3)
		front_wrong("--shape %ux%ux%u: images have 1 or 3 channels, which come first", x->c, x->h, x->w);
	check_sizes(p->train.data.path, p->train.data.aug, g, l);
	check_val_sizes(p, g);
	if (graph_targets(g) > 0) {
		check_targets(p, g, l);
		check_shares(p, p->train.data.recs, g);
		check_shares(p, p->train.val_recs, g);
		return;
	}
	if (p->train.data.weighted && p->train.data.weight_at == p->train.data.label_at)
		front_wrong("--weight-at %u: is the label that is the class; records have their weights in another",
		    p->train.data.weight_at);
	report_labels(p, l);
	check_labels(p, p->train.data.recs, p->train.data.class_of, g->classes);
	check_labels(p, p->train.val_recs, p->train.val_class_of, g->classes);
}
