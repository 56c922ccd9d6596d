/* export_onnx - writes merged weights of a net as an ONNX model. */
#ifndef CMD_PMERGE_EXPORT_ONNX_H
#define CMD_PMERGE_EXPORT_ONNX_H

#include "net/merge/merge.h"
#include "net/graph/script.h"

/* The net, for weights that do not contain their graph; name NULL: they contain it. */
struct onnx_net {
	const char	*name;
	struct script_opt option[SCRIPT_OPTS];
	uint32_t	 noption;
	uint32_t	 c, h, w, classes;
};

/* Writes path ("-": standard output).  Returns 0 or ERR_*. */
int	 onnx_make(const struct merge_opt *o, const struct onnx_net *net, bool logits, const char *path);

#endif
