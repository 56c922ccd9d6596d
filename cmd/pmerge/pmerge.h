/*
 * pmerge - the functions that the files of pmerge(1) share.
 *
 * cmd/pmerge is main.c (options, and merging by net/merge/merge.h), show.c (prints the contents of tensor files, for
 * people and pipes) and export_onnx.c (merged weights and their net as an ONNX model).
 */
#ifndef CMD_PMERGE_PMERGE_H
#define CMD_PMERGE_PMERGE_H

#include "net/merge/merge.h"
#include "net/graph/script.h"

/* The net, for weights that do not contain their graph; name NULL: they contain it. */
struct onnx_net {
	const char	*name;
	struct script_opt option[SCRIPT_OPTS];
	uint32_t	 noption;
	uint32_t	 c, h, w, classes;
};

/* export_onnx.c: writes path ("-": standard output).  Returns 0 or ERR_*. */
int	 onnx_make(const struct merge_opt *o, const struct onnx_net *net, bool logits, const char *path);

/* show.c: each function returns an exit status. */
int	 show_list(char *const *path, uint32_t n);
int	 show_faults(char *const *path, uint32_t n);
int	 show_diff(char *const path[2], double tolerance);

#endif
