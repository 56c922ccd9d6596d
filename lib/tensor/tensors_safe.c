/* tensors_safe - the header of a safetensors file into a table, and back. */
#include "tensor/tensors_in.h"
#include "base/err.h"
#include "base/io.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#define WORD	8u		/* bytes of the header's length, in front of it */
#define ALIGN	8u		/* the data begins at a multiple of this, as safetensors' own writer has it */

static int
parse(const char *text, size_t n, json_t **root)
{
	json_error_t error;

	if ((*root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error)) == NULL)
		return json_error_code(&error) == json_error_out_of_memory ? err_nomem() :
		    err_fail(ERR_FORMAT, "its header is no JSON: %s at byte %d", error.text, error.position);
	if (!json_is_object(*root))
		return err_fail(ERR_FORMAT, "its header is no JSON object");
	return 0;
}

/* What no safetensors file begins with, of so long a header; what torch.save() writes is a zip archive, or was a pickle. */
static int
no_head(const uint8_t word[WORD], uint64_t n)
{
	if (memcmp(word, "PK\3\4", 4) == 0 || (word[0] == 0x80 && word[1] >= 2 && word[1] <= 5))
		return err_fail(ERR_FORMAT, "pickled or zipped, as by torch.save(); "
		    "what safetensors.torch.save_file(torch.load(FILE, map_location=\"cpu\"), FILE2) writes in Python is read here");
	return err_fail(ERR_LIMIT, "a header of %" PRIu64 " bytes, or neither safetensors nor an NDArray list", n);
}

/* *data is where the data begins. */
static int
read_head(const struct tensors *t, json_t **root, uint64_t *data)
{
	uint8_t word[WORD];
	uint64_t n;
	char *text;
	int e;

	if ((e = io_pread(t->fd, word, WORD, 0)) < 0)
		return e;
	n = le_get64(word);
	if (n > TENSORS_HEAD)
		return no_head(word, n);
	if (n > t->size - WORD)
		return err_fail(ERR_SHORT, "ends inside its header of %" PRIu64 " bytes", n);
	if ((text = malloc((size_t)n + 1)) == NULL)
		return err_nomem();
	*data = WORD + n;
	if ((e = io_pread(t->fd, text, (size_t)n, WORD)) == 0)
		e = parse(text, (size_t)n, root);
	free(text);
	return e;
}

static int
take_metas(struct tensors *t, const json_t *root)
{
	json_t *meta = json_object_get(root, "__metadata__"), *value;
	const char *key;
	int e = 0;

	if (meta != NULL && !json_is_object(meta))
		return err_fail(ERR_FORMAT, "its metadata is no JSON object");
	json_object_foreach(meta, key, value) {
		if (!json_is_string(value))
			return err_fail(ERR_FORMAT, "metadata '%.64s' is not text", key);
		if ((e = tensors_add_meta(t, key, json_string_value(value))) < 0)
			break;
	}
	return e;
}

static int
take_type(const char *name, const json_t *tensor, struct tensor *x)
{
	const char *dtype = json_string_value(json_object_get(tensor, "dtype"));

	for (int i = 0; dtype != NULL && i < TENSORS_TYPES; i++)
		if (strcmp(dtype, tensors_type_name((enum tensors_type)i)) == 0) {
			x->type = (enum tensors_type)i;
			return 0;
		}
	return dtype == NULL ? err_fail(ERR_FORMAT, "tensor '%.80s' has no dtype", name) :
	    err_fail(ERR_NOTSUP, "tensor '%.80s' is of dtype %.16s", name, dtype);
}

static int
take_shape(const char *name, const json_t *tensor, struct tensor *x)
{
	const json_t *shape = json_object_get(tensor, "shape");
	size_t n = json_array_size(shape);

	if (!json_is_array(shape) || n > TENSORS_DIMS)
		return err_fail(ERR_FORMAT, "tensor '%.80s' has no shape of at most %d dimensions", name, TENSORS_DIMS);
	x->ndim = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		const json_t *dim = json_array_get(shape, i);

		if (!json_is_integer(dim) || json_integer_value(dim) < 0)
			return err_fail(ERR_FORMAT, "tensor '%.80s' has a shape that is none", name);
		x->dim[i] = (uint64_t)json_integer_value(dim);
	}
	return 0;
}

static int
take_tensor(struct tensors *t, const char *name, const json_t *tensor, uint64_t data)
{
	const json_t *offsets = json_object_get(tensor, "data_offsets");
	const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
	struct tensor x = { 0 };
	uint64_t bytes;
	int e;

	if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
	    json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
		return err_fail(ERR_FORMAT, "tensor '%.80s' has no offsets [begin, end]", name);
	if ((e = take_type(name, tensor, &x)) < 0 || (e = take_shape(name, tensor, &x)) < 0)
		return e;
	if ((uint64_t)json_integer_value(end) > t->size - data)
		return err_fail(ERR_SHORT, "ends inside tensor '%.80s'", name);
	x.at = data + (uint64_t)json_integer_value(begin);
	if ((e = tensors_append(t, name, strlen(name), x)) < 0)
		return e;
	bytes = (uint64_t)(json_integer_value(end) - json_integer_value(begin));
	if (bytes != t->t[t->n - 1].count * tensors_type_size(x.type))
		return err_fail(ERR_FORMAT, "tensor '%.80s' has %" PRIu64 " bytes for its %" PRIu64 " numbers", name, bytes,
		    t->t[t->n - 1].count);
	return 0;
}

/* Tensors without numbers come before the one that begins where they stand. */
static int
by_place(const void *a, const void *b)
{
	const struct tensor *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->count < y->count ? -1 : x->count > y->count;
}

/* The format wants the data covered by tensors, without overlap or hole, to the last byte. */
static int
check_cover(const struct tensors *t, uint64_t at)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct tensor *x = &t->t[i];

		if (x->at != at)
			return err_fail(ERR_FORMAT, "tensor '%.80s' begins at byte %" PRIu64 ", what is before it ends at %"
			    PRIu64, x->name, x->at, at);
		at += x->count * tensors_type_size(x->type);
	}
	return at == t->size ? 0 : err_fail(ERR_FORMAT, "%" PRIu64 " bytes behind the last tensor", t->size - at);
}

int
tensors_safe_read(struct tensors *t)
{
	json_t *root = NULL, *tensor;
	const char *name;
	uint64_t data = 0;
	int e;

	if ((e = read_head(t, &root, &data)) == 0 && (e = take_metas(t, root)) == 0) {
		json_object_foreach(root, name, tensor)
			if (strcmp(name, "__metadata__") != 0 && (e = take_tensor(t, name, tensor, data)) < 0)
				break;
	}
	json_decref(root);
	if (e < 0)
		return e;
	if (t->n > 0)
		qsort(t->t, t->n, sizeof(*t->t), by_place);
	return check_cover(t, data);
}

static int
give_metas(const struct tensors *t, json_t *root)
{
	json_t *to = json_object();

	if (to == NULL || json_object_set_new(root, "__metadata__", to) < 0)
		return err_nomem();
	for (uint32_t i = 0; i < t->nmeta; i++) {
		json_t *text = json_string(t->meta[i].value);

		if (text == NULL || json_object_set_new(to, t->meta[i].key, text) < 0)
			return err_fail(ERR_FORMAT, "metadata '%s' is not UTF-8", t->meta[i].key);
	}
	return 0;
}

/* *at, its place in the data, moves behind it. */
static int
give_tensor(const struct tensor *x, json_t *root, uint64_t *at)
{
	uint64_t end = *at + x->count * tensors_type_size(x->type);
	json_t *shape, *tensor;

	if (json_object_get(root, x->name) != NULL)
		return err_fail(ERR_FORMAT, "two tensors '%.80s'", x->name);
	shape = json_array();
	for (uint32_t i = 0; i < x->ndim; i++)
		json_array_append_new(shape, json_integer((json_int_t)x->dim[i]));
	tensor = json_pack("{s:s, s:o, s:[I, I]}", "dtype", tensors_type_name(x->type), "shape", shape, "data_offsets",
	    (json_int_t)*at, (json_int_t)end);
	*at = end;
	if (tensor == NULL)
		return err_nomem();
	return json_object_set_new(root, x->name, tensor) == 0 ? 0 :
	    err_fail(ERR_FORMAT, "a tensor's name is not UTF-8");
}

static int
put_head(const char *text, struct buf *head)
{
	static const char blanks[ALIGN + 1] = "        ";
	size_t n = strlen(text), whole = (n + ALIGN - 1) / ALIGN * ALIGN;
	uint8_t word[WORD];
	int e;

	le_put64(word, whole);
	if (whole > TENSORS_HEAD)
		return err_fail(ERR_LIMIT, "a header of %zu bytes", whole);
	if ((e = buf_put(head, word, WORD)) == 0 && (e = buf_put(head, text, n)) == 0)
		e = buf_put(head, blanks, whole - n);
	return e;
}

int
tensors_safe_head(struct tensors *t, struct buf *head)
{
	json_t *root = json_object();
	uint64_t at = 0;
	char *text = NULL;
	int e = root == NULL ? err_nomem() : 0;

	if (e == 0 && t->nmeta > 0)
		e = give_metas(t, root);
	for (size_t i = 0; e == 0 && i < t->n; i++) {
		t->t[i].at = at;
		e = give_tensor(&t->t[i], root, &at);
	}
	if (e == 0 && (text = json_dumps(root, JSON_COMPACT)) == NULL)
		e = err_nomem();
	json_decref(root);
	if (e == 0 && (e = put_head(text, head)) == 0)
		for (size_t i = 0; i < t->n; i++)
			t->t[i].at += head->n;
	free(text);
	return e;
}
