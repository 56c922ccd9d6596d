/*
 * dnnl_v2 - what the files on oneDNN 2.x share: the library opened, and descriptors.
 *
 * dnnl_v2_pick.c chooses a kernel and layouts for each direction, dnnl_v2.c makes
 * and runs the layer.  Source: github.com/oneapi-src/oneDNN, branch rls-v2.6, doc/.
 */
#ifndef ENGINE_CPU_DNNL_V2_H
#define ENGINE_CPU_DNNL_V2_H

#include "engine/cpu/dnnl.h"

#include <dnnl.h>

struct dnnl_dev {
	dnnl_engine_t	     engine;
	dnnl_stream_t	     stream;
	dnnl_primitive_attr_t attr;	/* scratch memory is ours to give */
	dnnl_primitive_attr_t relu;	/* and y = max(y, 0) */
};

/* The layouts of x and y; 0: as the library likes. */
struct dnnl_v2_blocks {
	uint32_t x, y;
};

/* Notes what the library answered; ERR_NOMEM or ERR_NOTSUP. */
int	 dnnl_v2_fail(const char *what, dnnl_status_t s);

/* Descriptors: x, y and dy in a block's layout, the weights as they come from outside. */
dnnl_memory_desc_t dnnl_v2_x(const struct dnnl_shape *s, uint32_t block);
dnnl_memory_desc_t dnnl_v2_y(const struct dnnl_shape *s, uint32_t block);
dnnl_memory_desc_t dnnl_v2_dy(const struct dnnl_shape *s, uint32_t block);
dnnl_memory_desc_t dnnl_v2_canonical(const struct dnnl_shape *s);
dnnl_memory_desc_t dnnl_v2_vector(const struct dnnl_shape *s);	/* [k] */
bool	 dnnl_v2_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b);
/* What a kernel wants an operand to be; the kernel's name. */
const dnnl_memory_desc_t *dnnl_v2_operand(const_dnnl_primitive_desc_t pd, int arg);
const char *dnnl_v2_name(const_dnnl_primitive_desc_t pd);

/* The blocks that the forward kernel likes, where they are ours; else what this processor likes. */
void	 dnnl_v2_agree(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_v2_blocks *blocks);
/* The best kernel for one direction; hint is forward's.  Returns 0, ERR_NOTSUP or ERR_NOMEM. */
int	 dnnl_v2_pick(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_v2_blocks blocks,
	     enum dnnl_way way, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd);

#endif
