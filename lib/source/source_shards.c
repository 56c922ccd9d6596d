/* source_shards - reads the samples of webdataset shards, an image next to its label.  For source. */
#include "base/err.h"
#include "base/grow.h"
#include "base/io.h"
#include "base/num.h"
#include "source/label.h"
#include "source/suffix.h"
#include "source/source_kind.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LABEL_BYTES	256u		/* most bytes of a label's file */
#define JSON_LABELS	(1u << 16)	/* most labels in JSON, as in a record */
#define NAMED_CLASSES	(1u << 16)	/* most classes that are named by numbers */

struct state {
	struct files		*files;
	struct names		*classes;
	enum source_split	 split;
	size_t			 bytes;		/* most of an image */
	bool			 found;		/* a sample of the split was found */
	bool			 ahead;		/* e and name are already those of the next sample */
	int			 e;
	const char		*name;
	char			 line[ERR_LINE];	/* error line of e */
	bool			 given;		/* the classes were given */
	struct names		 own;		/* names that the numbers of the shards stand for, if they have them */
	bool			 numbered;	/* labels are class numbers */
	uint32_t		 most;		/* the largest so far */
	/* The current sample. */
	struct buf		 key, shown, data;
	bool			 has_image, has_label[2];
	float			 label[2];
	float			*list;		/* [listed] the labels in JSON */
	size_t			 listed, cap;
	char			 no_list[ERR_LINE];	/* what is wrong with the JSON, or "" */
	int			 bad;
	char			 why[ERR_LINE];
};

/* The length of a name up to the first dot of its last component. */
static size_t
find_key_length(const char *name)
{
	const char *dot = strchr(io_base_name(name), '.');

	return dot != NULL ? (size_t)(dot - name) : strlen(name);
}

/* The index of the label that a file of that name holds: 0, 1, or -1 for none. */
static int
parse_label_index(const char *name)
{
	const char *end = name + find_key_length(name);

	return strcmp(end, ".cls") == 0 ? 0 : strcmp(end, ".cls2") == 0 ? 1 : -1;
}

static bool
is_names_file(const char *name)
{
	return strcmp(io_base_name(name), SOURCE_NAMES_FILE) == 0;
}

bool
source_shards_knows(const char *name)
{
	return parse_label_index(name) >= 0 || is_names_file(name);
}

bool
source_shards_is_json(const char *name)
{
	return strcmp(name + find_key_length(name), ".json") == 0;
}

/* The labels that the JSON of a file holds, as an array; NULL: none, with the line. */
static json_t *
find_json_labels(const struct buf *text)
{
	const char *forms = "labels in JSON are a number, such as 3, or {\"labels\": [3, 0.5]}";
	json_error_t why;
	json_t *root = json_loadb((const char *)text->p, text->n, JSON_DECODE_ANY, &why), *list = NULL;
	json_t *labels = json_is_object(root) ? json_object_get(root, "labels") : json_is_number(root) ? root : NULL;

	if (root == NULL)
		err_note(0, "%s; %s", why.text, forms);
	else if (json_is_array(labels))
		list = json_incref(labels);
	else if (json_is_number(labels) || json_is_string(labels))
		list = json_pack("[O]", labels);
	else if (json_is_object(root) && labels == NULL)
		err_note(0, "has no member \"labels\"; %s", forms);
	else
		err_note(0, "is neither a number nor an object with labels; %s", forms);
	json_decref(root);
	return list;
}

/*
 * Reads the labels in the current file, which has that name.  Returns 0; ERR_ITEM if it is too long or has other
 * contents; or an error that ends the stream: ERR_FORMAT or ERR_NOMEM.
 */
static int
read_json_labels(struct files *f, const char *name, json_t **list)
{
	struct buf b = { 0 };
	int e = files_slurp(f, SOURCE_JSON_BYTES, &b);

	*list = NULL;
	if (e == 0 && (*list = find_json_labels(&b)) == NULL)
		e = ERR_ITEM;
	buf_free(&b);
	if (source_is_item_error(e))
		err_within("%s", io_base_name(name));
	return source_is_item_error(e) ? ERR_ITEM : e;
}

int
source_shards_has_json_labels(struct files *f, const char *name)
{
	json_t *list;
	int e;

	if (!source_shards_is_json(name))
		return 0;
	e = read_json_labels(f, name, &list);
	json_decref(list);
	return e == 0 ? 1 : e == ERR_ITEM ? e : 0;	/* another error is reported with the sample */
}

bool
source_shards_match(const char *a, const char *b)
{
	size_t n = find_key_length(a);

	return n == find_key_length(b) && memcmp(a, b, n) == 0;
}

static void
shards_close(void *p)
{
	struct state *s = p;

	buf_free(&s->key);
	buf_free(&s->shown);
	buf_free(&s->data);
	names_free(&s->own);
	free(s->list);
	free(s);
}

static int
shards_open(const struct source_opt *opt, struct files *files, struct names *classes, void **out)
{
	struct state *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return err_nomem();
	s->files = files;
	s->bytes = opt->bytes;
	s->classes = classes;
	s->given = classes->n > 0;
	s->split = opt->split;
	*out = s;
	return 0;
}

/* Whether the name of the shard, or of a folder, contains a word of the split, as imagenet-train-0001 does. */
static bool
name_has_split(const char *name, enum source_split split)
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
keep_error(struct state *s, int e)
{
	if (s->bad < 0)
		return;
	s->bad = e;
	snprintf(s->why, sizeof(s->why), "%s", err_line());
}

static int
parse_class_label(struct state *s, const char *text, float *label)
{
	uint64_t v;
	long at;

	if (num_u64(text, 0, SOURCE_CLASSES - 1, &v) == 0 && s->own.n > 0 && s->given) {
		const char *name = v < s->own.n ? s->own.p[v] : "";

		*label = (float)(at = names_find(s->classes, name, strlen(name)));
		return at >= 0 ? 0 : err_fail(ERR_CLASS, "its class %" PRIu64 ", '%.64s', is none of the given classes",
		    v, name);
	}
	if (num_u64(text, 0, SOURCE_CLASSES - 1, &v) == 0) {
		*label = (float)v;
		s->most = v > s->most ? (uint32_t)v : s->most;
		s->numbered = true;
		return 0;
	}
	if (s->classes->n > 0 && (at = names_find(s->classes, text, strlen(text))) >= 0) {
		*label = (float)at;
		return 0;
	}
	return err_fail(ERR_ITEM, "its label '%.40s' is not a class, 0 to %u; KEY.json takes other numbers", text,
	    SOURCE_CLASSES - 1);
}

static int
read_class_label(struct state *s, int which)
{
	struct buf b = { 0 };
	size_t from = 0;
	int e = files_slurp(s->files, LABEL_BYTES, &b);

	if (e == 0)
		e = buf_terminate(&b);
	if (e == 0) {
		while (b.n > 0 && isspace(b.p[b.n - 1]))
			b.p[--b.n] = 0;
		while (isspace(b.p[from]))
			from++;
		e = parse_class_label(s, (const char *)b.p + from, &s->label[which]);
		s->has_label[which] = true;
	}
	buf_free(&b);
	return e == ERR_BYTES ? ERR_ITEM : e;
}

/* Reads the names of the classes.  All shards must have the same. */
static int
read_names(struct state *s)
{
	struct names now = { 0 };
	struct buf text = { 0 };
	int e = files_slurp(s->files, NAMES_BYTES, &text);

	if (e == 0 && (e = names_end_text(&text)) == 0)
		e = names_parse(&now, (const char *)text.p);
	if (e == 0 && s->own.n > 0 && !names_equal(&now, &s->own))
		e = err_fail(ERR_FORMAT, "its names of classes are not those of an earlier shard");
	if (e == 0 && s->given && s->numbered)
		e = err_fail(ERR_FORMAT, "names of classes follow the samples; move the file before them");
	if (e == 0 && s->classes->n == 0)
		e = names_parse(s->classes, (const char *)text.p);
	buf_free(&text);
	if (e < 0) {
		names_free(&now);
		return err_wrap(e == ERR_NOMEM ? e : ERR_FORMAT, "%s", files_display_name(s->files));
	}
	names_free(&s->own);
	s->own = now;
	return 0;
}

static int
add_json_label(struct state *s, const json_t *v)
{
	float *p = grow_by_one(s->list, s->listed, &s->cap, sizeof(*p));

	if (p == NULL)
		return ERR_NOMEM;
	s->list = p;
	if (s->listed == JSON_LABELS)
		return err_fail(ERR_ITEM, "%s: more than %u labels", io_base_name(s->name), JSON_LABELS);
	if (json_is_number(v) && fabs(json_number_value(v)) <= LABEL_MOST)
		p[s->listed] = (float)json_number_value(v);
	else if (!json_is_string(v) || label_parse(json_string_value(v), &p[s->listed]) < 0)
		return err_fail(ERR_ITEM, "%s: its label number %zu is not a float of 32 bits, \"nan\" or \"inf\"",
		    io_base_name(s->name), s->listed + 1);
	s->listed++;
	return 0;
}

/* Reads labels in JSON.  What is wrong with them matters only if the sample has no other label. */
static int
read_label_list(struct state *s)
{
	json_t *list, *v;
	size_t i;
	int e = read_json_labels(s->files, s->name, &list);

	s->listed = 0;
	json_array_foreach(list, i, v)
		if ((e = add_json_label(s, v)) < 0)
			break;
	json_decref(list);
	if (e == 0 && s->listed == 0)
		e = err_fail(ERR_ITEM, "%s: its list of labels is empty", io_base_name(s->name));
	if (e != ERR_ITEM)
		return e;
	s->listed = 0;
	snprintf(s->no_list, sizeof(s->no_list), "%s", err_line());
	return 0;
}

static int
read_image(struct state *s, bool wanted)
{
	const char *place = files_display_name(s->files);

	if (s->has_image)
		return err_fail(ERR_ITEM, "another image of the same sample");
	s->has_image = true;
	s->shown.n = s->data.n = 0;
	if (buf_put(&s->shown, place, strlen(place)) < 0 || buf_terminate(&s->shown) < 0)
		return ERR_NOMEM;
	return wanted ? files_slurp(s->files, s->bytes, &s->data) : 0;
}

/* Adds the current file to the sample.  Returns 0 or an error that ends the stream. */
static int
add_file(struct state *s, bool wanted)
{
	const char *end = s->name + s->key.n;
	int which = parse_label_index(s->name), e = 0;

	if (is_names_file(s->name))
		return read_names(s);
	if (which >= 0)
		e = read_class_label(s, which);
	else if (source_shards_is_json(s->name) && !s->has_label[0])
		e = read_label_list(s);
	else if (suffix_is_image(s->name) && strchr(end + 1, '.') == NULL)
		e = read_image(s, wanted);
	if (source_is_item_error(e))
		keep_error(s, e);
	else if (e == ERR_FORMAT)
		err_within("%s", files_display_name(s->files));
	return source_is_item_error(e) ? 0 : e;
}

static int
advance_walk(struct state *s)
{
	s->e = files_next(s->files, &s->name);
	if (s->e < 0)
		snprintf(s->line, sizeof(s->line), "%s", err_line());
	return s->e;
}

/* Reads the adjacent files of the next sample.  Returns 1, 0 at the end, or an error. */
static int
next_sample(struct state *s, bool wanted)
{
	const char *place;

	if (!s->ahead)
		advance_walk(s);
	s->ahead = false;
	if (s->e < 0)
		return err_fail(s->e, "%s", s->line);
	if (s->e == 0)
		return 0;
	place = files_display_name(s->files);
	s->key.n = s->shown.n = s->listed = 0;
	s->has_image = s->has_label[0] = s->has_label[1] = false;
	s->bad = *s->no_list = 0;
	if (buf_put(&s->key, s->name, find_key_length(s->name)) < 0 || buf_put(&s->shown, place, strlen(place)) < 0 ||
	    buf_terminate(&s->shown) < 0)
		return ERR_NOMEM;
	do
		ERR_TRY(add_file(s, wanted));
	while (advance_walk(s) > 0 && find_key_length(s->name) == s->key.n && memcmp(s->name, s->key.p, s->key.n) == 0);
	s->ahead = true;
	return 1;
}

static int
finish_shards(const struct state *s)
{
	if (s->split != SOURCE_ALL && !s->found)
		return err_fail(ERR_ARG, "%s: no shards called %s", files_path(s->files),
		    s->split == SOURCE_TRAIN ? "train" : "test or val");
	return s->numbered && s->most < NAMED_CLASSES ? source_number_classes(s->classes, s->most) : 0;
}

static int
shards_next(void *state, bool wanted, struct source_item *item)
{
	struct state *s = state;
	int e;

	do {
		if ((e = next_sample(s, wanted)) <= 0)
			return e == 0 ? finish_shards(s) : e;
		if (buf_terminate(&s->key) < 0)
			return ERR_NOMEM;
	} while ((!s->has_image && !s->has_label[0] && s->listed == 0 && s->bad == 0) ||
	    (s->split != SOURCE_ALL && !name_has_split((const char *)s->key.p, s->split)));
	s->found = true;
	item->name = (const char *)s->shown.p;
	if (s->bad < 0)
		return err_fail(s->bad, "%s", s->why);
	if (s->has_image && !s->has_label[0] && *s->no_list != 0)
		return err_fail(ERR_ITEM, "%s", s->no_list);
	if (!s->has_image || (!s->has_label[0] && s->listed == 0))
		return err_fail(ERR_ITEM, "has no %s next to it", s->has_image ? "label (.cls or .json)" : "image");
	item->label = s->has_label[0] ? s->label : s->list;
	item->labels = !s->has_label[0] ? (uint32_t)s->listed : s->has_label[1] ? 2 : 1;
	item->data = s->data.p;
	item->n = s->data.n;
	item->part = name_has_split((const char *)s->key.p, SOURCE_TRAIN) ? SOURCE_TRAIN :
	    name_has_split((const char *)s->key.p, SOURCE_TEST) ? SOURCE_TEST : SOURCE_ALL;
	return 1;
}

const struct source_kind source_shards_kind = { shards_open, shards_next, shards_close, NULL, false };
