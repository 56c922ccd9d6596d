/*
 * dnnl_pick - chooses a kernel of oneDNN and layouts for each direction of a layer.
 *
 * The caller frees every descriptor that these functions return.  NULL means that memory is short.
 */
#ifndef ENGINE_CPU_DNNL_DNNL_PICK_H
#define ENGINE_CPU_DNNL_DNNL_PICK_H

#include "engine/cpu/dnnl/dnnl_dev.h"

/* The layouts of x and y; 0: the library chooses. */
struct dnnl_pick_blocks {
	uint32_t x, y;
};

/* Descriptors: x, y and dy with this block; canonical weights; a vector [k]; scale and shift [1,k,1,1]. */
dnnl_lib_desc dnnl_pick_x(const struct dnnl_shape *s, uint32_t block);
dnnl_lib_desc dnnl_pick_y(const struct dnnl_shape *s, uint32_t block);
dnnl_lib_desc dnnl_pick_dy(const struct dnnl_shape *s, uint32_t block);
dnnl_lib_desc dnnl_pick_canonical(const struct dnnl_shape *s);
dnnl_lib_desc dnnl_pick_vector(const struct dnnl_shape *s);
dnnl_lib_desc dnnl_pick_scale(const struct dnnl_shape *s);
/* The descriptor that a kernel needs of an operand, and the kernel's name.  pd owns both. */
dnnl_lib_desc dnnl_pick_operand(const_dnnl_primitive_desc_t pd, int arg);
const char *dnnl_pick_name(const_dnnl_primitive_desc_t pd);

/* The blocks that the forward kernel prefers, if dnnl.h has them; else the processor's. */
void	 dnnl_pick_agree(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_pick_blocks *blocks);
/*
 * The best kernel for one direction: one for these blocks, else a fast one for other layouts, else `ref`.  hint is
 * the forward kernel.  Returns 0, ERR_NOTSUP or ERR_NOMEM.
 */
int	 dnnl_pick(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_pick_blocks blocks,
	     enum dnnl_direction dir, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd);

#endif
