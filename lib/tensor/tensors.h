/*
 * tensors - reads and writes files of named tensors: safetensors, MXNet's NDArray lists (.params) and ONNX models.
 *
 * lib/tensor consists of this module and its files for each format, which tensors_internal.h declares.
 *
 * Safetensors: u64 n | JSON[n] | data.  The JSON names each tensor with dtype, shape and offsets, "__metadata__" maps
 * text to text, and the tensors cover the data without overlap or gap.
 *
 * NDArray list: u64 0x112 | u64 0 | u64 n | n arrays, each after a header of its own | u64 n | names.  It has no
 * metadata.  All versions that MXNet writes are read (v0 to v3, dense).  v0 is written, or v2 if a type or dimension
 * needs it; a tensor without dimensions becomes one of one dimension.
 *
 * ONNX is only written: a ModelProto whose graph has the given nodes, with the tensors, all f32, as initializers with
 * raw data.
 *
 * All three are little-endian.
 * Sources: github.com/huggingface/safetensors, README, Format; MXNet, src/ndarray/ndarray.cc, NDArray::Load and Save;
 * github.com/onnx/onnx, onnx/onnx.proto.
 *
 * Threads: several may read an open file at once.
 */
#ifndef TENSOR_TENSORS_H
#define TENSOR_TENSORS_H

#include "base/buf.h"

#include <stdbool.h>

#define TENSORS_DIMS	8		/* most dimensions */
#define TENSORS_MOST	(1u << 18)	/* tensors of a file */
#define TENSORS_SHAPE	(TENSORS_DIMS * 21 + 1)	/* bytes of a shape as text */
#define TENSORS_METAS	64		/* most pairs of metadata */
#define TENSORS_HEAD	(32u << 20)	/* most bytes of JSON, or of a list's names; safetensors itself allows 100 MB */

enum tensors_kind { TENSORS_SAFE, TENSORS_PARAMS, TENSORS_ONNX };

enum tensors_type {
	TENSORS_F32, TENSORS_F64, TENSORS_F16, TENSORS_BF16, TENSORS_U8, TENSORS_I8, TENSORS_I16, TENSORS_U16,
	TENSORS_I32, TENSORS_U32, TENSORS_I64, TENSORS_U64, TENSORS_BOOL,
	TENSORS_TYPES
};

struct tensor {
	char			*name;
	enum tensors_type	 type;
	uint32_t		 ndim;
	uint64_t		 dim[TENSORS_DIMS];
	uint64_t		 count;		/* elements */
	uint64_t		 at;		/* offset of its data in the file */
};

struct tensors_meta {
	char *key, *value;
};

/* The table of a file that was read or will be written.  A zeroed struct is empty. */
struct tensors {
	enum tensors_kind	 kind;
	struct tensor		*t;		/* tensors in the order of their data */
	size_t			 n, cap;
	struct tensors_meta	 meta[TENSORS_METAS];
	uint32_t		 nmeta;
	const struct buf	*nodes;		/* ONNX only: all fields of the GraphProto but the initializers; lent */
	bool			 opened;	/* whether tensors_open() set the rest */
	int			 fd;
	uint64_t		 size;		/* bytes of the file */
	const struct tensor	**by_name;	/* [n], sorted by name */
};

/*
 * Reads the table of a file ("-": standard input).  The first bytes tell the format.  The table takes at most some 35
 * bytes of memory for each byte of the file, and no array is read.  A pipe is first copied to a temporary file
 * (io_temp()), unless its first bytes fit no format.  A named pipe without a writer is waited for.  Returns 0, ERR_SYS,
 * ERR_SHORT, ERR_FORMAT, ERR_LIMIT, ERR_NOTSUP (a sparse array) or ERR_NOMEM; the line names the file.  On error t is
 * empty.
 */
int	 tensors_open(struct tensors *t, const char *path);
void	 tensors_close(struct tensors *t);	/* leaves t empty; also for a table made with tensors_add() */
const struct tensor *tensors_find(const struct tensors *t, const char *name);	/* NULL: none */
/* Finds a tensor by its name without MXNet's "arg:" or "aux:". */
const struct tensor *tensors_find_plain(const struct tensors *t, const char *name);
/* *sorted [n] is by name; the caller frees it, also on error.  Returns 0, ERR_FORMAT (a name twice) or ERR_NOMEM. */
int	 tensors_sort(const struct tensors *t, const struct tensor ***sorted);
const char *tensors_meta(const struct tensors *t, const char *key);		/* NULL: none */
/* A tensor's name without MXNet's "arg:" or "aux:". */
const char *tensors_plain_name(const struct tensors *t, const char *name);
bool	 tensors_same_shape(const struct tensor *a, const struct tensor *b);
/* Formats a shape as "10x64", or "-" without dimensions.  Returns to. */
const char *tensors_shape(const struct tensor *x, char to[TENSORS_SHAPE]);
/* Reads elements [first, first+n) as the file stores them.  Returns 0, ERR_SYS or ERR_SHORT. */
int	 tensors_read(const struct tensors *t, const struct tensor *x, uint64_t first, size_t n, void *to);

const char *tensors_type_name(enum tensors_type type);		/* as safetensors writes it: "F32" */
size_t	 tensors_type_size(enum tensors_type type);		/* bytes of an element */
/* Bytes of the elements. */
static inline uint64_t
tensors_bytes(const struct tensor *x)
{
	return x->count * tensors_type_size(x->type);
}
static inline bool
tensors_is_float(enum tensors_type type)
{
	return type <= TENSORS_BF16;
}
/* Convert n elements of a type to and from floats, rounding to nearest, ties to even.  from_f32: float types only. */
void	 tensors_to_f32(enum tensors_type type, const void *from, size_t n, float *to);
void	 tensors_to_f64(enum tensors_type type, const void *from, size_t n, double *to);
void	 tensors_from_f32(enum tensors_type type, const float *from, size_t n, void *to);

/*
 * Append to a table a tensor with its own name, or a pair of metadata.  They copy the text.  Return 0, ERR_LIMIT or
 * ERR_NOMEM.
 */
int	 tensors_add(struct tensors *t, const char *name, const struct tensor *like);
int	 tensors_add_meta(struct tensors *t, const char *key, const char *value);
/* Whether a text can be metadata. */
bool	 tensors_is_utf8(const char *text);

/* A file being written: the data of all tensors of the table in their order, in pieces of any size. */
struct tensors_out;

/*
 * Starts a file ("-": standard output), which appears at tensors_commit().  The table is lent until then, and its at
 * are set.  Only safetensors keep metadata.  Returns 0, ERR_SYS, ERR_LIMIT (also more than 2 GB of ONNX), ERR_FORMAT
 * (a name twice, or text that is not UTF-8) or ERR_NOMEM.
 */
int	 tensors_create(const char *path, struct tensors *table, struct tensors_out **o);
int	 tensors_write(struct tensors_out *o, const void *p, size_t n);
int	 tensors_commit(struct tensors_out *o);	/* frees o, also on errors */
void	 tensors_abandon(struct tensors_out *o);	/* NULL is fine */

#endif
