/*
 * onnx - a net and its weights as a model of ONNX, for other programs to run.
 *
 * Opset 17.  The model evaluates: batch norm by its running statistics, no dropout.
 * Input "data" f32 [N,c,h,w], N free, is what the net takes: pictures from which
 * the mean was subtracted, if any was.  Output "probabilities" f32 [N,classes],
 * or "logits", the numbers before the softmax.  Node NAME gives "NAME:0"; learned
 * arrays and statistics are initializers of their names.
 * Source: github.com/onnx/onnx, docs/Operators.md.
 */
#ifndef NET_ONNX_ONNX_H
#define NET_ONNX_ONNX_H

#include "net/graph/graph.h"

/* Gives elements [first, first+n) of one of the net's arrays.  Returns 0 or an error, which ends the writing. */
typedef int onnx_read(void *arg, const struct graph_array *a, size_t first, size_t n, float *to);

/*
 * Writes path, "-" for standard output, reading each array once and in pieces.  Returns 0, ERR_SYS, ERR_NOMEM, ERR_LIMIT (more
 * than 2 GB), ERR_NOTSUP (an LRN over an even number of channels), or what read() returns.
 */
int	 onnx_write(const struct graph *g, bool logits, onnx_read *read, void *arg, const char *path);

/* Appends the graph without the arrays: fields of a GraphProto.  Returns 0, ERR_NOMEM or ERR_NOTSUP. */
int	 onnx_nodes(const struct graph *g, bool logits, struct buf *out);

#endif
