/*
 * dnnl_lib - the calls in which oneDNN 2.x and 3.x differ, as one interface.
 *
 * dnnl_v2.c and dnnl_v3.c implement it; the Makefile compiles the one that fits the installed header.  In 2.x the
 * caller owns a memory descriptor as a struct, and an operation descriptor describes a kernel.  In 3.x a memory
 * descriptor is a handle, and there are no operation descriptors.  Here a memory descriptor is a pointer in both.
 * All other calls are the same in both.  Source: oneDNN's developer guide, "Transition from v2.x to v3.x".
 */
#ifndef ENGINE_CPU_DNNL_DNNL_LIB_H
#define ENGINE_CPU_DNNL_DNNL_LIB_H

#include "engine/cpu/dnnl/dnnl.h"

#include <dnnl.h>

/* A memory descriptor, which is never changed.  This is the type in which the library returns one. */
typedef __typeof__(dnnl_primitive_desc_query_md(NULL, dnnl_query_undef, 0)) dnnl_lib_desc;

/* The description of one direction of a layer.  The caller owns the descriptors. */
struct dnnl_lib_kernel {
	enum dnnl_direction   dir;
	dnnl_lib_desc	      x, w, y;	/* operands or their gradients */
	dnnl_lib_desc	      bias;	/* NULL: none */
	dnnl_dims_t	      stride, dilate, pad;	/* geometry of a convolution; dilate 0: adjacent taps */
	const_dnnl_primitive_attr_t attr;
	const_dnnl_primitive_desc_t hint;	/* the forward kernel; NULL for the forward kernel itself */
	uint32_t	      nth;	/* rank among the library's kernels for it; 0 is the best */
};

/* Returns a descriptor that the caller frees, or NULL if memory is short or the arguments are invalid. */
dnnl_lib_desc dnnl_lib_desc_new(int ndims, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag);
dnnl_lib_desc dnnl_lib_desc_clone(dnnl_lib_desc desc);
void	 dnnl_lib_desc_free(dnnl_lib_desc desc);	/* NULL is fine */
/* Appends y = max(y, 0). */
dnnl_status_t dnnl_lib_append_relu(dnnl_post_ops_t ops);
/* Makes the descriptor of a convolution's or a fully connected layer's kernel. */
dnnl_status_t dnnl_lib_conv(dnnl_engine_t engine, const struct dnnl_lib_kernel *k, dnnl_primitive_desc_t *pd);
dnnl_status_t dnnl_lib_fc(dnnl_engine_t engine, const struct dnnl_lib_kernel *k, dnnl_primitive_desc_t *pd);

#endif
