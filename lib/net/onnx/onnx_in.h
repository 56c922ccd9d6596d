/*
 * onnx_in - encodes ONNX nodes, attributes and constants: internal to onnx.
 *
 * 	at = onnx_begin(p, "Concat", "c:0", ONNX_IN("a:0", "b:0"));
 * 	onnx_int(p, "axis", 1);
 * 	onnx_end(p, at);
 */
#ifndef NET_ONNX_ONNX_IN_H
#define NET_ONNX_ONNX_IN_H

#include "net/onnx/onnx.h"
#include "base/proto.h"

#define ONNX_IN(...) (const char *const[]){ __VA_ARGS__, NULL }

/* A node: its type, output and inputs (NULL at the end), then attributes until onnx_end(). */
size_t	 onnx_begin(struct proto *p, const char *type, const char *out, const char *const *in);
void	 onnx_int(struct proto *p, const char *name, int64_t v);
void	 onnx_ints(struct proto *p, const char *name, const int64_t *v, unsigned n);
void	 onnx_float(struct proto *p, const char *name, float v);
void	 onnx_string(struct proto *p, const char *name, const char *v);
void	 onnx_end(struct proto *p, size_t at);
/* A node without attributes. */
void	 onnx_plain(struct proto *p, const char *type, const char *out, const char *const *in);

/* Constants: integers [n]; a scalar, which broadcasts to any shape. */
void	 onnx_constants(struct proto *p, const char *name, const int64_t *v, unsigned n);
void	 onnx_scalar(struct proto *p, const char *name, float v);

/* The model's input, f32 [N,c,h,w], and output, f32 [N,classes]. */
void	 onnx_declare_io(struct proto *p, const char *in, const uint32_t chw[3], const char *out, uint32_t classes);

#endif
