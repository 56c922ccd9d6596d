/* preprocess - how images become the input of a net, stored with its weights. */
#include "train/preprocess.h"
#include "base/err.h"
#include "base/num.h"
#include "net/weights.h"
#include "tensor/tensors.h"

#include <stdlib.h>
#include <string.h>

#define FIELD(m) .at = offsetof(struct preprocess, m), .n = sizeof(((struct preprocess *)NULL)->m) / sizeof(float)

const struct preprocess_field preprocess_fields[] = {
	{ "resize", "resize", FIELD(resize) },
	{ "packed", NULL, FIELD(packed) },
	{ "pad", "pad", FIELD(pad) },
	{ "fill", "fill-value", FIELD(fill) },
	{ "mirror", "mirror", FIELD(mirror) },
	{ "mean", "mean-rgb", FIELD(mean) },
	{ "std", "std-rgb", FIELD(std) },
	{ "scale", "scale", FIELD(scale) },
	{ "mean_image", NULL, FIELD(has_mean_image) },
	{ "label_at", "label-at", FIELD(label_at), .optional = true },
	{ "pad_reflect", "pad-reflect", FIELD(pad_reflect), .optional = true },
	{ 0 }
};

void
preprocess_from_aug(const struct aug *a, struct preprocess *p)
{
	*p = (struct preprocess){ .resize = (float)a->resize, .packed = (float)a->packed, .pad = (float)a->pad,
	    .pad_reflect = a->pad_reflect, .fill = a->fill, .mirror = a->mirror, .scale = a->scale > 0 ? a->scale : 1,
	    .has_mean_image = a->mean != NULL };
	for (int i = 0; i < 3; i++) {
		p->mean[i] = a->mean != NULL ? 0 : a->mean_of[i];
		p->std[i] = a->std_of[i] > 0 ? a->std_of[i] : 1;
	}
}

void
preprocess_to_aug(const struct preprocess *p, struct aug *a)
{
	a->resize = (uint32_t)p->resize;
	a->packed = (uint32_t)p->packed;
	a->pad = (uint32_t)p->pad;
	a->pad_reflect = p->pad_reflect > 0;
	a->fill = (uint8_t)p->fill;
	a->mirror = p->mirror > 0;
	a->scale = p->scale;
	memcpy(a->mean_of, p->mean, sizeof(a->mean_of));
	memcpy(a->std_of, p->std, sizeof(a->std_of));
}

float *
preprocess_get(struct preprocess *p, const struct preprocess_field *f)
{
	return (float *)((char *)p + f->at);
}

int
preprocess_put_field(const struct preprocess *p, const struct preprocess_field *f, struct buf *text)
{
	const float *v = (const float *)((const char *)p + f->at);

	/* %.9g restores the bits of a float; trailing equal numbers stay, so that all have the same form. */
	for (uint32_t i = 0; i < f->n; i++)
		ERR_TRY(buf_put_fmt(text, "%s%.9g", i > 0 ? "," : "", (double)v[i]));
	return 0;
}

int
preprocess_put(const struct preprocess *p, struct buf *text)
{
	int e = 0;

	for (const struct preprocess_field *f = preprocess_fields; f->name != NULL && e == 0; f++)
		if ((!f->optional || *(const float *)((const char *)p + f->at) > 0) &&
		    (e = buf_put_fmt(text, "%s%s=", f == preprocess_fields ? "" : " ", f->name)) == 0)
			e = preprocess_put_field(p, f, text);
	return e == 0 ? buf_terminate(text) : e;
}

/* Parses one NAME=NUMBER,... in place. */
static int
parse_field(char *word, struct preprocess *p)
{
	const struct preprocess_field *f = preprocess_fields;
	char *numbers = strchr(word, '='), *one;
	uint32_t n = 0;
	double v;

	if (numbers == NULL)
		return err_fail(ERR_FORMAT, "'%.64s' is not NAME=NUMBER", word);
	*numbers++ = 0;
	while (f->name != NULL && strcmp(f->name, word) != 0)
		f++;
	if (f->name == NULL)
		return err_fail(ERR_NOTSUP, "'%.64s' is unknown to this version", word);
	for (; (one = strsep(&numbers, ",")) != NULL; n++) {
		if (n == f->n || num_f64(one, -1e30, 1e30, &v) < 0)
			return err_fail(ERR_FORMAT, "%s: '%.64s' is not one of %u numbers", word, one, f->n);
		preprocess_get(p, f)[n] = (float)v;
	}
	return n == f->n ? 0 : err_fail(ERR_FORMAT, "%s: has fewer than %u numbers", word, f->n);
}

/* The bounds are those of pworker's options: the numbers of a file must not be less safe than an option. */
static int
check_fields(const struct preprocess *p)
{
	bool good = p->resize >= 0 && p->resize <= 65536 && p->packed >= 0 && p->packed <= 65536 && p->pad >= 0 &&
	    p->pad <= 4096 && p->fill >= 0 && p->fill <= 255 && p->scale >= 1e-30f &&
	    p->label_at >= 0 && p->label_at <= 65535 && (p->pad_reflect == 0 || p->pad_reflect == 1);

	for (int i = 0; i < 3; i++)
		good = good && p->mean[i] >= -1e6f && p->mean[i] <= 1e6f && p->std[i] >= 1e-6f && p->std[i] <= 1e6f;
	return good ? 0 : err_fail(ERR_FORMAT, "a number is out of its bounds");
}

static int
parse_text(const char *text, struct preprocess *p)
{
	char *copy = strdup(text), *rest = copy, *word;
	int e = copy == NULL ? err_nomem() : 0;

	p->scale = p->std[0] = p->std[1] = p->std[2] = 1;
	while (e == 0 && (word = strsep(&rest, " ")) != NULL)
		e = parse_field(word, p);
	free(copy);
	if (e == 0)
		e = check_fields(p);
	return err_wrap(e, "its preprocessing");
}

static int
read_mean_image(const struct tensors *t, struct preprocess *p)
{
	const struct tensor *x = tensors_find(t, WEIGHTS_MEAN_IMAGE);

	if (x == NULL || p->has_mean_image == 0)
		return 0;
	if (x->ndim != 3 || x->type != TENSORS_F32)
		return err_fail(ERR_FORMAT, "tensor '" WEIGHTS_MEAN_IMAGE "' is not F32 [c,h,w]");
	if ((p->mean_image = malloc((size_t)x->count * sizeof(float) + 1)) == NULL)
		return err_nomem();
	p->c = x->dim[0];
	p->h = x->dim[1];
	p->w = x->dim[2];
	return tensors_read(t, x, 0, (size_t)x->count, p->mean_image);
}

int
preprocess_read(const char *path, struct preprocess *p)
{
	struct tensors t;
	const char *text, *names;
	int e = 0;

	*p = (struct preprocess){ 0 };
	ERR_TRY(tensors_open(&t, path));
	text = tensors_meta(&t, WEIGHTS_PREPROCESSING);
	names = tensors_meta(&t, WEIGHTS_CLASS_NAMES);
	if (names != NULL && (p->class_names = strdup(names)) == NULL)
		e = err_nomem();
	if (e == 0 && text != NULL && (e = parse_text(text, p)) == 0)
		e = read_mean_image(&t, p);
	tensors_close(&t);
	if (e < 0) {
		err_within("%s", path);
		preprocess_free(p);
	}
	return e < 0 ? e : text != NULL;
}

void
preprocess_free(struct preprocess *p)
{
	free(p->mean_image);
	free(p->class_names);
	*p = (struct preprocess){ 0 };
}
