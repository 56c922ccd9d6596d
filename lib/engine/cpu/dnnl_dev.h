/* dnnl_dev - oneDNN, opened: what the layers' files share. */
#ifndef ENGINE_CPU_DNNL_DEV_H
#define ENGINE_CPU_DNNL_DEV_H

#include "engine/cpu/dnnl_lib.h"

struct dnnl_dev {
	dnnl_engine_t	     engine;
	dnnl_stream_t	     stream;
	dnnl_primitive_attr_t attr;	/* scratch memory is ours to give */
	dnnl_primitive_attr_t relu;	/* and y = max(y, 0) */
};

/* Notes what the library answered to what; ERR_NOMEM or ERR_NOTSUP. */
int	 dnnl_dev_fail(const char *what, dnnl_status_t s);

#endif
