/* dnnl_dev - the opened library, as the files of dnnl.h share it. */
#ifndef ENGINE_CPU_DNNL_DNNL_DEV_H
#define ENGINE_CPU_DNNL_DNNL_DEV_H

#include "engine/cpu/dnnl/dnnl_lib.h"

struct dnnl_dev {
	dnnl_engine_t	     engine;
	dnnl_stream_t	     stream;
	dnnl_primitive_attr_t attr;	/* the caller provides scratch memory */
	dnnl_primitive_attr_t relu;	/* attr, and y = max(y, 0) */
};

/*
 * Makes the attributes of a kernel with scratch memory of the caller: y = scale y + shift unless vector is NULL, which
 * describes both, and then max(y, 0) if relu.  The caller destroys attr, even after an error.
 */
dnnl_status_t dnnl_dev_make_attr(dnnl_lib_desc vector, bool relu, dnnl_primitive_attr_t *attr);

/* Notes a failed call and the library's status.  Returns ERR_NOMEM or ERR_NOTSUP. */
int	 dnnl_dev_fail(const char *what, dnnl_status_t s);

#endif
