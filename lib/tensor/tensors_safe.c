/* tensors_safe - reads and writes safetensors. */
#include "tensor/tensors_internal.h"
#include "base/err.h"
#include "base/io.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#define WORD	TENSORS_WORD	/* bytes of the header's length, before it */
#define METAS	"__metadata__"
/*
 * Limits in bytes of one JSON value, whose tree takes fifty times as many: a tensor's name or description, all
 * metadata.
 */
#define VALUE_MOST	(8u << 10)
#define METAS_MOST	(2u << 20)
#define ALIGN	8u		/* alignment of the data, as safetensors' own writer has it */

/*
 * The header's text.  It is parsed one member at a time, because a tree of it all takes ten times the memory of the
 * text.
 */
struct head {
	char	*text;
	size_t	 n, at;
};

static int
fail_not_json(const struct head *h, const char *why)
{
	return err_fail(ERR_FORMAT, "the header is not JSON: %s at byte %zu", why, h->at);
}

/* Skips blanks.  Returns the next character without consuming it, or 0 at the end. */
static char
peek_char(struct head *h)
{
	while (h->at < h->n && (h->text[h->at] == ' ' || h->text[h->at] == '\t' || h->text[h->at] == '\n' ||
	    h->text[h->at] == '\r'))
		h->at++;
	return h->at < h->n ? h->text[h->at] : 0;
}

/* Parses a value of at most `most` bytes and reads no more. */
static int
parse_value(struct head *h, size_t most, json_t **value)
{
	json_error_t error;
	size_t n;

	peek_char(h);
	n = h->n - h->at < most ? h->n - h->at : most;
	*value = json_loadb(h->text + h->at, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK,
	    &error);
	if (*value == NULL && n < h->n - h->at && json_error_code(&error) == json_error_premature_end_of_input)
		return err_fail(ERR_LIMIT, "the header has a value of more than %zu bytes at byte %zu", most, h->at);
	h->at += (size_t)error.position;
	if (*value == NULL)	/* without memory jansson gives no text */
		return error.text[0] == 0 ? err_nomem() : fail_not_json(h, error.text);
	return 0;
}

static bool
is_metadata(const json_t *name)
{
	return strcmp(json_string_value(name), METAS) == 0;
}

/* Parses the next "name": value of the object.  Returns 1, 0 at its end, or an error; the caller releases both. */
static int
parse_member(struct head *h, bool first, json_t **name, json_t **value)
{
	int e;

	*name = *value = NULL;
	if (peek_char(h) == '}') {
		h->at++;
		return peek_char(h) == 0 && h->at == h->n ? 0 : fail_not_json(h, "more text after the object");
	}
	if (!first && peek_char(h) != ',')
		return fail_not_json(h, "no comma");
	h->at += !first;
	if (peek_char(h) != '"')
		return fail_not_json(h, "no name");
	ERR_TRY(parse_value(h, VALUE_MOST, name));
	if (peek_char(h) != ':')
		return fail_not_json(h, "no colon");
	h->at++;
	return (e = parse_value(h, is_metadata(*name) ? METAS_MOST : VALUE_MOST, value)) < 0 ? e : 1;
}

/* Explains a header that is too long.  torch.save() writes zip archives; older versions wrote pickles. */
static int
fail_long_header(const uint8_t word[WORD], uint64_t n)
{
	if (memcmp(word, "PK\3\4", 4) == 0 || (word[0] == 0x80 && word[1] >= 2 && word[1] <= 5))
		return err_fail(ERR_FORMAT, "a pickle or zip archive, as of torch.save(); convert it in Python with "
		    "safetensors.torch.save_file(torch.load(FILE, map_location=\"cpu\"), FILE2)");
	if (memcmp(word, "\x0a\x23\xd7\xce", 4) == 0)
		return err_fail(ERR_FORMAT, "holds records; name a file of weights");
	if (n >> 40 != 0)
		return err_fail(ERR_FORMAT, "is neither safetensors nor an NDArray list; name a file of weights");
	return err_fail(ERR_LIMIT, "has a header of %" PRIu64 " bytes, too many for safetensors; "
	    "name a file of weights", n);
}

int
tensors_safe_knows(const uint8_t word[WORD])
{
	uint64_t n = le_get64(word);

	if (n > TENSORS_HEAD)
		return fail_long_header(word, n);
	return n > 0 ? 0 : err_fail(ERR_FORMAT, "the header is not a JSON object; name a file of weights");
}

/* *data is the offset of the data. */
static int
read_safe_header(const struct tensors *t, struct head *h, uint64_t *data)
{
	uint8_t word[WORD];
	uint64_t n;

	ERR_TRY(io_pread(t->fd, word, WORD, 0));
	ERR_TRY(tensors_safe_knows(word));
	n = le_get64(word);
	if (n > t->size - WORD)
		return err_fail(ERR_SHORT, "ends inside its header of %" PRIu64 " bytes", n);
	if ((h->text = malloc((size_t)n + 1)) == NULL)
		return err_nomem();
	h->n = (size_t)n;
	*data = WORD + n;
	ERR_TRY(io_pread(t->fd, h->text, h->n, WORD));
	if (peek_char(h) != '{')
		return err_fail(ERR_FORMAT, "the header is not a JSON object");
	h->at++;
	return 0;
}

static int
parse_metadata(struct tensors *t, json_t *meta)
{
	const char *key;
	json_t *value;
	int e = 0;

	if (!json_is_object(meta))
		return err_fail(ERR_FORMAT, "the metadata is not a JSON object");
	json_object_foreach(meta, key, value) {
		if (!json_is_string(value))
			return err_fail(ERR_FORMAT, "metadata '%.64s' is not text", key);
		if ((e = tensors_add_meta(t, key, json_string_value(value))) < 0)
			break;
	}
	return e;
}

static int
parse_dtype(const char *name, const json_t *tensor, struct tensor *x)
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
parse_shape(const char *name, const json_t *tensor, struct tensor *x)
{
	const json_t *shape = json_object_get(tensor, "shape");
	size_t n = json_array_size(shape);

	if (!json_is_array(shape) || n > TENSORS_DIMS)
		return err_fail(ERR_FORMAT, "tensor '%.80s' has no shape of at most %d dimensions", name, TENSORS_DIMS);
	x->ndim = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		const json_t *dim = json_array_get(shape, i);

		if (!json_is_integer(dim) || json_integer_value(dim) < 0)
			return err_fail(ERR_FORMAT, "tensor '%.80s' has an invalid shape", name);
		x->dim[i] = (uint64_t)json_integer_value(dim);
	}
	return 0;
}

static int
parse_tensor(struct tensors *t, const char *name, const json_t *tensor, uint64_t data)
{
	const json_t *offsets = json_object_get(tensor, "data_offsets");
	const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
	struct tensor x = { 0 };
	uint64_t bytes;

	if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
	    json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
		return err_fail(ERR_FORMAT, "tensor '%.80s' has no data_offsets [begin, end]", name);
	ERR_TRY(parse_dtype(name, tensor, &x));
	ERR_TRY(parse_shape(name, tensor, &x));
	if ((uint64_t)json_integer_value(end) > t->size - data)
		return err_fail(ERR_SHORT, "ends inside tensor '%.80s'", name);
	x.at = data + (uint64_t)json_integer_value(begin);
	ERR_TRY(tensors_append(t, name, strlen(name), x));
	bytes = (uint64_t)(json_integer_value(end) - json_integer_value(begin));
	if (bytes != t->t[t->n - 1].count * tensors_type_size(x.type))
		return err_fail(ERR_FORMAT, "tensor '%.80s' has %" PRIu64 " bytes for its %" PRIu64 " numbers", name,
		    bytes,
		    t->t[t->n - 1].count);
	return 0;
}

/* An empty tensor comes before the one that begins at the same offset. */
static int
compare_offsets(const void *a, const void *b)
{
	const struct tensor *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->count < y->count ? -1 : x->count > y->count;
}

/* The format requires that the tensors cover the data, without overlap or gap, to the last byte. */
static int
check_coverage(const struct tensors *t, uint64_t at)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct tensor *x = &t->t[i];

		if (x->at != at)
			return err_fail(ERR_FORMAT,
			    "tensor '%.80s' begins at byte %" PRIu64 ", the one before it ends at %"
			    PRIu64, x->name, x->at, at);
		at += tensors_bytes(x);
	}
	return at == t->size ? 0 : err_fail(ERR_FORMAT, "%" PRIu64 " bytes after the last tensor", t->size - at);
}

int
tensors_safe_read(struct tensors *t)
{
	struct head h = { 0 };
	json_t *name = NULL, *value = NULL;
	bool metas = false;
	uint64_t data = 0;
	int e = read_safe_header(t, &h, &data);

	for (bool first = true; e == 0 && (e = parse_member(&h, first, &name, &value)) > 0; first = false) {
		const char *text = json_string_value(name);
		bool meta = is_metadata(name);

		e = !meta ? parse_tensor(t, text, value, data) : metas ? fail_not_json(&h, METAS " twice")
		    : parse_metadata(t, value);
		metas |= meta;
		json_decref(name);
		json_decref(value);
		name = value = NULL;
	}
	json_decref(name);
	free(h.text);
	if (e < 0)
		return e;
	if (t->n > 0)
		qsort(t->t, t->n, sizeof(*t->t), compare_offsets);
	return check_coverage(t, data);
}

static int
append_json(struct buf *b, const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	int e = text == NULL ? err_nomem() : buf_put(b, text, strlen(text));

	free(text);
	return e;
}

bool
tensors_is_utf8(const char *text)
{
	json_t *json = json_string(text);

	json_decref(json);
	return json != NULL;
}

static int
append_metadata(const struct tensors *t, struct buf *b)
{
	json_t *to = json_object();
	int e = to == NULL ? err_nomem() : buf_put_fmt(b, "\"" METAS "\":");

	for (uint32_t i = 0; e == 0 && i < t->nmeta; i++) {
		json_t *text = json_string(t->meta[i].value);

		if (text == NULL || json_object_set_new(to, t->meta[i].key, text) < 0)
			e = err_fail(ERR_FORMAT, "metadata '%s' is not UTF-8", t->meta[i].key);
	}
	if (e == 0)
		e = append_json(b, to);
	json_decref(to);
	return e;
}

/* Advances *at, the offset of the data, past the tensor. */
static int
append_tensor_json(const struct tensor *x, struct buf *b, uint64_t *at)
{
	uint64_t end = *at + tensors_bytes(x);
	json_t *name = json_string(x->name);
	int e = name == NULL ? err_fail(ERR_FORMAT, "a tensor's name is not UTF-8") : append_json(b, name);

	json_decref(name);
	ERR_TRY(e);
	ERR_TRY(buf_put_fmt(b, ":{\"dtype\":\"%s\",\"shape\":[", tensors_type_name(x->type)));
	for (uint32_t i = 0; i < x->ndim; i++)
		ERR_TRY(buf_put_fmt(b, "%s%" PRIu64, i > 0 ? "," : "", x->dim[i]));
	ERR_TRY(buf_put_fmt(b, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *at, end));
	*at = end;
	return 0;
}

int
tensors_safe_head(struct tensors *t, struct buf *head)
{
	static const uint8_t word[WORD];
	uint64_t at = 0;

	ERR_TRY(buf_put(head, word, WORD));
	ERR_TRY(buf_put(head, "{", 1));
	if (t->nmeta > 0)
		ERR_TRY(append_metadata(t, head));
	for (size_t i = 0; i < t->n; i++) {
		t->t[i].at = at;
		if (i > 0 || t->nmeta > 0)
			ERR_TRY(buf_put(head, ",", 1));
		ERR_TRY(append_tensor_json(&t->t[i], head, &at));
	}
	ERR_TRY(buf_put(head, "}", 1));
	while (head->n % ALIGN != 0)
		ERR_TRY(buf_put(head, " ", 1));
	if (head->n - WORD > TENSORS_HEAD)
		return err_fail(ERR_LIMIT, "a header of %zu bytes", head->n - WORD);
	le_put64(head->p, head->n - WORD);
	for (size_t i = 0; i < t->n; i++)
		t->t[i].at += head->n;
	return 0;
}
