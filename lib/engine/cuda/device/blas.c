/*
 * blas - matrix products by cuBLASLt, whose matrices are column-major.
 *
 * A row-major [r, c] matrix is a column-major [c, r] one. So c = a b is requested as c^T = b^T a^T:
 * the library's first factor is b, its second one a, with the same transpositions.
 */
#include "engine/cuda/device/blas.h"
#include "engine/cuda/device/device_in.h"
#include "engine/cuda/kernel/kernel.h"

#include "base/err.h"

#include <stdlib.h>

#define SCRATCH	((size_t)32 << 20)	/* bytes, as the vendor advises for Hopper */

struct blas {
	struct device		*d;
	cublasLtMatmulDesc_t	 op;
	cublasLtMatrixLayout_t	 first, second, c;
	cublasLtMatmulAlgo_t	 algo;
	size_t			 bytes;
	float			 alpha, beta;
	struct blas_places	 at;
};

static int
fail_blas(const struct device *d, const char *what, cublasStatus_t s)
{
	d->host->note(0, "GPU %d: cuBLASLt: %s: status %d", d->number, what, (int)s);
	return s == CUBLAS_STATUS_NOT_SUPPORTED ? ERR_NOTSUP : s == CUBLAS_STATUS_ALLOC_FAILED ? ERR_NOMEM : ERR_SYS;
}

static cudaDataType_t
get_blas_type(int type)
{
	return type == KERNEL_F32 ? CUDA_R_32F : type == KERNEL_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

/* Describes `count` row-major matrices [rows, columns] side by side. */
static cublasStatus_t
make_blas_layout(cublasLtMatrixLayout_t *l, int type, uint32_t rows, uint32_t columns, uint32_t count)
{
	const int64_t apart = (int64_t)rows * columns;
	const int32_t n = (int32_t)count;
	cublasStatus_t e = cublasLtMatrixLayoutCreate(l, get_blas_type(type), columns, rows, columns);

	if (e != CUBLAS_STATUS_SUCCESS || count <= 1 ||
	    (e = cublasLtMatrixLayoutSetAttribute(*l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n,
	    sizeof(n))) != CUBLAS_STATUS_SUCCESS)
		return e;
	return cublasLtMatrixLayoutSetAttribute(*l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart, sizeof(apart));
}

static cublasStatus_t
describe_product(struct blas *b, const struct blas_shape *s)
{
	const cublasComputeType_t compute = s->tf32 && s->type == KERNEL_F32 ? CUBLAS_COMPUTE_32F_FAST_TF32 :
	    CUBLAS_COMPUTE_32F;
	const cublasOperation_t first = s->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
	const cublasOperation_t second = s->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
	cublasStatus_t e;

	if ((e = cublasLtMatmulDescCreate(&b->op, compute, CUDA_R_32F)) != CUBLAS_STATUS_SUCCESS ||
	    (e = cublasLtMatmulDescSetAttribute(b->op, CUBLASLT_MATMUL_DESC_TRANSA, &first,
	    sizeof(first))) != CUBLAS_STATUS_SUCCESS ||
	    (e = cublasLtMatmulDescSetAttribute(b->op, CUBLASLT_MATMUL_DESC_TRANSB, &second,
	    sizeof(second))) != CUBLAS_STATUS_SUCCESS ||
	    (e = make_blas_layout(&b->first, s->type, s->b_transposed ? s->n : s->k, s->b_transposed ? s->k : s->n,
	    s->count)) != CUBLAS_STATUS_SUCCESS ||
	    (e = make_blas_layout(&b->second, s->type, s->a_transposed ? s->k : s->m, s->a_transposed ? s->m : s->k,
	    s->count)) != CUBLAS_STATUS_SUCCESS)
		return e;
	return make_blas_layout(&b->c, s->c_type, s->m, s->n, s->count);
}

/*
 * Takes the library's first proposal, which depends on the shape, the device and the version alone.
 */
static cublasStatus_t
choose_blas_kernel(struct blas *b)
{
	/* Split sums meet in f32 scratch, never by atomic additions. */
	const uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
	cublasLtMatmulHeuristicResult_t found = { 0 };
	cublasLtMatmulPreference_t want = NULL;
	const size_t most = SCRATCH;
	cublasStatus_t e;
	int n = 0;

	if ((e = cublasLtMatmulPreferenceCreate(&want)) != CUBLAS_STATUS_SUCCESS)
		return e;
	if ((e = cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
	    sizeof(most))) == CUBLAS_STATUS_SUCCESS &&
	    (e = cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction,
	    sizeof(reduction))) == CUBLAS_STATUS_SUCCESS)
		e = cublasLtMatmulAlgoGetHeuristic(b->d->blas, b->op, b->first, b->second, b->c, b->c, want, 1, &found,
		    &n);
	cublasLtMatmulPreferenceDestroy(want);
	if (e != CUBLAS_STATUS_SUCCESS)
		return e;
	if (n == 0 || found.state != CUBLAS_STATUS_SUCCESS)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	b->algo = found.algo;
	b->bytes = found.workspaceSize;
	return CUBLAS_STATUS_SUCCESS;
}

int
blas_open(struct device *d, const struct blas_shape *shape, struct blas **b, size_t *scratch)
{
	cublasStatus_t e;

	if ((*b = calloc(1, sizeof(**b))) == NULL)
		return device_nomem(d->host);
	(*b)->d = d;
	(*b)->alpha = shape->alpha;
	(*b)->beta = shape->beta;
	if ((e = describe_product(*b, shape)) != CUBLAS_STATUS_SUCCESS ||
	    (e = choose_blas_kernel(*b)) != CUBLAS_STATUS_SUCCESS) {
		blas_close(*b);
		*b = NULL;
		return fail_blas(d, "a product", e);
	}
	*scratch = (*b)->bytes;
	return 0;
}

void
blas_close(struct blas *b)
{
	if (b == NULL)
		return;
	if (b->c != NULL)
		cublasLtMatrixLayoutDestroy(b->c);
	if (b->second != NULL)
		cublasLtMatrixLayoutDestroy(b->second);
	if (b->first != NULL)
		cublasLtMatrixLayoutDestroy(b->first);
	if (b->op != NULL)
		cublasLtMatmulDescDestroy(b->op);
	free(b);
}

void
blas_bind(struct blas *b, const struct blas_places *at)
{
	b->at = *at;
}

int
blas_run(struct blas *b)
{
	const struct blas_places *at = &b->at;
	cublasStatus_t e = cublasLtMatmul(b->d->blas, b->op, &b->alpha, at->b, b->first, at->a, b->second, &b->beta,
	    b->beta != 0 ? at->d : at->c, b->c, at->c, b->c, &b->algo, at->scratch, b->bytes,
	    b->d->stream[DEVICE_MAIN]);

	return e == CUBLAS_STATUS_SUCCESS ? 0 : fail_blas(b->d, "a product's run", e);
}
