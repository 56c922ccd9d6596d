/*
 * onnx - writes a net and its weights as an ONNX model.
 *
 * lib/net/onnx is onnx (the file and its arrays), onnx_nodes (layers as nodes) and onnx_put (how nodes are encoded).
 *
 * Opset 17.  The model is for evaluation: batch norm uses its running statistics and dropout is omitted.  The input
 * "data" f32 [N,c,h,w], N free, holds images from which the mean, if any, is already subtracted.  The output is
 * "probabilities" f32 [N,classes], or "logits", the numbers before the softmax.  Node NAME yields the value "NAME:0".
 * Learned arrays and statistics are initializers under their own names.  Source: github.com/onnx/onnx,
 * docs/Operators.md.
 */
#ifndef NET_ONNX_ONNX_H
#define NET_ONNX_ONNX_H

#include "net/graph/graph.h"

/* Reads elements [first, first+n) of an array of the net.  Returns 0, or an error that ends the writing. */
typedef int onnx_read(void *arg, const struct graph_array *a, size_t first, size_t n, float *to);

/*
 * Writes path ("-": standard output) and reads each array once, in chunks.  Returns 0, ERR_SYS, ERR_NOMEM, ERR_LIMIT
 * (more than 2 GB), ERR_NOTSUP (an LRN over an even number of channels), or an error of read().
 */
int	 onnx_write(const struct graph *g, bool logits, onnx_read *read, void *arg, const char *path);

/* Appends the fields of a GraphProto, without the arrays.  Returns 0, ERR_NOMEM or ERR_NOTSUP. */
int	 onnx_nodes(const struct graph *g, bool logits, struct buf *out);

#endif
