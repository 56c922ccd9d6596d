/* tensors_params - the arrays of an NDArray list into a table, and back. */
#include "tensor/tensors_internal.h"
#include "base/err.h"
#include "base/io.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LIST_MAGIC	0x112u
#define V1_MAGIC	0xf993fac8u	/* an array's; v0 has none and begins with its number of dimensions */
#define V2_MAGIC	0xf993fac9u
#define V3_MAGIC	0xf993facau
#define CPU		1u		/* dev_type */
#define LIST_HEAD	24u		/* bytes */

/* type_flag, mshadow/base.h */
static const enum tensors_type type_of[] = {
	TENSORS_F32, TENSORS_F64, TENSORS_F16, TENSORS_U8, TENSORS_I32, TENSORS_I8, TENSORS_I64, TENSORS_BOOL,
	TENSORS_I16, TENSORS_U16, TENSORS_U32, TENSORS_U64, TENSORS_BF16,
};

/* What is left of the file. */
struct in {
	const struct tensors	*t;
	uint64_t		 at;
	int			 e;		/* the first error; words are 0 then */
};

static uint64_t
word(struct in *in, uint32_t bytes)
{
	uint8_t p[8];

	if (in->e == 0 && (in->t->size < in->at || in->t->size - in->at < bytes))
		in->e = err_fail(ERR_SHORT, "ends at byte %" PRIu64 ", inside a list of arrays", in->t->size);
	if (in->e == 0)
		in->e = io_pread(in->t->fd, p, bytes, in->at);
	if (in->e < 0)
		return 0;
	in->at += bytes;
	return bytes == 8 ? le_get64(p) : le_get32(p);
}

bool
tensors_params_knows(const uint8_t w[TENSORS_WORD])
{
	return le_get64(w) == LIST_MAGIC;
}

/* The number of dimensions, and how many bytes each takes; -1: an array of nothing, which ends there. */
static int64_t
dimensions(struct in *in, uint32_t *wide)
{
	uint64_t first = word(in, 4), n = first;

	*wide = first == V1_MAGIC || first == V2_MAGIC || first == V3_MAGIC ? 8 : 4;
	if ((first == V2_MAGIC || first == V3_MAGIC) && word(in, 4) != 0 && in->e == 0)
		in->e = err_fail(ERR_NOTSUP, "array %zu is sparse", in->t->n);
	if (*wide == 8)
		n = word(in, 4);
	if (n == 0 && first != V3_MAGIC)
		return -1;
	if (first == V3_MAGIC && n == UINT32_MAX)
		return -1;
	return (int64_t)n;
}

/* One array, its name to come.  Arrays of nothing are kept as tensors without numbers. */
static int
read_array(struct tensors *t, struct in *in)
{
	struct tensor x = { .ndim = 1 };
	uint32_t wide;
	uint64_t type, bytes;
	int64_t ndim = dimensions(in, &wide);
	int e;

	if (in->e == 0 && ndim > TENSORS_DIMS)
		return err_fail(ERR_FORMAT, "array %zu has %" PRId64 " dimensions", t->n, ndim);
	if (in->e == 0 && ndim >= 0) {
		x.ndim = (uint32_t)ndim;
		for (uint32_t i = 0; i < x.ndim; i++)
			x.dim[i] = word(in, wide);
		word(in, 4);	/* the device where it was ... */
		word(in, 4);	/* ... and that device's number */
		if ((type = word(in, 4)) >= sizeof(type_of) / sizeof(*type_of) && in->e == 0)
			return err_fail(ERR_NOTSUP, "array %zu is of type %" PRIu64, t->n, type);
		x.type = in->e == 0 ? type_of[type] : TENSORS_F32;
	}
	if (in->e < 0)
		return in->e;
	x.at = in->at;
	if ((e = tensors_append(t, "", 0, x)) < 0)
		return e;
	bytes = t->t[t->n - 1].count * tensors_type_size(x.type);
	if (bytes > t->size - in->at)
		return err_fail(ERR_SHORT, "ends inside array %zu", t->n - 1);
	in->at += bytes;
	return 0;
}

static int
read_names(struct tensors *t, struct in *in, uint64_t n)
{
	char number[32];
	uint64_t bytes, left = TENSORS_HEAD;
	char *name;

	for (size_t i = 0; i < t->n; i++) {
		bytes = n > 0 ? word(in, 8) : (uint64_t)snprintf(number, sizeof(number), "%zu", i);
		if (in->e < 0)
			return in->e;
		if (bytes > left || (n > 0 && bytes > t->size - in->at))
			return err_fail(bytes > left ? ERR_LIMIT : ERR_SHORT, "ends inside the name of array %zu", i);
		left -= bytes;
		if ((name = calloc(1, (size_t)bytes + 1)) == NULL)
			return err_nomem();
		free(t->t[i].name);
		t->t[i].name = name;
		if (n == 0)
			memcpy(name, number, (size_t)bytes);
		else if ((in->e = io_pread(t->fd, name, (size_t)bytes, in->at)) < 0)
			return in->e;
		if (strlen(name) != bytes)
			return err_fail(ERR_FORMAT, "the name of array %zu holds a zero byte", i);
		in->at += n > 0 ? bytes : 0;
	}
	return 0;
}

int
tensors_params_read(struct tensors *t)
{
	struct in in = { .t = t, .at = 16 };
	uint64_t n = word(&in, 8), names;
	int e;

	if (in.e == 0 && n > TENSORS_MOST)
		return err_fail(ERR_LIMIT, "%" PRIu64 " arrays are more than %u", n, TENSORS_MOST);
	for (uint64_t i = 0; in.e == 0 && i < n; i++)
		if ((e = read_array(t, &in)) < 0)
			return e;
	names = word(&in, 8);
	if (in.e < 0)
		return in.e;
	if (names != 0 && names != n)
		return err_fail(ERR_FORMAT, "has %" PRIu64 " names for %" PRIu64 " arrays", names, n);
	if ((e = read_names(t, &in, names)) < 0)
		return e;
	return in.at == t->size ? 0 : err_fail(ERR_FORMAT, "%" PRIu64 " bytes behind the last name", t->size - in.at);
}

static int
put32(struct buf *b, uint32_t v)
{
	uint8_t p[4];

	le_put32(p, v);
	return buf_put(b, p, sizeof(p));
}

static int
put64(struct buf *b, uint64_t v)
{
	uint8_t p[8];

	le_put64(p, v);
	return buf_put(b, p, sizeof(p));
}

/* v0, which every MXNet reads, has f32 alone and dimensions of 32 bits. */
static bool
is_v0(const struct tensor *x)
{
	for (uint32_t i = 0; i < x->ndim; i++)
		if (x->dim[i] > UINT32_MAX)
			return false;
	return x->type == TENSORS_F32;
}

int
tensors_params_array(const struct tensor *x, struct buf *head)
{
	/* Without dimensions an array would have no numbers, and of v3 MXNet reads it in a mode of its own alone. */
	uint32_t ndim = x->ndim > 0 ? x->ndim : 1, type = 0;
	bool v0 = is_v0(x);
	int e = 0;

	while (type_of[type] != x->type)
		type++;
	if (!v0 && ((e = put32(head, V2_MAGIC)) < 0 || (e = put32(head, 0)) < 0))
		return e;
	e = put32(head, ndim);
	for (uint32_t i = 0; e == 0 && i < ndim; i++) {
		uint64_t dim = x->ndim > 0 ? x->dim[i] : 1;

		e = v0 ? put32(head, (uint32_t)dim) : put64(head, dim);
	}
	if (e == 0 && (e = put32(head, CPU)) == 0 && (e = put32(head, 0)) == 0)
		e = put32(head, type);
	return e;
}

int
tensors_params_head(struct tensors *t, struct buf *head)
{
	struct buf one = { 0 };
	uint64_t at = LIST_HEAD;
	int e = 0;

	for (size_t i = 0; e == 0 && i < t->n; i++) {
		one.n = 0;
		e = tensors_params_array(&t->t[i], &one);
		t->t[i].at = at + one.n;
		at = t->t[i].at + t->t[i].count * tensors_type_size(t->t[i].type);
	}
	buf_free(&one);
	if (e == 0 && (e = put64(head, LIST_MAGIC)) == 0 && (e = put64(head, 0)) == 0)
		e = put64(head, t->n);
	return e;
}

int
tensors_params_tail(const struct tensors *t, struct buf *tail)
{
	int e = put64(tail, t->n);

	for (size_t i = 0; e == 0 && i < t->n; i++)
		if ((e = put64(tail, strlen(t->t[i].name))) == 0)
			e = buf_put(tail, t->t[i].name, strlen(t->t[i].name));
	return e;
}
