/*
 * show - prints the contents of tensor files, for people and pipes.  Each function returns an exit status.
 *
 * cmd/pmerge is main (options, merging by net/merge/merge.h), show and export_onnx.
 */
#ifndef CMD_PMERGE_SHOW_H
#define CMD_PMERGE_SHOW_H

#include <stdint.h>

int	 show_list(char *const *path, uint32_t n);
int	 show_faults(char *const *path, uint32_t n);
int	 show_diff(char *const path[2], double tolerance);

#endif
