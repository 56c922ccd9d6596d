/*
 * cublaslt - a stand-in for cuBLASLt: matrix products in loops, summed in double.
 *
 * A product that asks for TF32 has the least that a device may do: factors without their last 13 bits, sums in f32.
 *
 * Matrices are column-major.  A call that the library would refuse ends the process: shapes that do not fit, a kernel that
 * the heuristic did not propose, scratch that is too small, memory outside of allocations.  All memory is aligned to 256
 * bytes, which the heuristic counts on unless a preference says less.
 */
#include "emu/operands.h"

#include <cublasLt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SCRATCH	64		/* bytes that each product wants, and spoils */
#define PROPOSED 0x7a11u	/* marks the kernels of this heuristic */

/* What the library's opaque types are here. */
struct matmul {
	bool	 first_transposed, second_transposed, tf32;
};

struct layout {
	int	 type;		/* enum kernel_type */
	uint64_t rows, columns;
	int64_t	 apart;		/* elements from one matrix to the next */
	int32_t	 count;
};

struct preference {
	uint64_t scratch;
	uint32_t reduction;
};

struct product {
	struct matmul op;
	struct layout a, b, c;
	float	 alpha, beta;
	const void *pa, *pb, *pc;
	void	*pd, *scratch;
	int	 device;
};

cublasStatus_t
cublasLtCreate(cublasLtHandle_t *handle)
{
	*handle = calloc(1, 1);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtDestroy(cublasLtHandle_t handle)
{
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *op, cublasComputeType_t compute, cudaDataType_t scale)
{
	if ((compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32) || scale != CUDA_R_32F)
		emu_fault("a product whose sums are not f32");
	*op = calloc(1, sizeof(struct matmul));
	((struct matmul *)*op)->tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t op)
{
	free(op);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t op, cublasLtMatmulDescAttributes_t name, const void *value,
    size_t bytes)
{
	struct matmul *m = (struct matmul *)op;
	cublasOperation_t how;

	if (bytes != sizeof(how))
		emu_fault("an operation of %zu bytes", bytes);
	memcpy(&how, value, sizeof(how));
	if (name == CUBLASLT_MATMUL_DESC_TRANSA)
		m->first_transposed = how == CUBLAS_OP_T;
	else if (name == CUBLASLT_MATMUL_DESC_TRANSB)
		m->second_transposed = how == CUBLAS_OP_T;
	else
		emu_fault("attribute %d of a product", (int)name);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType_t type, uint64_t rows, uint64_t columns, int64_t ld)
{
	struct layout *own = calloc(1, sizeof(*own));

	if (ld != (int64_t)rows)
		emu_fault("a matrix of %zu rows and leading dimension %lld", (size_t)rows, (long long)ld);
	own->type = type == CUDA_R_32F ? KERNEL_F32 : type == CUDA_R_16BF ? KERNEL_BF16 : KERNEL_F16;
	own->rows = rows;
	own->columns = columns;
	own->count = 1;
	*l = (cublasLtMatrixLayout_t)own;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
	free(l);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t name, const void *value,
    size_t bytes)
{
	struct layout *own = (struct layout *)l;

	if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof(own->count))
		memcpy(&own->count, value, bytes);
	else if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof(own->apart))
		memcpy(&own->apart, value, bytes);
	else
		emu_fault("attribute %d of a matrix, of %zu bytes", (int)name, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *want)
{
	*want = calloc(1, sizeof(struct preference));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t want)
{
	free(want);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t want, cublasLtMatmulPreferenceAttributes_t name,
    const void *value, size_t bytes)
{
	struct preference *own = (struct preference *)want;

	if (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof(own->scratch))
		memcpy(&own->scratch, value, bytes);
	else if (name == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && bytes == sizeof(own->reduction))
		memcpy(&own->reduction, value, bytes);
	else
		emu_fault("attribute %d of a preference, of %zu bytes", (int)name, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t want, int most,
    cublasLtMatmulHeuristicResult_t *found, int *n)
{
	const struct preference *own = (const struct preference *)want;

	(void)handle, (void)op, (void)a, (void)b, (void)c, (void)d;
	if (most < 1 || own->scratch < SCRATCH || own->reduction != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
		emu_fault("a kernel that may add in any order, or without scratch");
	memset(found, 0, sizeof(*found));
	found->algo.data[0] = PROPOSED;
	found->workspaceSize = SCRATCH;
	found->state = CUBLAS_STATUS_SUCCESS;
	*n = 1;
	return CUBLAS_STATUS_SUCCESS;
}

static size_t
count_elements(const struct layout *l)
{
	return (size_t)(l->apart * (l->count - 1)) + l->rows * l->columns;
}

static float
get_factor(const void *p, size_t i, int type, bool tf32)
{
	float x = kernel_get(p, i, type);
	uint32_t bits;

	if (!tf32)
		return x;
	memcpy(&bits, &x, sizeof(bits));
	bits &= ~(uint32_t)0x1fff;
	memcpy(&x, &bits, sizeof(bits));
	return x;
}

/* A factor as doubles [inner][other]; inner_down: its columns run along the inner dimension. */
static double *
read_factor(const void *p, size_t first, const struct layout *l, bool tf32, bool inner_down)
{
	double *v = malloc(l->rows * l->columns * sizeof(*v));

	for (size_t column = 0; column < l->columns; column++)
		for (size_t row = 0; row < l->rows; row++)
			v[inner_down ? row * l->columns + column : column * l->rows + row] =
			    get_factor(p, first + column * l->rows + row, l->type, tf32);
	return v;
}

/* d = alpha a b + beta c; matrix p of each. */
static void
multiply_one(const struct product *m, size_t p)
{
	const size_t rows = m->c.rows, columns = m->c.columns, c0 = p * (size_t)m->c.apart;
	const size_t inner = m->op.first_transposed ? m->a.rows : m->a.columns;
	double *a = read_factor(m->pa, p * (size_t)m->a.apart, &m->a, m->op.tf32, m->op.first_transposed);
	double *b = read_factor(m->pb, p * (size_t)m->b.apart, &m->b, m->op.tf32, !m->op.second_transposed);
	double *sum = malloc(rows * sizeof(*sum));

	for (size_t j = 0; j < columns; j++) {
		memset(sum, 0, rows * sizeof(*sum));
		for (size_t l = 0; l < inner; l++) {
			const double *from = a + l * rows, factor = b[l * columns + j];

			if (m->op.tf32) {
				#pragma omp simd
				for (size_t i = 0; i < rows; i++)
					sum[i] = (double)(float)(sum[i] + from[i] * factor);
			} else {
				#pragma omp simd
				for (size_t i = 0; i < rows; i++)
					sum[i] += from[i] * factor;
			}
		}
		for (size_t i = 0; i < rows; i++) {
			const size_t at = c0 + j * rows + i;
			double v = sum[i] * (double)m->alpha;

			if (m->beta != 0)
				v += (double)m->beta * (double)kernel_get(m->pc, at, m->c.type);
			kernel_put(m->pd, at, (float)v, m->c.type);
		}
	}
	free(a);
	free(b);
	free(sum);
}

static void
run_product(void *arg)
{
	const struct product *m = arg;
	struct operands o = { "a product", m->device, 0 };

	add_array(&o, m->pa, count_elements(&m->a), kernel_size(m->a.type));
	add_array(&o, m->pb, count_elements(&m->b), kernel_size(m->b.type));
	add_array(&o, m->pd, count_elements(&m->c), kernel_size(m->c.type));
	add_array(&o, m->beta != 0 && m->pc != m->pd ? m->pc : NULL, count_elements(&m->c), kernel_size(m->c.type));
	emu_log("product", o.bytes);
	add_array(&o, m->scratch, SCRATCH, 1);
	for (int32_t p = 0; p < m->c.count; p++)
		multiply_one(m, (size_t)p);
	memset(m->scratch, 0xff, SCRATCH);	/* so that a value kept there is noticed */
}

static void
check_shapes(const struct product *m)
{
	const uint64_t rows = m->op.first_transposed ? m->a.columns : m->a.rows;
	const uint64_t inner = m->op.first_transposed ? m->a.rows : m->a.columns;
	const uint64_t also = m->op.second_transposed ? m->b.columns : m->b.rows;
	const uint64_t columns = m->op.second_transposed ? m->b.rows : m->b.columns;

	if (rows != m->c.rows || columns != m->c.columns || inner != also || m->a.type != m->b.type ||
	    m->a.count != m->c.count || m->b.count != m->c.count)
		emu_fault("a product of [%zu, %zu] and [%zu, %zu] into [%zu, %zu]", (size_t)rows, (size_t)inner,
		    (size_t)also, (size_t)columns, (size_t)m->c.rows, (size_t)m->c.columns);
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t op, const void *alpha, const void *a, cublasLtMatrixLayout_t la,
    const void *b, cublasLtMatrixLayout_t lb, const void *beta, const void *c, cublasLtMatrixLayout_t lc, void *d,
    cublasLtMatrixLayout_t ld, const cublasLtMatmulAlgo_t *algo, void *scratch, size_t bytes, cudaStream_t stream)
{
	struct product m = { .op = *(struct matmul *)op, .a = *(struct layout *)la, .b = *(struct layout *)lb,
		.c = *(struct layout *)ld, .pa = a, .pb = b, .pc = c, .pd = d, .scratch = scratch,
		.device = cudart_device };

	memcpy(&m.alpha, alpha, sizeof(m.alpha));
	memcpy(&m.beta, beta, sizeof(m.beta));
	if (handle == NULL || lc != ld || algo->data[0] != PROPOSED || bytes < SCRATCH)
		emu_fault("a product by a kernel that was not proposed for it");
	check_shapes(&m);
	emu_check_memory("a product's first factor", a, count_elements(&m.a) * kernel_size(m.a.type), 256);
	emu_check_memory("a product's second factor", b, count_elements(&m.b) * kernel_size(m.b.type), 256);
	emu_check_memory("a product", d, count_elements(&m.c) * kernel_size(m.c.type), 256);
	emu_check_memory("a product's addend", c, count_elements(&m.c) * kernel_size(m.c.type), 256);
	emu_check_memory("a product's scratch", scratch, bytes, 256);
	emu_launch(stream, run_product, &m, sizeof(m));
	return CUBLAS_STATUS_SUCCESS;
}
