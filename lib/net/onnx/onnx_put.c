/* onnx_put - encodes ONNX nodes, attributes and constants. */
#include "net/onnx/onnx_in.h"

/* Field numbers.  Source: onnx/onnx.proto. */
enum { GRAPH_NODE = 1, GRAPH_TITLE = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_TITLE = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F = 2, ATTRIBUTE_I = 3, ATTRIBUTE_S = 4, ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { TYPE_F = 1, TYPE_I = 2, TYPE_S = 3, TYPE_INTS = 7 };	/* AttributeProto.AttributeType */
enum { TENSOR_DIM = 1, TENSOR_TYPE = 2, TENSOR_FLOATS = 4, TENSOR_INTS = 7, TENSOR_NAME = 8 };
enum { DATA_FLOAT = 1, DATA_INT64 = 7 };			/* TensorProto.DataType */
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, OF_TYPE = 1, OF_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1,
    DIM_TEXT = 2 };

size_t
onnx_begin(struct proto *p, const char *type, const char *out, const char *const *in)
{
	size_t at = proto_open(p, GRAPH_NODE);

	for (; *in != NULL; in++)
		proto_text(p, NODE_INPUT, *in);
	proto_text(p, NODE_OUTPUT, out);
	proto_text(p, NODE_TITLE, out);
	proto_text(p, NODE_TYPE, type);
	return at;
}

void
onnx_end(struct proto *p, size_t at)
{
	proto_close(p, at);
}

void
onnx_plain(struct proto *p, const char *type, const char *out, const char *const *in)
{
	onnx_end(p, onnx_begin(p, type, out, in));
}

static size_t
begin_attribute(struct proto *p, const char *name)
{
	size_t at = proto_open(p, NODE_ATTRIBUTE);

	proto_text(p, ATTRIBUTE_NAME, name);
	return at;
}

static void
end_attribute(struct proto *p, size_t at, uint64_t type)
{
	proto_uint(p, ATTRIBUTE_TYPE, type);
	proto_close(p, at);
}

void
onnx_int(struct proto *p, const char *name, int64_t v)
{
	size_t at = begin_attribute(p, name);

	proto_uint(p, ATTRIBUTE_I, (uint64_t)v);
	end_attribute(p, at, TYPE_I);
}

void
onnx_ints(struct proto *p, const char *name, const int64_t *v, unsigned n)
{
	size_t at = begin_attribute(p, name);

	for (unsigned i = 0; i < n; i++)
		proto_uint(p, ATTRIBUTE_INTS, (uint64_t)v[i]);
	end_attribute(p, at, TYPE_INTS);
}

void
onnx_float(struct proto *p, const char *name, float v)
{
	size_t at = begin_attribute(p, name);

	proto_float(p, ATTRIBUTE_F, v);
	end_attribute(p, at, TYPE_F);
}

void
onnx_string(struct proto *p, const char *name, const char *v)
{
	size_t at = begin_attribute(p, name);

	proto_text(p, ATTRIBUTE_S, v);
	end_attribute(p, at, TYPE_S);
}

void
onnx_constants(struct proto *p, const char *name, const int64_t *v, unsigned n)
{
	size_t at = proto_open(p, GRAPH_INITIALIZER);

	proto_uint(p, TENSOR_DIM, n);
	proto_uint(p, TENSOR_TYPE, DATA_INT64);
	for (unsigned i = 0; i < n; i++)
		proto_uint(p, TENSOR_INTS, (uint64_t)v[i]);
	proto_text(p, TENSOR_NAME, name);
	proto_close(p, at);
}

void
onnx_scalar(struct proto *p, const char *name, float v)
{
	size_t at = proto_open(p, GRAPH_INITIALIZER);

	proto_uint(p, TENSOR_TYPE, DATA_FLOAT);
	proto_float(p, TENSOR_FLOATS, v);
	proto_text(p, TENSOR_NAME, name);
	proto_close(p, at);
}

/* A ValueInfoProto: f32 [N, dim...]. */
static void
put_value_info(struct proto *p, uint32_t field, const char *name, const uint32_t *dim, unsigned n)
{
	size_t info = proto_open(p, field), type, tensor, shape, at;

	proto_text(p, VALUE_NAME, name);
	type = proto_open(p, VALUE_TYPE);
	tensor = proto_open(p, TYPE_TENSOR);
	proto_uint(p, OF_TYPE, DATA_FLOAT);
	shape = proto_open(p, OF_SHAPE);
	at = proto_open(p, SHAPE_DIM);
	proto_text(p, DIM_TEXT, "N");
	proto_close(p, at);
	for (unsigned i = 0; i < n; i++) {
		at = proto_open(p, SHAPE_DIM);
		proto_uint(p, DIM_VALUE, dim[i]);
		proto_close(p, at);
	}
	proto_close(p, shape);
	proto_close(p, tensor);
	proto_close(p, type);
	proto_close(p, info);
}

void
onnx_declare_io(struct proto *p, const char *in, const uint32_t chw[3], const char *out, uint32_t classes)
{
	proto_text(p, GRAPH_TITLE, "tally");
	put_value_info(p, GRAPH_INPUT, in, chw, 3);
	put_value_info(p, GRAPH_OUTPUT, out, &classes, 1);
}
