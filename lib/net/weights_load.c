/* weights_load - a safetensors file into a net's arrays. */
#include "base/err.h"
#include "base/io.h"
#include "net/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORD 8		/* bytes of the header's length, in front of it */

struct file {
	int	 fd;
	json_t	*root;		/* the header */
	uint64_t data, size;	/* where the data begins, and its bytes */
};

struct range {
	uint64_t begin, end;
	const char *name;
};

static int
open_file(const char *path, struct file *f)
{
	struct stat st;

	/* Not to wait for the other end of a named pipe. */
	if ((f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
		return err_sys("open");
	if (fstat(f->fd, &st) < 0)
		return err_sys("stat");
	if (!S_ISREG(st.st_mode))
		return err_fail(ERR_FORMAT, "is not a plain file");
	f->size = (uint64_t)st.st_size;
	return 0;
}

static int
parse_head(struct file *f, const char *text, size_t n)
{
	json_error_t error;

	if ((f->root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error)) == NULL)
		return json_error_code(&error) == json_error_out_of_memory ? err_nomem() :
		    err_fail(ERR_FORMAT, "its header is no JSON: %s at byte %d", error.text, error.position);
	if (!json_is_object(f->root))
		return err_fail(ERR_FORMAT, "its header is no JSON object");
	return 0;
}

static int
read_head(struct file *f)
{
	uint8_t word[WORD];
	uint64_t n;
	char *text;
	int e;

	if (f->size < WORD)
		return err_fail(ERR_SHORT, "has %" PRIu64 " bytes, fewer than a header's length", f->size);
	if ((e = io_pread(f->fd, word, WORD, 0)) < 0)
		return e;
	n = le_get64(word);
	if (n > WEIGHTS_HEAD)
		return err_fail(ERR_LIMIT, "a header of %" PRIu64 " bytes, or no safetensors file", n);
	if (n > f->size - WORD)
		return err_fail(ERR_SHORT, "ends inside its header of %" PRIu64 " bytes", n);
	if ((text = malloc((size_t)n + 1)) == NULL)
		return err_nomem();
	f->data = WORD + n;
	f->size -= f->data;
	if ((e = io_pread(f->fd, text, (size_t)n, WORD)) == 0)
		e = parse_head(f, text, (size_t)n);
	free(text);
	return e;
}

static int
take_meta(struct weights *out, const char *key, const char *value)
{
	struct weights_meta *m = &out->meta[out->nmeta];
	int e;

	if (strcmp(key, "graph") == 0) {
		if ((e = graph_parse(value, strlen(value), &out->graph)) < 0)
			err_within("its graph");
		return e;
	}
	if (out->nmeta == WEIGHTS_METAS)
		return err_fail(ERR_LIMIT, "more than %d pairs of metadata", WEIGHTS_METAS);
	m->key = strdup(key);
	m->value = strdup(value);
	out->nmeta++;
	return m->key == NULL || m->value == NULL ? err_nomem() : 0;
}

static int
take_metas(const struct file *f, struct weights *out)
{
	json_t *meta = json_object_get(f->root, "__metadata__"), *value;
	const char *key;
	int e = 0;

	if (meta != NULL && !json_is_object(meta))
		return err_fail(ERR_FORMAT, "its metadata is no JSON object");
	json_object_foreach(meta, key, value) {
		if (!json_is_string(value))
			return err_fail(ERR_FORMAT, "metadata '%.64s' is not text", key);
		if ((e = take_meta(out, key, json_string_value(value))) < 0)
			break;
	}
	return e;
}

static int
get_range(const char *name, const json_t *tensor, struct range *r)
{
	const json_t *offsets = json_object_get(tensor, "data_offsets");
	const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);

	if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
	    json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
		return err_fail(ERR_FORMAT, "tensor '%.80s' has no offsets [begin, end]", name);
	*r = (struct range){ (uint64_t)json_integer_value(begin), (uint64_t)json_integer_value(end), name };
	return 0;
}

static int
by_begin(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* The format wants the data covered by tensors, without overlap or hole, to the last byte. */
static int
check_cover(const struct file *f, struct range *r, size_t n)
{
	uint64_t at = 0;

	qsort(r, n, sizeof(*r), by_begin);
	for (size_t i = 0; i < n; i++) {
		if (r[i].end > f->size)
			return err_fail(ERR_SHORT, "ends inside tensor '%.80s'", r[i].name);
		if (r[i].begin != at)
			return err_fail(ERR_FORMAT, "tensor '%.80s' begins at %" PRIu64 ", the one before it ends at %" PRIu64,
			    r[i].name, r[i].begin, at);
		at = r[i].end;
	}
	return at == f->size ? 0 :
	    err_fail(ERR_FORMAT, "%" PRIu64 " bytes behind the last tensor", f->size - at);
}

static int
check_ranges(const struct file *f)
{
	struct range *r = calloc(json_object_size(f->root) + 1, sizeof(*r));
	const char *name;
	json_t *tensor;
	size_t n = 0;
	int e = 0;

	if (r == NULL)
		return err_nomem();
	json_object_foreach(f->root, name, tensor)
		if (strcmp(name, "__metadata__") != 0 && (e = get_range(name, tensor, &r[n++])) < 0)
			break;
	if (e == 0)
		e = check_cover(f, r, n);
	free(r);
	return e;
}

/* Is the tensor of array a there, as f32 of its shape?  *r is its place in the data. */
static int
find(const struct file *f, const struct graph_array *a, const char *tail, struct range *r)
{
	char name[sizeof(a->name) + sizeof(WEIGHTS_STATE)];
	const json_t *tensor, *shape;
	const char *dtype;
	bool same;
	int e;

	snprintf(name, sizeof(name), "%s%s", a->name, tail);
	if ((tensor = json_object_get(f->root, name)) == NULL)
		return err_fail(ERR_FORMAT, "has no tensor '%s'", name);
	dtype = json_string_value(json_object_get(tensor, "dtype"));
	if (dtype == NULL || strcmp(dtype, "F32") != 0)
		return err_fail(ERR_FORMAT, "tensor '%s' is %.16s, not F32", name, dtype == NULL ? "of no dtype" : dtype);
	shape = json_object_get(tensor, "shape");
	same = json_array_size(shape) == a->ndim;
	for (uint32_t i = 0; same && i < a->ndim; i++)
		same = json_is_integer(json_array_get(shape, i)) && json_integer_value(json_array_get(shape, i)) == a->dim[i];
	if (!same)
		return err_fail(ERR_FORMAT, "tensor '%s' has another shape than the net", name);
	if ((e = get_range(name, tensor, r)) == 0 && r->end - r->begin != a->count * sizeof(float))
		e = err_fail(ERR_FORMAT, "tensor '%s' has %" PRIu64 " bytes for %zu floats", name, r->end - r->begin, a->count);
	return e;
}

/*
 * Reads the tensors of n arrays, all that stand in *to [total].  All are found first: their bytes are in the file, so
 * memory is never taken for more than it holds.
 */
static int
read_arrays(const struct file *f, const struct graph_array *a, uint32_t n, const char *tail, size_t total, float **to)
{
	struct range r = { 0 };
	int e = 0;

	for (uint32_t i = 0; e == 0 && i < n; i++)
		e = find(f, &a[i], tail, &r);
	if (e == 0 && (*to = malloc((total + 1) * sizeof(float))) == NULL)
		e = err_nomem();
	for (uint32_t i = 0; e == 0 && i < n; i++)
		if ((e = find(f, &a[i], tail, &r)) == 0)
			e = io_pread(f->fd, *to + a[i].first, a[i].count * sizeof(float), f->data + r.begin);
	return e;
}

/* Optimizer state for one learned array means for all: what is missing then is an error. */
static bool
has_state(const struct file *f, const struct graph *g)
{
	char name[sizeof(g->w->name) + sizeof(WEIGHTS_STATE)];

	for (uint32_t i = 0; i < g->nw; i++) {
		snprintf(name, sizeof(name), "%s" WEIGHTS_STATE, g->w[i].name);
		if (json_object_get(f->root, name) != NULL)
			return true;
	}
	return false;
}

static int
load(const struct graph *want, struct file *f, struct weights *out)
{
	const struct graph *g;
	int e;

	if ((e = read_head(f)) < 0 || (e = check_ranges(f)) < 0 || (e = take_metas(f, out)) < 0)
		return e;
	if ((g = want != NULL ? want : out->graph) == NULL)
		return err_fail(ERR_FORMAT, "has no graph of its net");
	if ((e = read_arrays(f, g->w, g->nw, "", g->P, &out->w)) < 0 ||
	    (e = read_arrays(f, g->aux, g->naux, "", g->A, &out->aux)) < 0)
		return e;
	return has_state(f, g) ? read_arrays(f, g->w, g->nw, WEIGHTS_STATE, g->P, &out->state) : 0;
}

int
weights_load(const char *path, const struct graph *want, struct weights *out)
{
	struct file f = { .fd = -1 };
	int e;

	*out = (struct weights){ 0 };
	if ((e = open_file(path, &f)) == 0)
		e = load(want, &f, out);
	if (f.fd >= 0)
		close(f.fd);
	json_decref(f.root);
	if (e < 0) {
		err_within("%s", path);
		weights_free(out);
	}
	return e;
}
