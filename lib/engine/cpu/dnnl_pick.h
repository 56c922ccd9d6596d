/*
 * dnnl_pick - chooses a kernel of oneDNN and layouts for each direction of a layer.
 *
 * The library is asked with the layouts agreed with the caller first.  Every descriptor that these functions return is
 * the caller's to free; NULL means that memory is short.
 */
#ifndef ENGINE_CPU_DNNL_PICK_H
#define ENGINE_CPU_DNNL_PICK_H

#include "engine/cpu/dnnl_dev.h"

/* The layouts of x and y; 0: as the library likes. */
struct dnnl_pick_blocks {
	uint32_t x, y;
};

/* Descriptors: x, y and dy in a block's layout, the weights as they come from outside. */
dnnl_lib_desc dnnl_pick_x(const struct dnnl_shape *s, uint32_t block);
dnnl_lib_desc dnnl_pick_y(const struct dnnl_shape *s, uint32_t block);
dnnl_lib_desc dnnl_pick_dy(const struct dnnl_shape *s, uint32_t block);
dnnl_lib_desc dnnl_pick_canonical(const struct dnnl_shape *s);
dnnl_lib_desc dnnl_pick_vector(const struct dnnl_shape *s);	/* [k] */
/* What a kernel wants an operand to be, borrowed from pd; the kernel's name. */
dnnl_lib_desc dnnl_pick_operand(const_dnnl_primitive_desc_t pd, int arg);
const char *dnnl_pick_name(const_dnnl_primitive_desc_t pd);

/* The blocks that the forward kernel likes, where they are ours; else what this processor likes. */
void	 dnnl_pick_agree(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_pick_blocks *blocks);
/* The best kernel for one direction; hint is forward's.  Returns 0, ERR_NOTSUP or ERR_NOMEM. */
int	 dnnl_pick(const struct dnnl_dev *dev, const struct dnnl_shape *s, struct dnnl_pick_blocks blocks,
	     enum dnnl_way way, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd);

#endif
