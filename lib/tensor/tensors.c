/* tensors - reads and writes files of named tensors: safetensors, MXNet's NDArray lists and ONNX models. */
#include "tensor/tensors_internal.h"
#include "base/err.h"
#include "base/grow.h"
#include "base/io.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ELEMENT_MOST 8	/* bytes of the widest type */
#define COPY_BYTES	65536u	/* bytes copied from a pipe at a time */

static const struct {
	const char	*name;
	size_t		 size;
} types[TENSORS_TYPES] = {
	[TENSORS_F32] = { "F32", 4 }, [TENSORS_F64] = { "F64", 8 }, [TENSORS_F16] = { "F16", 2 },
	[TENSORS_BF16] = { "BF16", 2 }, [TENSORS_U8] = { "U8", 1 }, [TENSORS_I8] = { "I8", 1 },
	[TENSORS_I16] = { "I16", 2 }, [TENSORS_U16] = { "U16", 2 }, [TENSORS_I32] = { "I32", 4 },
	[TENSORS_U32] = { "U32", 4 }, [TENSORS_I64] = { "I64", 8 }, [TENSORS_U64] = { "U64", 8 },
	[TENSORS_BOOL] = { "BOOL", 1 },
};

const char *
tensors_type_name(enum tensors_type type)
{
	return types[type].name;
}

size_t
tensors_type_size(enum tensors_type type)
{
	return types[type].size;
}

int
tensors_append(struct tensors *t, const char *name, size_t n, struct tensor x)
{
	size_t count = 1;
	struct tensor *more;

	for (uint32_t i = 0; i < x.ndim; i++)
		if (x.dim[i] > SIZE_MAX / ELEMENT_MOST || num_mul(count, (size_t)x.dim[i], &count) < 0 ||
		    count > SIZE_MAX / ELEMENT_MOST)
			return err_fail(ERR_LIMIT, "tensor '%.*s' is too large", (int)n, name);
	x.count = count;
	if (t->n == TENSORS_MOST)
		return err_fail(ERR_LIMIT, "more than %u tensors", TENSORS_MOST);
	if ((more = grow_by_one(t->t, t->n, &t->cap, sizeof(*more))) == NULL)
		return ERR_NOMEM;
	t->t = more;
	if ((x.name = strndup(name, n)) == NULL)
		return err_nomem();
	t->t[t->n++] = x;
	return 0;
}

int
tensors_add(struct tensors *t, const char *name, const struct tensor *like)
{
	return tensors_append(t, name, strlen(name), *like);
}

int
tensors_add_meta(struct tensors *t, const char *key, const char *value)
{
	struct tensors_meta *m = &t->meta[t->nmeta];

	if (t->nmeta == TENSORS_METAS)
		return err_fail(ERR_LIMIT, "more than %d pairs of metadata", TENSORS_METAS);
	m->key = strdup(key);
	m->value = strdup(value);
	t->nmeta++;
	return m->key == NULL || m->value == NULL ? err_nomem() : 0;
}

const char *
tensors_meta(const struct tensors *t, const char *key)
{
	for (uint32_t i = 0; i < t->nmeta; i++)
		if (strcmp(t->meta[i].key, key) == 0)
			return t->meta[i].value;
	return NULL;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp((*(const struct tensor *const *)a)->name, (*(const struct tensor *const *)b)->name);
}

static int
compare_key(const void *key, const void *x)
{
	return strcmp(key, (*(const struct tensor *const *)x)->name);
}

/* A table being made is not sorted. */
const struct tensor *
tensors_find(const struct tensors *t, const char *name)
{
	const struct tensor **x;

	if (t->by_name != NULL) {
		x = t->n == 0 ? NULL : bsearch(name, t->by_name, t->n, sizeof(*t->by_name), compare_key);
		return x != NULL ? *x : NULL;
	}
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->t[i].name, name) == 0)
			return &t->t[i];
	return NULL;
}

const struct tensor *
tensors_find_plain(const struct tensors *t, const char *name)
{
	char with[4096];
	const struct tensor *x = tensors_find(t, name);

	for (int aux = 0; x == NULL && t->kind == TENSORS_PARAMS && aux < 2; aux++)
		if ((size_t)snprintf(with, sizeof(with), "%s:%s", aux ? "aux" : "arg", name) < sizeof(with))
			x = tensors_find(t, with);
	return x;
}

const char *
tensors_plain_name(const struct tensors *t, const char *name)
{
	if (t->kind == TENSORS_PARAMS && (strncmp(name, "arg:", 4) == 0 || strncmp(name, "aux:", 4) == 0))
		return name + 4;
	return name;
}

bool
tensors_same_shape(const struct tensor *a, const struct tensor *b)
{
	bool same = a->ndim == b->ndim;

	for (uint32_t i = 0; same && i < a->ndim; i++)
		same = a->dim[i] == b->dim[i];
	return same;
}

const char *
tensors_shape(const struct tensor *x, char to[TENSORS_SHAPE])
{
	size_t at = 0;

	memcpy(to, "-", 2);
	for (uint32_t i = 0; i < x->ndim; i++)
		at += (size_t)snprintf(to + at, TENSORS_SHAPE - at, "%s%" PRIu64, i > 0 ? "x" : "", x->dim[i]);
	return to;
}

int
tensors_sort(const struct tensors *t, const struct tensor ***sorted)
{
	const struct tensor **x = calloc(t->n + 1, sizeof(*x));

	if (x == NULL)
		return err_nomem();
	for (size_t i = 0; i < t->n; i++)
		x[i] = &t->t[i];
	qsort(x, t->n, sizeof(*x), compare_names);
	*sorted = x;
	for (size_t i = 1; i < t->n; i++)
		if (compare_names(&x[i - 1], &x[i]) == 0)
			return err_fail(ERR_FORMAT, "two tensors are called '%.80s'", x[i]->name);
	return 0;
}

/*
 * Copies a pipe to a temporary file and replaces the descriptor, because tables need random access.  Refuses a stream
 * whose first bytes fit no format before it waits for the rest.
 */
static int
copy_pipe(int *pipe)
{
	uint8_t *room = malloc(COPY_BYTES);
	size_t got = 0;
	int fd = -1, e = room == NULL ? err_nomem() : io_read(*pipe, room, TENSORS_WORD, &got);

	if (e == 0 && got == TENSORS_WORD && !tensors_params_knows(room))
		e = tensors_safe_knows(room);
	if (e == 0)
		e = io_temp(&fd);
	while (e == 0 && got > 0)
		if ((e = io_write(fd, room, got)) == 0)
			e = io_read(*pipe, room, COPY_BYTES, &got);
	free(room);
	if (fd >= 0) {
		close(*pipe);
		*pipe = fd;
	}
	return e;
}

static int
open_tensor_file(struct tensors *t, const char *path)
{
	bool in = strcmp(path, "-") == 0;
	struct stat st;

	t->fd = in ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
	if (t->fd < 0)
		return err_sys("open");
	t->opened = true;
	if (fstat(t->fd, &st) < 0)
		return err_sys("stat");
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		ERR_TRY(copy_pipe(&t->fd));
		if (fstat(t->fd, &st) < 0)
			return err_sys("stat");
	}
	if (!S_ISREG(st.st_mode))
		return err_fail(ERR_FORMAT, "is %s; name a file of weights", S_ISDIR(st.st_mode) ? "a folder" :
		    "neither a file nor a pipe");
	t->size = (uint64_t)st.st_size;
	return 0;
}

static int
read_tensor_table(struct tensors *t)
{
	uint8_t word[TENSORS_WORD];

	if (t->size < sizeof(word))
		return err_fail(ERR_SHORT, "holds %llu bytes, too few for weights; "
		    "name a file of weights", (unsigned long long)t->size);
	ERR_TRY(io_pread(t->fd, word, sizeof(word), 0));
	t->kind = tensors_params_knows(word) ? TENSORS_PARAMS : TENSORS_SAFE;
	return t->kind == TENSORS_PARAMS ? tensors_params_read(t) : tensors_safe_read(t);
}

int
tensors_open(struct tensors *t, const char *path)
{
	int e;

	*t = (struct tensors){ 0 };
	if ((e = open_tensor_file(t, path)) < 0 || (e = read_tensor_table(t)) < 0 ||
	    (e = tensors_sort(t, &t->by_name)) < 0) {
		err_within("%s", strcmp(path, "-") == 0 ? "standard input" : path);
		tensors_close(t);
	}
	return e;
}

void
tensors_close(struct tensors *t)
{
	if (t->opened)
		close(t->fd);
	for (size_t i = 0; i < t->n; i++)
		free(t->t[i].name);
	for (uint32_t i = 0; i < t->nmeta; i++) {
		free(t->meta[i].key);
		free(t->meta[i].value);
	}
	free(t->t);
	free(t->by_name);
	*t = (struct tensors){ 0 };
}

int
tensors_read(const struct tensors *t, const struct tensor *x, uint64_t first, size_t n, void *to)
{
	size_t size = types[x->type].size;

	return io_pread(t->fd, to, n * size, x->at + first * size);
}
