/*
 * tensors - a file of named tensors: safetensors, an NDArray list such as MXNet's .params, or those of a model of ONNX.
 *
 * Safetensors is u64 n | JSON[n] | data: the JSON names each tensor with dtype,
 * shape and offsets, "__metadata__" maps text to text, and the data is covered
 * without overlap or hole.  An NDArray list is u64 0x112 | u64 0 | u64 n | n
 * arrays, each behind a head of its own | u64 n | names; it has no metadata.
 * Lists are read as all versions of MXNet write them (v0 to v3, dense), and
 * written as v0, or v2 where a type or dimension needs it; a tensor without
 * dimensions becomes one of one.  A model of ONNX is
 * written alone: a ModelProto whose graph has the nodes given and the tensors, of
 * f32, as initializers with raw data.  All is little-endian.
 * Sources: github.com/huggingface/safetensors, README, Format; MXNet, src/ndarray/ndarray.cc, NDArray::Load and Save;
 * github.com/onnx/onnx, onnx/onnx.proto.
 *
 * Threads: an open file may be read by several at once.
 */
#ifndef TENSOR_TENSORS_H
#define TENSOR_TENSORS_H

#include "base/buf.h"

#include <stdbool.h>

#define TENSORS_DIMS	8		/* most dimensions */
#define TENSORS_MOST	(1u << 18)	/* tensors of a file */
#define TENSORS_SHAPE	(TENSORS_DIMS * 21 + 1)	/* bytes of a shape as text */
#define TENSORS_METAS	64		/* most pairs of metadata */
#define TENSORS_HEAD	(32u << 20)	/* most bytes of JSON, or of a list's names: safetensors' own limit is 100 MB */

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
	uint64_t		 at;		/* byte of the file at which they begin */
};

struct tensors_meta {
	char *key, *value;
};

/* The table of a file, or of one that is to be written.  A struct of zeros is empty. */
struct tensors {
	enum tensors_kind	 kind;
	struct tensor		*t;		/* in the order of their data */
	size_t			 n, cap;
	struct tensors_meta	 meta[TENSORS_METAS];
	uint32_t		 nmeta;
	const struct buf	*nodes;		/* of ONNX: all fields of its GraphProto but the initializers, lent */
	bool			 opened;	/* by tensors_open(): */
	int			 fd;
	uint64_t		 size;		/* bytes of the file */
	const struct tensor	**by_name;	/* [n], after tensors_open() */
};

/*
 * Reads the table of a file, "-" standard input; what it is, is told by its first bytes.  Memory is taken for no more than the
 * file holds; what a pipe gives goes to a file without a name first (io_temp()), but for what begins as neither format does.
 * Who is to write to a named pipe is waited for.
 * Returns 0, ERR_SYS, ERR_SHORT, ERR_FORMAT, ERR_LIMIT, ERR_NOTSUP (a sparse array) or ERR_NOMEM; the line names the
 * file.  On error t is empty.
 */
int	 tensors_open(struct tensors *t, const char *path);
void	 tensors_close(struct tensors *t);	/* and is empty again; also for a table that was made */
const struct tensor *tensors_find(const struct tensors *t, const char *name);	/* NULL: none */
/* The same of the name without MXNet's "arg:" or "aux:". */
const struct tensor *tensors_find_plain(const struct tensors *t, const char *name);
const char *tensors_meta(const struct tensors *t, const char *key);		/* NULL: none */
/* A tensor's name without MXNet's "arg:" or "aux:". */
const char *tensors_plain_name(const struct tensors *t, const char *name);
bool	 tensors_same_shape(const struct tensor *a, const struct tensor *b);
/* A shape for people, as "10x64"; "-" of a tensor without dimensions.  Gives to back. */
const char *tensors_shape(const struct tensor *x, char to[TENSORS_SHAPE]);
/* Elements [first, first+n) as they are in the file.  Returns 0, ERR_SYS or ERR_SHORT. */
int	 tensors_read(const struct tensors *t, const struct tensor *x, uint64_t first, size_t n, void *to);

const char *tensors_type_name(enum tensors_type type);		/* as safetensors writes it: "F32" */
size_t	 tensors_type_size(enum tensors_type type);		/* bytes of an element */
static inline bool
tensors_is_float(enum tensors_type type)
{
	return type <= TENSORS_BF16;
}
/* n elements of a type from and to f32, or to f64; numbers are rounded to the nearest, ties to even. */
void	 tensors_to_f32(enum tensors_type type, const void *from, size_t n, float *to);
void	 tensors_to_f64(enum tensors_type type, const void *from, size_t n, double *to);
void	 tensors_from_f32(enum tensors_type type, const float *from, size_t n, void *to);	/* a float type */

/* Making a table: appends a tensor under a name of its own, or a pair of metadata.  Copies.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 tensors_add(struct tensors *t, const char *name, const struct tensor *like);
int	 tensors_add_meta(struct tensors *t, const char *key, const char *value);

/* Writing: the data of all tensors of the table, in its order, in any pieces. */
struct tensors_out;

/*
 * "-" is standard output; else the file appears at tensors_commit().  The table is lent until then, its at are set.
 * Safetensors alone have a place for metadata: others leave it out.  Returns 0, ERR_SYS, ERR_LIMIT (more than 2 GB of
 * ONNX, too), ERR_FORMAT (a name twice, or text that is not UTF-8) or ERR_NOMEM.
 */
int	 tensors_create(struct tensors_out **o, const char *path, struct tensors *table);
int	 tensors_write(struct tensors_out *o, const void *p, size_t n);
int	 tensors_commit(struct tensors_out *o);	/* frees o, also on errors */
void	 tensors_abandon(struct tensors_out *o);	/* NULL is fine */

#endif
