/* tensors_test - tables and elements of both formats, every type, and lists of all versions of MXNet. */
#include "base/err.h"
#include "base/io.h"
#include "tensor/tensors.h"
#include "pics.h"
#include "tap.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

static const char *path;

/* Bytes from text of hexadecimal digits, blanks aside. */
static size_t
bytes(const char *hex, uint8_t *p)
{
	size_t n = 0;
	int used;
	unsigned v;

	for (; sscanf(hex, "%2x%n", &v, &used) == 1; hex += used)
		p[n++] = (uint8_t)v;
	return n;
}

static int
write_table(struct tensors *t, const void *data, size_t n)
{
	struct tensors_out *o;
	int e = tensors_create(path, t, &o);

	for (size_t i = 0; e == 0 && i < n; i += 5)	/* in pieces that fit no tensor */
		e = tensors_write(o, (const uint8_t *)data + i, n - i < 5 ? n - i : 5);
	return e == 0 ? tensors_commit(o) : e;
}

/* Three tensors, one of them without numbers, one without dimensions, for which a list has one. */
static void
round_trip(enum tensors_kind kind, const char *what)
{
	const float data[7] = { 1, 2, 3, 4, 5, 6, 7 };
	struct tensors t = { .kind = kind }, got;
	float back[4];

	tensors_add(&t, "a", &(struct tensor){ .ndim = 2, .dim = { 2, 3 } });
	tensors_add(&t, "none", &(struct tensor){ .ndim = 1, .dim = { 0 } });
	tensors_add(&t, "one", &(struct tensor){ .ndim = 0 });
	tensors_add_meta(&t, "key", "value");
	is(write_table(&t, data, sizeof(data)), 0,
	    "%s: tensors_create and tensors_commit write a file", what);
	if (!ok(tensors_open(&got, path) == 0, "%s: tensors_open reads it: %s", what, err_line()))
		return;
	is(got.kind, kind, "%s: the first bytes tell the format", what);
	is(got.n, 3, "%s: the file has three tensors", what);
	ok(strcmp(got.t[0].name, "a") == 0 && got.t[0].ndim == 2 && got.t[0].dim[0] == 2 && got.t[0].dim[1] == 3 &&
	    strcmp(got.t[1].name, "none") == 0 && got.t[1].count == 0,
	    "%s: tensors keep their order and shapes", what);
	ok(tensors_find(&got, "one") == &got.t[2] && got.t[2].ndim == (kind == TENSORS_PARAMS) && got.t[2].count == 1,
	    "%s: tensors_find finds a tensor", what);
	ok(tensors_find(&got, "two") == NULL,
	    "%s: tensors_find returns NULL for a missing name", what);
	ok(tensors_read(&got, &got.t[0], 2, 4, back) == 0 && memcmp(back, data + 2, sizeof(back)) == 0,
	    "%s: tensors_read reads the elements", what);
	ok(tensors_read(&got, &got.t[2], 0, 1, back) == 0 && back[0] == 7,
	    "%s: tensors_read reads the last tensor", what);
	ok((tensors_meta(&got, "key") != NULL) == (kind == TENSORS_SAFE),
	    "%s: only safetensors keep metadata", what);
	tensors_close(&got);
	tensors_close(&t);
}

/* Numbers by hand: IEEE 754 half precision and bfloat16, with ties, the smallest, and what is too large. */
static void
types(void)
{
	static const struct { enum tensors_type type; float v; unsigned bits; } f[] = {
		{ TENSORS_F16, 1, 0x3c00 }, { TENSORS_F16, -2.5f, 0xc100 }, { TENSORS_F16, 65504, 0x7bff },
		{ TENSORS_F16, 65519.996f, 0x7bff }, { TENSORS_F16, 65520, 0x7c00 }, { TENSORS_F16, INFINITY, 0x7c00 },
		{ TENSORS_F16, 0x1p-14f, 0x0400 }, { TENSORS_F16, 0x1p-24f, 0x0001 }, { TENSORS_F16, 0x1p-25f, 0x0000 },
		{ TENSORS_F16, 0x1.8p-25f, 0x0001 }, { TENSORS_F16, -0x1.8p-24f, 0x8002 },
		    { TENSORS_F16, 0x1.ff8p-15f, 0x03ff },
		{ TENSORS_F16, 0x1.ffep-15f, 0x0400 }, { TENSORS_F16, 0x1.002p0f, 0x3c00 },
		    { TENSORS_F16, 0x1.006p0f, 0x3c02 },
		{ TENSORS_BF16, 1, 0x3f80 }, { TENSORS_BF16, 0x1.01p0f, 0x3f80 }, { TENSORS_BF16, 0x1.03p0f, 0x3f82 },
		{ TENSORS_BF16, 0x1.fffp127f, 0x7f80 }, { TENSORS_BF16, -0x1p-126f, 0x8080 },
	};
	static const uint8_t ints[8] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const struct { enum tensors_type type; float v; } i[] = {
		{ TENSORS_U8, 254 }, { TENSORS_I8, -2 }, { TENSORS_I16, -2 }, { TENSORS_U16, 65534 },
		    { TENSORS_I32, -2 },
		{ TENSORS_U32, 4294967294.0f }, { TENSORS_I64, -2 }, { TENSORS_U64, 0x1p64f },
	};
	uint8_t p[8];
	double d;
	float v;

	for (size_t k = 0; k < sizeof(f) / sizeof(*f); k++) {
		tensors_from_f32(f[k].type, &f[k].v, 1, p);
		is(le_get16(p), f[k].bits,
		    "f32 %a converts to %s", (double)f[k].v, tensors_type_name(f[k].type));
	}
	for (unsigned h = 0, bad = 0; h < 0x10000; h++) {
		uint8_t q[2];

		for (int type = TENSORS_F16; type <= TENSORS_BF16; type++) {
			le_put16(p, (uint16_t)h);
			tensors_to_f32((enum tensors_type)type, p, 1, &v);
			tensors_from_f32((enum tensors_type)type, &v, 1, q);
			bad += !isnan(v) && le_get16(q) != h;
		}
		if (h == 0xffff)
			is(bad, 0, "f16 and bf16 values survive a conversion to f32 and back");
	}
	for (size_t k = 0; k < sizeof(i) / sizeof(*i); k++) {
		tensors_to_f32(i[k].type, ints, 1, &v);
		ok(v == i[k].v, "%s converts to f32 %g", tensors_type_name(i[k].type), (double)v);
		tensors_to_f64(i[k].type, ints, 1, &d);
		ok((float)d == i[k].v, "the same number converts to f64");
	}
}

/* One array arg:bias = {1, 2}, as MXNet up to 0.10, of 0.11, 1.x and 2.x writes it. */
static void
lists(void)
{
#define HEAD "1201000000000000 0000000000000000 0100000000000000 "
#define DATA "01000000 00000000 00000000 0000803f 00000040 "
#define NAMES "0100000000000000 0800000000000000 6172673a62696173"
	static const struct { const char *what, *hex; } list[] = {
		{ "v0", HEAD "01000000 02000000 " DATA NAMES },
		{ "v1", HEAD "c8fa93f9 01000000 0200000000000000 " DATA NAMES },
		{ "v2", HEAD "c9fa93f9 00000000 01000000 0200000000000000 " DATA NAMES },
		{ "v3", HEAD "cafa93f9 00000000 01000000 0200000000000000 " DATA NAMES },
	};
	static const struct { const char *what, *hex; int e; } no[] = {
		{ "a sparse array", HEAD "c9fa93f9 01000000 01000000 0200000000000000 " DATA NAMES, ERR_NOTSUP },
		{ "an unknown type", HEAD "01000000 02000000 01000000 00000000 63000000 0000803f 00000040 " NAMES,
		    ERR_NOTSUP },
		{ "two names for an array", HEAD "01000000 02000000 " DATA "0200000000000000", ERR_FORMAT },
		{ "a name beyond the end",
		    HEAD "01000000 02000000 " DATA "0100000000000000 0900000000000000 6172673a62696173", ERR_SHORT },
		{ "bytes behind", HEAD "01000000 02000000 " DATA NAMES "00", ERR_FORMAT },
		{ "more numbers than bytes", HEAD "02000000 ffff0000 ffff0000 " DATA NAMES, ERR_SHORT },
		{ "more numbers than memory", HEAD "03000000 ffffffff ffffffff ffffffff " DATA NAMES, ERR_LIMIT },
		{ "too many dimensions", HEAD "09000000 02000000 " DATA NAMES, ERR_FORMAT },
		{ "a name with a zero",
		    HEAD "01000000 02000000 " DATA "0100000000000000 0800000000000000 6172670062696173", ERR_FORMAT },
	};
	uint8_t p[256];
	struct tensors t;
	float v[2] = { 0 };

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		pics_write(path, p, bytes(list[i].hex, p));
		ok(tensors_open(&t, path) == 0 && t.n == 1 && strcmp(t.t[0].name, "arg:bias") == 0 &&
		    t.t[0].count == 2 &&
		    tensors_read(&t, &t.t[0], 0, 2, v) == 0 && v[0] == 1 && v[1] == 2,
		    "tensors_open reads a list of version %s: %s", list[i].what, err_line());
		tensors_close(&t);
		for (size_t n = bytes(list[i].hex, p), cut = 0, whole = 0; cut < n; cut++) {
			pics_write(path, p, cut);
			whole += tensors_open(&t, path) == 0;
			if (cut + 1 == n)
				is(whole, 0,
				    "tensors_open refuses a list of version %s cut anywhere", list[i].what);
		}
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		pics_write(path, p, bytes(no[i].hex, p));
		is(tensors_open(&t, path), no[i].e,
		    "tensors_open refuses %s: %s", no[i].what, err_line());
	}
	pics_write(path, p, bytes("1201000000000000", p));
	ok(tensors_open(&t, path) == ERR_SHORT && strstr(err_line(), "ends at byte 8,") != NULL,
	    "tensors_open refuses a list of one word: %s",
	    err_line());
	pics_write(path, p, bytes(HEAD "01000000 02000000 " DATA "0000000000000000", p));
	ok(tensors_open(&t, path) == 0 && strcmp(t.t[0].name, "0") == 0,
	    "arrays without names are named by their number");
	tensors_close(&t);
}

/* What is written for old readers is v0 to the byte. */
static void
written(void)
{
	const float data[2] = { 1, 2 };
	struct tensors t = { .kind = TENSORS_PARAMS };
	struct buf b = { 0 };
	uint8_t p[256];
	size_t n = bytes(HEAD "01000000 02000000 " DATA NAMES, p);

	tensors_add(&t, "arg:bias", &(struct tensor){ .ndim = 1, .dim = { 2 } });
	write_table(&t, data, sizeof(data));
	ok(io_slurp(path, 4096, &b) == 0 && b.n == n && memcmp(b.p, p, n) == 0,
	    "a list of f32 is written as v0");
	is(tensors_add(&t, "arg:bias", &t.t[0]), 0, "tensors_add accepts a name that exists");
	for (int kind = TENSORS_SAFE; kind <= TENSORS_PARAMS; kind++) {
		struct tensors s = t;
		struct tensors_out *o;

		s.kind = (enum tensors_kind)kind;
		is(tensors_create(path, &s, &o), ERR_FORMAT,
		    "tensors_create refuses a name twice: %s", err_line());
	}
	tensors_close(&t);
	buf_free(&b);
}

/* Headers that are no table, each refused for what it is; and some that look odd and are none the worse. */
static void
headers(void)
{
#define ONE "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}"
	static const struct { const char *json, *why; } no[] = {
		{ "[]", "not a JSON object" }, { "", "not a JSON object" }, { "{", "no name" }, { "{" ONE, "no comma" },
		{ "{" ONE ",", "no name" },
		{ "{" ONE ",}", "no name" }, { "{," ONE "}", "no name" }, { "{" ONE "}x", "more text after" },
		    { "{" ONE "}{}", "more text after" },
		{ "{\"a\"}", "no colon" }, { "{\"a\":}", "not JSON" },
		{ "{\"a\":{\"x\":1,\"x\":1}}", "not JSON" }, { "{1:{}}", "no name" },
		{ "{\"a\":1}", "no data_offsets" }, { "{\"\xff\":{}}", "not JSON" },
		    { "{\"a\\u0000b\":{}}", "not JSON" },
		{ "{" ONE ",\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]}}",
		    "two tensors are called 'a'" },
		{ "{\"__metadata__\":[]," ONE "}", "not a JSON object" },
		{ "{\"__metadata__\":{},\"__metadata__\":{}," ONE "}", "twice" },
	};
	static const char *const yes[] = { "{" ONE "}", " {\t" ONE "\r\n}  ", "{\"__metadata__\":{}," ONE "}",
		"{" ONE ",\"__metadata__\":{\"k\":\"v\"}}" };
	struct buf b = { 0 };
	uint8_t word[8];
	struct tensors t;

	for (size_t i = 0; i < sizeof(no) / sizeof(*no) + sizeof(yes) / sizeof(*yes); i++) {
		bool bad = i < sizeof(no) / sizeof(*no);
		const char *json = bad ? no[i].json : yes[i - sizeof(no) / sizeof(*no)];

		b.n = 0;
		le_put64(word, strlen(json));
		buf_put(&b, word, sizeof(word));
		buf_put_fmt(&b, "%s\x07", json);
		pics_write(path, b.p, b.n);
		if (bad) {
			is(tensors_open(&t, path), ERR_FORMAT,
			    "tensors_open refuses header %zu: %s", i, err_line());
			ok(strstr(err_line(), no[i].why) != NULL, "the error states the cause");
		} else {
			ok(tensors_open(&t, path) == 0 && t.n == 1 && strcmp(t.t[0].name, "a") == 0,
			    "tensors_open accepts header %zu: %s", i, err_line());
		}
		tensors_close(&t);
	}
	buf_free(&b);
}

/* A value as long as the header would take fifty times its bytes: it is not read. */
static void
long_values(void)
{
	static const struct { const char *front; size_t n; int e; } all[] = {
		{ "{\"x\":[", 4000, ERR_FORMAT }, { "{\"x\":[", 10000, ERR_LIMIT },
		    { "{\"__metadata__\":[", 10000, ERR_FORMAT },
		{ "{\"__metadata__\":[", 3 << 20, ERR_LIMIT },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct buf b = { 0 };
		struct tensors t;
		uint8_t word[8] = { 0 };

		buf_put(&b, word, sizeof(word));
		buf_put_fmt(&b, "%s0", all[i].front);
		while (b.n < all[i].n)
			buf_put(&b, ",0", 2);
		buf_put(&b, "]}", 2);
		le_put64(b.p, b.n - sizeof(word));
		pics_write(path, b.p, b.n);
		is(tensors_open(&t, path), all[i].e,
		    "tensors_open bounds its memory for %s of %zu bytes: %s", all[i].front, all[i].n, err_line());
		buf_free(&b);
	}
}

static size_t left;

static void *
scarce(size_t n)
{
	return left > 0 ? left--, malloc(n) : NULL;
}

/* Where memory runs out no error is without its reason; jansson takes a string that it has no room for for a wrong one. */
static void
scarcity(void)
{
	static const char json[] = "{" ONE ",\"__metadata__\":{\"k\":\"v\"}}";
	struct buf b = { 0 };
	uint8_t word[8];
	struct tensors t;
	unsigned nomem = 0, silent = 0;
	int e = ERR_NOMEM;

	le_put64(word, strlen(json));
	buf_put(&b, word, sizeof(word));
	buf_put_fmt(&b, "%s\x07", json);
	pics_write(path, b.p, b.n);
	json_set_alloc_funcs(scarce, free);
	for (size_t n = 0; e != 0 && n < 1000; n++) {
		left = n;
		if ((e = tensors_open(&t, path)) == 0)
			tensors_close(&t);
		nomem += e == ERR_NOMEM;
		silent += e != 0 && strstr(err_line(), "JSON:  at") != NULL;
	}
	json_set_alloc_funcs(malloc, free);
	ok(e == 0 && nomem > 0 && silent == 0,
	    "tensors_open fails %u times without memory, %u times without a line, then succeeds", nomem, silent);
	buf_free(&b);
}

int
main(void)
{
	path = pics_path("t");
	headers();
	long_values();
	scarcity();
	round_trip(TENSORS_SAFE, "safetensors");
	round_trip(TENSORS_PARAMS, "a list");
	types();
	lists();
	written();
	pics_clean();
	return done();
}
