/* tensors_onnx - writes ONNX models: the tensors of a table around given nodes. */
#include "tensor/tensors_internal.h"
#include "base/err.h"
#include "base/proto.h"

#include <assert.h>

/* Field numbers of onnx/onnx.proto. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSETS = 8 };
enum { OPSET_VERSION = 2 };
enum { TENSOR_DIM = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
#define GRAPH_INITIALIZER 5
#define TYPE_FLOAT	1u

#define IR		8u	/* that of ONNX 1.12 (2022), which introduced opset 17 */
#define OPSET		17u
#define MOST		INT32_MAX	/* bytes of the longest message that readers of Protocol Buffers accept */

int
tensors_onnx_array(const struct tensor *x, struct buf *head)
{
	uint64_t bytes = x->count * sizeof(float);
	struct proto in = { 0 }, out = { 0 };
	int e;

	assert(x->type == TENSORS_F32);
	for (uint32_t i = 0; i < x->ndim; i++)
		proto_uint(&in, TENSOR_DIM, x->dim[i]);
	proto_uint(&in, TENSOR_TYPE, TYPE_FLOAT);
	proto_text(&in, TENSOR_NAME, x->name);
	proto_head(&in, TENSOR_RAW, bytes);
	proto_head(&out, GRAPH_INITIALIZER, in.b.n + bytes);
	if ((e = in.e) == 0 && (e = out.e) == 0 && (e = buf_put(head, out.b.p, out.b.n)) == 0)
		e = buf_put(head, in.b.p, in.b.n);
	buf_free(&in.b);
	buf_free(&out.b);
	return e;
}

int
tensors_onnx_head(struct tensors *t, struct buf *head)
{
	struct proto p = { .b = *head };
	uint64_t bytes = t->nodes->n;
	size_t at;

	for (size_t i = 0; p.e == 0 && i < t->n; i++) {
		struct buf one = { 0 };

		p.e = tensors_onnx_array(&t->t[i], &one);
		bytes += one.n + t->t[i].count * sizeof(float);
		buf_free(&one);
	}
	proto_uint(&p, MODEL_IR, IR);
	proto_text(&p, MODEL_PRODUCER, "tally");
	at = proto_open(&p, MODEL_OPSETS);
	proto_uint(&p, OPSET_VERSION, OPSET);
	proto_close(&p, at);
	proto_head(&p, MODEL_GRAPH, bytes);
	*head = p.b;
	if (p.e == 0 && head->n + bytes > MOST)
		return err_fail(ERR_LIMIT, "an ONNX model of %llu bytes is longer than 2 GB",
		    (unsigned long long)bytes);
	return p.e < 0 ? p.e : buf_put(head, t->nodes->p, t->nodes->n);
}
