/* dnnl_product - a product of matrices by oneDNN, whose call is the same in versions 2 and 3. */
#include "engine/cpu/dnnl/dnnl.h"

#include "base/err.h"

#include <dnnl.h>

int
dnnl_product(const struct dnnl_matrices *s, const float *a, const float *b, float *c)
{
	dnnl_status_t e = dnnl_sgemm(s->transposed ? 'T' : 'N', 'N', (dnnl_dim_t)s->m, (dnnl_dim_t)s->n,
	    (dnnl_dim_t)s->k, 1, a, (dnnl_dim_t)s->a, b, (dnnl_dim_t)s->b, s->add ? 1 : 0, c, (dnnl_dim_t)s->c);

	return e == dnnl_success ? 0 : err_fail(ERR_NOTSUP, "oneDNN: product: status %d", (int)e);
}
