/* export_onnx - merged weights of a net into a model that other programs run. */
#ifndef CMD_PMERGE_EXPORT_ONNX_H
#define CMD_PMERGE_EXPORT_ONNX_H

#include "net/merge/merge.h"
#include "net/graph/script.h"

/* The net, where the weights do not say which; name NULL: they do. */
struct onnx_net {
	const char	*name;
	struct script_opt option[SCRIPT_OPTS];
	uint32_t	 noption;
	uint32_t	 c, h, w, classes;
};

/* Writes path, "-" for standard output.  Returns 0 or ERR_*. */
int	 onnx_make(const struct merge_opt *o, const struct onnx_net *net, bool logits, const char *path);

#endif
