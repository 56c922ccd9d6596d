/* tensors_params - reads and writes MXNet's NDArray lists. */
#include "tensor/tensors_internal.h"
#include "base/err.h"
#include "base/io.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LIST_MAGIC	0x112u
#define V1_MAGIC	0xf993fac8u	/* magic of an array; v0 has none and starts with the number of dimensions */
#define V2_MAGIC	0xf993fac9u
#define V3_MAGIC	0xf993facau
#define CPU		1u		/* dev_type */
#define LIST_HEAD	24u		/* bytes */

/* type_flag, mshadow/base.h */
static const enum tensors_type type_of[] = {
	TENSORS_F32, TENSORS_F64, TENSORS_F16, TENSORS_U8, TENSORS_I32, TENSORS_I8, TENSORS_I64, TENSORS_BOOL,
	TENSORS_I16, TENSORS_U16, TENSORS_U32, TENSORS_U64, TENSORS_BF16,
};

/* A position in the file. */
struct cursor {
	const struct tensors	*t;
	uint64_t		 at;
	int			 e;		/* the first error; later words read as 0 */
};

static uint64_t
read_word(struct cursor *in, uint32_t bytes)
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

/* Sets *ndim to the dimensions and *wide to the bytes of each.  Returns false if the array is empty and ends here. */
static bool
read_dimensions(struct cursor *in, uint64_t *ndim, uint32_t *wide)
{
	uint64_t first = read_word(in, 4), n = first;

	*wide = first == V1_MAGIC || first == V2_MAGIC || first == V3_MAGIC ? 8 : 4;
	if ((first == V2_MAGIC || first == V3_MAGIC) && read_word(in, 4) != 0 && in->e == 0)
		in->e = err_fail(ERR_NOTSUP, "array %zu is sparse", in->t->n);
	if (*wide == 8)
		n = read_word(in, 4);
	*ndim = n;
	return first == V3_MAGIC ? n != UINT32_MAX : n > 0;
}

/* Appends one array, still without a name.  An empty array becomes a tensor of no elements. */
static int
read_array(struct tensors *t, struct cursor *in)
{
	struct tensor x = { .ndim = 1 };
	uint32_t wide;
	uint64_t type, bytes, ndim;
	bool shaped = read_dimensions(in, &ndim, &wide);

	if (in->e == 0 && shaped && ndim > TENSORS_DIMS)
		return err_fail(ERR_FORMAT, "array %zu has %" PRIu64 " dimensions", t->n, ndim);
	if (in->e == 0 && shaped) {
		x.ndim = (uint32_t)ndim;
		for (uint32_t i = 0; i < x.ndim; i++)
			x.dim[i] = read_word(in, wide);
		read_word(in, 4);	/* device type */
		read_word(in, 4);	/* device number */
		if ((type = read_word(in, 4)) >= sizeof(type_of) / sizeof(*type_of) && in->e == 0)
			return err_fail(ERR_NOTSUP, "array %zu is of type %" PRIu64, t->n, type);
		x.type = in->e == 0 ? type_of[type] : TENSORS_F32;
	}
	if (in->e < 0)
		return in->e;
	x.at = in->at;
	ERR_TRY(tensors_append(t, "", 0, x));
	bytes = t->t[t->n - 1].count * tensors_type_size(x.type);
	if (bytes > t->size - in->at)
		return err_fail(ERR_SHORT, "ends inside array %zu", t->n - 1);
	in->at += bytes;
	return 0;
}

static int
read_names(struct tensors *t, struct cursor *in, uint64_t n)
{
	char number[32];
	uint64_t bytes, left = TENSORS_HEAD;
	char *name;

	for (size_t i = 0; i < t->n; i++) {
		bytes = n > 0 ? read_word(in, 8) : (uint64_t)snprintf(number, sizeof(number), "%zu", i);
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
	struct cursor in = { .t = t, .at = 16 };
	uint64_t n = read_word(&in, 8), names;
	int e;

	if (in.e == 0 && n > TENSORS_MOST)
		return err_fail(ERR_LIMIT, "%" PRIu64 " arrays are more than %u", n, TENSORS_MOST);
	for (uint64_t i = 0; in.e == 0 && i < n; i++)
		if ((e = read_array(t, &in)) < 0)
			return e;
	names = read_word(&in, 8);
	if (in.e < 0)
		return in.e;
	if (names != 0 && names != n)
		return err_fail(ERR_FORMAT, "has %" PRIu64 " names for %" PRIu64 " arrays", names, n);
	ERR_TRY(read_names(t, &in, names));
	return in.at == t->size ? 0 : err_fail(ERR_FORMAT, "%" PRIu64 " bytes after the last name", t->size - in.at);
}

static int
append_u32(struct buf *b, uint32_t v)
{
	uint8_t p[4];

	le_put32(p, v);
	return buf_put(b, p, sizeof(p));
}

static int
append_u64(struct buf *b, uint64_t v)
{
	uint8_t p[8];

	le_put64(p, v);
	return buf_put(b, p, sizeof(p));
}

/* Every MXNet reads v0, which has only f32 and dimensions of 32 bits. */
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
	/* An array without dimensions would be empty, except in v3, which MXNet reads only in its NumPy mode. */
	uint32_t ndim = x->ndim > 0 ? x->ndim : 1, type = 0;
	bool v0 = is_v0(x);
	int e = 0;

	while (type_of[type] != x->type)
		type++;
	if (!v0 && ((e = append_u32(head, V2_MAGIC)) < 0 || (e = append_u32(head, 0)) < 0))
		return e;
	e = append_u32(head, ndim);
	for (uint32_t i = 0; e == 0 && i < ndim; i++) {
		uint64_t dim = x->ndim > 0 ? x->dim[i] : 1;

		e = v0 ? append_u32(head, (uint32_t)dim) : append_u64(head, dim);
	}
	if (e == 0 && (e = append_u32(head, CPU)) == 0 && (e = append_u32(head, 0)) == 0)
		e = append_u32(head, type);
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
		at = t->t[i].at + tensors_bytes(&t->t[i]);
	}
	buf_free(&one);
	if (e == 0 && (e = append_u64(head, LIST_MAGIC)) == 0 && (e = append_u64(head, 0)) == 0)
		e = append_u64(head, t->n);
	return e;
}

int
tensors_params_tail(const struct tensors *t, struct buf *tail)
{
	int e = append_u64(tail, t->n);

	for (size_t i = 0; e == 0 && i < t->n; i++)
		if ((e = append_u64(tail, strlen(t->t[i].name))) == 0)
			e = buf_put(tail, t->t[i].name, strlen(t->t[i].name));
	return e;
}
