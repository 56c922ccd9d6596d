/* source_shards - the samples of webdataset shards, a picture next to its label: serves source. */
#include "base/err.h"
#include "base/grow.h"
#include "base/num.h"
#include "source/suffix.h"
#include "image/img.h"
#include "source/source_kind.h"

#include <ctype.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT	256u		/* bytes of a label's file */
#define JSON	(1u << 21)	/* bytes of a file of labels in JSON; a larger one is of something else */
#define LISTED	(1u << 16)	/* labels in it, as many as a record has */
#define CLASS	(1u << 24)	/* labels are less: f32 holds them */
#define CALLED	(1u << 16)	/* classes that get names when none are given */

struct state {
	struct files		*files;
	struct names		*classes;
	enum source_split	 split;
	bool			 found;		/* a sample of the split */
	bool			 ahead;		/* the walk stands at e, name: the next sample's first, or its end */
	int			 e;
	const char		*name;
	char			 line[1024];	/* of e */
	bool			 numbered;	/* a label is the number of a class ... */
	uint32_t		 most;		/* ... the largest met */
	/* The sample. */
	struct buf		 key, shown, data;
	bool			 has_picture, has_label[2];
	float			 label[2];
	float			*list;		/* [listed] the labels in JSON */
	size_t			 listed, cap;
	int			 bad;
	char			 why[512];
};

/* The length of a name up to the first dot of its last component. */
static size_t
key_length(const char *name)
{
	const char *slash = strrchr(name, '/'), *dot = strchr(slash != NULL ? slash : name, '.');

	return dot != NULL ? (size_t)(dot - name) : strlen(name);
}

/* 0 or 1: the name's file holds this label; -1: none. */
static int
label_of(const char *name)
{
	const char *end = name + key_length(name);

	return strcmp(end, ".cls") == 0 ? 0 : strcmp(end, ".cls2") == 0 ? 1 : -1;
}

bool
source_shards_knows(const char *name)
{
	return label_of(name) == 0;
}

static bool
is_json(const char *name)
{
	return strcmp(name + key_length(name), ".json") == 0;
}

/*
 * {"labels": [...]} of the file that the walk stands at, or NULL: what else stands in a sample's JSON, or is too
 * long for one of labels, is nobody's label.  Returns 0, or what ends the stream: ERR_FORMAT or ERR_NOMEM.
 */
static int
labels_in(struct files *f, json_t **list)
{
	struct buf b = { 0 };
	json_t *root = NULL;
	int e = files_slurp(f, JSON, &b);

	*list = NULL;
	if (e == 0)
		root = json_loadb((const char *)b.p, b.n, 0, NULL);
	if (json_is_array(json_object_get(root, "labels")))
		*list = json_incref(json_object_get(root, "labels"));
	json_decref(root);
	buf_free(&b);
	return e == ERR_ITEM ? 0 : e;
}

bool
source_shards_has_json_labels(struct files *f, const char *name)
{
	json_t *list;
	bool is;

	if (!is_json(name) || files_is_stream(f))
		return is_json(name) && strchr(name, '/') == NULL;
	is = labels_in(f, &list) == 0 && list != NULL;	/* what cannot be read now is told with its sample */
	json_decref(list);
	return is;
}

bool
source_shards_match(const char *a, const char *b)
{
	size_t n = key_length(a);

	return n == key_length(b) && memcmp(a, b, n) == 0;
}

static void
shards_close(void *p)
{
	struct state *s = p;

	buf_free(&s->key);
	buf_free(&s->shown);
	buf_free(&s->data);
	free(s->list);
	free(s);
}

static int
shards_open(void **out, const struct source_opt *opt, struct files *files, struct names *classes)
{
	struct state *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return err_nomem();
	s->files = files;
	s->classes = classes;
	s->split = opt->split;
	*out = s;
	return 0;
}

/* Shards of a split say so by a word of their name, or of a folder's: imagenet-train-0001. */
static bool
is_of(const char *name, enum source_split split)
{
	static const char *const words[] = { "train", "training", "test", "testing", "val", "valid", "validation" };
	const char *slash = strrchr(name, '/');

	for (const char *p = name; slash != NULL && p < slash;) {
		size_t n = 0;

		while (isalpha((unsigned char)p[n]))
			n++;
		for (size_t i = 0; n > 0 && i < sizeof(words) / sizeof(*words); i++)
			if (strlen(words[i]) == n && memcmp(words[i], p, n) == 0)
				return (i < 2) == (split == SOURCE_TRAIN);
		p += n > 0 ? n : 1;
	}
	return false;
}

static void
note_bad(struct state *s, int e)
{
	if (s->bad < 0)
		return;
	s->bad = e;
	snprintf(s->why, sizeof(s->why), "%s", err_line());
}

static int
parse_label(struct state *s, const char *text, float *label)
{
	uint64_t v;
	long at;

	if (num_u64(text, 0, CLASS - 1, &v) == 0) {
		*label = (float)v;
		s->most = v > s->most ? (uint32_t)v : s->most;
		s->numbered = true;
		return 0;
	}
	if (s->classes->n > 0 && (at = names_find(s->classes, text, strlen(text))) >= 0) {
		*label = (float)at;
		return 0;
	}
	return err_fail(ERR_ITEM, "its label '%.40s' is no number of a class", text);
}

static int
read_label(struct state *s, int which)
{
	struct buf b = { 0 };
	size_t from = 0;
	int e = files_slurp(s->files, TEXT, &b);

	if (e == 0)
		e = buf_terminate(&b);
	if (e == 0) {
		while (b.n > 0 && isspace(b.p[b.n - 1]))
			b.p[--b.n] = 0;
		while (isspace(b.p[from]))
			from++;
		e = parse_label(s, (const char *)b.p + from, &s->label[which]);
		s->has_label[which] = true;
	}
	buf_free(&b);
	return e;
}

static int
add_label(struct state *s, const json_t *v)
{
	float *p = grow_by_one(s->list, s->listed, &s->cap, sizeof(*p));

	if (p == NULL)
		return ERR_NOMEM;
	s->list = p;
	if (s->listed == LISTED)
		return err_fail(ERR_ITEM, "more than %u labels", LISTED);
	if (!json_is_number(v) || !(fabs(json_number_value(v)) <= FLT_MAX))
		return err_fail(ERR_ITEM, "label %zu is no number", s->listed);
	p[s->listed++] = (float)json_number_value(v);
	return 0;
}

/* Takes the labels in JSON, if that is what it holds. */
static int
read_list(struct state *s)
{
	json_t *list, *v;
	size_t i;
	int e = labels_in(s->files, &list);

	s->listed = 0;
	json_array_foreach(list, i, v)
		if ((e = add_label(s, v)) < 0)
			break;
	json_decref(list);
	return e;
}

static int
read_picture(struct state *s, bool wanted)
{
	const char *place = files_display_name(s->files);

	if (s->has_picture)
		return err_fail(ERR_ITEM, "another picture of the same sample");
	s->has_picture = true;
	s->shown.n = s->data.n = 0;
	if (buf_put(&s->shown, place, strlen(place)) < 0 || buf_terminate(&s->shown) < 0)
		return ERR_NOMEM;
	return wanted ? files_slurp(s->files, IMG_BYTES, &s->data) : 0;
}

/* Takes the file that the walk stands at into the sample.  Returns 0 or what ends the stream. */
static int
take(struct state *s, bool wanted)
{
	const char *end = s->name + s->key.n;
	int which = label_of(s->name), e = 0;

	if (which >= 0)
		e = read_label(s, which);
	else if (is_json(s->name) && !s->has_label[0])
		e = read_list(s);
	else if (suffix_is_image(s->name) && strchr(end + 1, '.') == NULL)
		e = read_picture(s, wanted);
	if (e == ERR_ITEM)
		note_bad(s, e);
	else if (e == ERR_FORMAT)
		err_within("%s", files_display_name(s->files));
	return e == ERR_ITEM ? 0 : e;
}

static int
go_on(struct state *s)
{
	s->e = files_next(s->files, &s->name);
	if (s->e < 0)
		snprintf(s->line, sizeof(s->line), "%s", err_line());
	return s->e;
}

/* The next sample's files, as many as stand together.  Returns 1, or what the walk said instead. */
static int
next_sample(struct state *s, bool wanted)
{
	const char *place;
	int e;

	if (!s->ahead)
		go_on(s);
	s->ahead = false;
	if (s->e < 0)
		return err_fail(s->e, "%s", s->line);
	if (s->e == 0)
		return 0;
	place = files_display_name(s->files);
	s->key.n = s->shown.n = s->listed = 0;
	s->has_picture = s->has_label[0] = s->has_label[1] = false;
	s->bad = 0;
	if (buf_put(&s->key, s->name, key_length(s->name)) < 0 || buf_put(&s->shown, place, strlen(place)) < 0 ||
	    buf_terminate(&s->shown) < 0)
		return ERR_NOMEM;
	do
		if ((e = take(s, wanted)) < 0)
			return e;
	while (go_on(s) > 0 && key_length(s->name) == s->key.n && memcmp(s->name, s->key.p, s->key.n) == 0);
	s->ahead = true;
	return 1;
}

static int
at_end(const struct state *s)
{
	if (s->split != SOURCE_ALL && !s->found)
		return err_fail(ERR_ARG, "%s: has no shards called %s", files_path(s->files),
		    s->split == SOURCE_TRAIN ? "train" : "test or val");
	return s->numbered && s->most < CALLED ? source_number_classes(s->classes, s->most) : 0;
}

static int
shards_next(void *state, bool wanted, struct source_item *item)
{
	struct state *s = state;
	int e;

	do {
		if ((e = next_sample(s, wanted)) <= 0)
			return e == 0 ? at_end(s) : e;
		if (buf_terminate(&s->key) < 0)
			return ERR_NOMEM;
	} while ((!s->has_picture && !s->has_label[0] && s->listed == 0 && s->bad == 0) ||
	    (s->split != SOURCE_ALL && !is_of((const char *)s->key.p, s->split)));
	s->found = true;
	item->name = (const char *)s->shown.p;
	if (s->bad < 0)
		return err_fail(s->bad, "%s", s->why);
	if (!s->has_picture || (!s->has_label[0] && s->listed == 0))
		return err_fail(ERR_ITEM, "has no %s next to it", s->has_picture ? "label (.cls or .json)" : "picture");
	item->label = s->has_label[0] ? s->label : s->list;
	item->labels = !s->has_label[0] ? (uint32_t)s->listed : s->has_label[1] ? 2 : 1;
	item->data = s->data.p;
	item->n = s->data.n;
	return 1;
}

const struct source_kind source_shards_kind = { shards_open, shards_next, shards_close, NULL, false };
