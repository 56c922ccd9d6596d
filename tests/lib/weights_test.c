/* weights_test - weights to a file and back, and files that are broken in each way there is. */
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "net/weights.h"
#include "pics.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const char *path;
static const char net[] =
	"tally-net 1\n"
	"data data c=1 h=1 w=3\n"
	"fc f in=data k=2 bias=1\n"
	"bn b in=f fix_gamma=0 eps=1e-05 momentum=0.9\n"
	"softmax s in=b\n";
static struct graph *g;		/* f_weight [2,3], f_bias [2], b_gamma [2], b_beta [2]; aux b_moving_mean, _var [2] */
static float w[12], aux[4], state[12];

/* A file of this header, its blanks left as they are, and n bytes of data. */
static void
put_file(const char *head, size_t n)
{
	struct buf b = { 0 };
	uint8_t word[8], zeros[256] = { 0 };

	le_put64(word, strlen(head));
	buf_put(&b, word, 8);
	buf_put(&b, head, strlen(head));
	buf_put(&b, zeros, n);
	pics_write(path, b.p, b.n);
	buf_free(&b);
}

static void
round_trip(void)
{
	const struct tensors_meta meta[] = { { (char *)"step", (char *)"12" }, { (char *)"odd", (char *)"a\"\n\xc3\xa4" } };
	const struct tensor *x;
	struct tensors t;
	struct weights f;
	float two[24], pair[2];

	is(weights_save(path, &(struct weights_content){
	    .graph = g, .w = w, .aux = aux, .state = state, .meta = meta, .nmeta = 2 }), 0, "saved: %s", err_line());
	if (!ok(weights_load(path, NULL, &f) == 0, "weights are loaded: %s", err_line()))
		return;
	ok(memcmp(f.w, w, sizeof(w)) == 0 && memcmp(f.aux, aux, sizeof(aux)) == 0, "weights and statistics are the same to the bit");
	ok(f.state != NULL && memcmp(f.state, state, sizeof(state)) == 0, "the optimizer's state is the same");
	ok(graph_hash(f.graph) == graph_hash(g), "the graph is the same");
	is(f.nmeta, 2, "two pairs of metadata are loaded");
	is_str(weights_get(&f, "step"), "12", "metadata is found by key");
	is_str(weights_get(&f, "odd"), "a\"\n\xc3\xa4", "metadata may have any bytes");
	ok(weights_get(&f, "graph") == NULL && weights_get(&f, "none") == NULL, "weights_get() finds no other keys");
	weights_free(&f);
	ok(f.w == NULL && f.nmeta == 0, "freed weights are empty");
	for (int i = 0; i < 24; i++)
		two[i] = (float)i;
	is(weights_save(path, &(struct weights_content){
	    .graph = g, .w = w, .aux = aux, .state = two, .rule = OPT_ADAM, .meta = meta, .nmeta = 2 }), 0,
	    "weights are saved with two numbers each");
	ok(weights_load(path, NULL, &f) == 0 && f.rule == OPT_ADAM && memcmp(f.state, two, sizeof(two)) == 0 && f.nmeta == 2,
	    "two numbers for each weight are loaded: %s", err_line());
	weights_free(&f);
	is(tensors_open(&t, path), 0, "the file of these weights is opened");
	ok((x = tensors_find(&t, "f_bias:exp_avg_sq")) != NULL && tensors_read(&t, x, 0, 2, pair) == 0 && pair[0] == 13 &&
	    pair[1] == 15, "the two numbers are separate tensors");
	tensors_close(&t);
	is(weights_save(path, &(struct weights_content){
	    .graph = g, .w = w, .aux = aux }), 0, "weights are saved without state");
	ok(weights_load(path, g, &f) == 0 && f.state == NULL && f.nmeta == 0, "weights without state are loaded");
	weights_free(&f);
}

/* Tensors in any order, more than wanted, and no graph: a file that another tool wrote. */
static void
other_tool(void)
{
	struct weights f;
	struct buf b = { 0 };

	put_file("{\"x\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
	    "\"b_moving_var\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]},"
	    "\"b_moving_mean\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]},"
	    "\"f_bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]},"
	    "\"b_beta\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[40,48]},"
	    "\"b_gamma\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[32,40]},"
	    "\"f_weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[48,72]},"
	    "\"__metadata__\":{\"format\":\"pt\"}}  ", 72);
	io_slurp(path, 4096, &b);
	le_putf32(b.p + b.n - 72 + 8, 5);	/* the first of b_moving_var */
	le_putf32(b.p + b.n - 4, 7);		/* the last of f_weight */
	pics_write(path, b.p, b.n);
	ok(weights_load(path, g, &f) == 0, "another tool's file: %s", err_line());
	if (f.w != NULL)
		ok(f.w[5] == 7 && f.aux[2] == 5 && f.graph == NULL && f.state == NULL, "each tensor goes to its place");
	weights_free(&f);
	is(weights_load(path, NULL, &f), ERR_FORMAT, "a file without a graph is not loaded without a net: %s", err_line());
	buf_free(&b);
}

#define T(name, dims, from, to) "\"" name "\":{\"dtype\":\"F32\",\"shape\":[" dims "],\"data_offsets\":[" from "," to "]}"
#define REST T("f_bias", "2", "24", "32") "," T("b_gamma", "2", "32", "40") "," T("b_beta", "2", "40", "48") "," \
	T("b_moving_mean", "2", "48", "56") "," T("b_moving_var", "2", "56", "64")
#define FINE T("f_weight", "2,3", "0", "24") "," REST

static void
broken(void)
{
	static const struct { const char *head; size_t data; int e; const char *line; } no[] = {
		{ "", 0, ERR_FORMAT, "not a JSON object" },
		{ "[]", 0, ERR_FORMAT, "not a JSON object" },
		{ "{" FINE, 64, ERR_FORMAT, "not JSON" },
		{ "{" FINE "," FINE "}", 64, ERR_FORMAT, "begins at byte" },
		{ "{" FINE "}", 60, ERR_SHORT, "'b_moving_var'" },
		{ "{" FINE "}", 68, ERR_FORMAT, "4 bytes after" },
		{ "{" REST "}", 64, ERR_FORMAT, "'f_bias' begins at byte" },
		{ "{" T("g_weight", "2,3", "0", "24") "," REST "}", 64, ERR_FORMAT, "no tensor 'f_weight'" },
		{ "{" T("f_weight", "3,2", "0", "24") "," REST "}", 64, ERR_FORMAT,
		    "'f_weight' has another shape than the net: 3x2, not 2x3; give the net the options that it was saved with" },
		{ "{" T("f_weight", "6", "0", "24") "," REST "}", 64, ERR_FORMAT,
		    "'f_weight' has another shape than the net: 6, not 2x3; give the net the options that it was saved with" },
		{ "{" T("f_weight", "2,3,1", "0", "24") "," REST "}", 64, ERR_FORMAT,
		    "'f_weight' has another shape than the net: 2x3x1, not 2x3; give the net the options that it was saved with" },
		{ "{" T("f_weight", "2,3.0", "0", "24") "," REST "}", 64, ERR_FORMAT, "'f_weight' has an invalid shape" },
		{ "{" T("f_weight", "2,3", "0", "24") "," T("f_bias", "2", "24", "32") ",\"x\":3}", 64, ERR_FORMAT, "'x'" },
		{ "{" T("f_weight", "2,3", "0", "16") "," T("x", "2", "16", "24") "," REST "}", 64, ERR_FORMAT,
		    "'f_weight' has 16 bytes for its 6 numbers" },
		{ "{" T("x", "1", "20", "24") "," FINE "}", 64, ERR_FORMAT, "begins at" },
		{ "{" T("x", "1", "-4", "0") "," FINE "}", 64, ERR_FORMAT, "'x' has no data_offsets" },
		{ "{" T("x", "1", "24", "0") "," FINE "}", 64, ERR_FORMAT, "'x' has no data_offsets" },
		{ "{" T("x", "1", "0", "9223372036854775807") "," FINE "}", 64, ERR_SHORT, "'x'" },
		{ "{" T("x", "1", "0", "9223372036854775808") "," FINE "}", 64, ERR_FORMAT, "not JSON" },
		{ "{\"x\":{\"data_offsets\":[0]}," FINE "}", 64, ERR_FORMAT, "'x' has no data_offsets" },
		{ "{\"f_weight\":{\"dtype\":\"F16\",\"shape\":[2,6],\"data_offsets\":[0,24]}," REST "}", 64, ERR_FORMAT,
		    "'f_weight' is F16" },
		{ "{\"f_weight\":{\"shape\":[2,3],\"data_offsets\":[0,24]}," REST "}", 64, ERR_FORMAT, "'f_weight' has no dtype" },
		{ "{\"__metadata__\":[]," FINE "}", 64, ERR_FORMAT, "metadata is not a JSON object" },
		{ "{\"__metadata__\":{\"step\":3}," FINE "}", 64, ERR_FORMAT, "metadata 'step' is not text" },
		{ "{\"__metadata__\":{\"graph\":\"tally-net 9\\n\"}," FINE "}", 64, ERR_FORMAT, "its graph: line 1" },
		{ "{" FINE "," T("f_weight:momentum", "2,3", "64", "88") "}", 88, ERR_FORMAT, "no tensor 'f_bias:momentum'" },
	};
	struct weights f;

	put_file("{" FINE "}", 64);
	is(weights_load(path, g, &f), 0, "the file that the others are made from: %s", err_line());
	weights_free(&f);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		put_file(no[i].head, no[i].data);
		ok(weights_load(path, g, &f) == no[i].e && strncmp(err_line(), path, strlen(path)) == 0 &&
		    strstr(err_line(), no[i].line) != NULL && f.w == NULL, "broken: %s", err_line());
	}
}

static void
lengths(void)
{
	uint8_t b[16] = { 0 };
	struct weights f;

	pics_write(path, b, 0);
	is(weights_load(path, g, &f), ERR_SHORT, "an empty file: %s", err_line());
	pics_write(path, b, 7);
	is(weights_load(path, g, &f), ERR_SHORT, "no length: %s", err_line());
	le_put64(b, 9);
	pics_write(path, b, 16);
	is(weights_load(path, g, &f), ERR_SHORT, "a header longer than the file: %s", err_line());
	le_put64(b, UINT64_MAX);
	pics_write(path, b, 16);
	is(weights_load(path, g, &f), ERR_FORMAT, "a header of all there is: %s", err_line());
	is(weights_load(pics_dir, g, &f), ERR_FORMAT, "a folder: %s", err_line());
	unlink(path);
	is(weights_load(path, g, &f), ERR_SYS, "no file: %s", err_line());
}

/* Every cut of a good file is refused, whatever is missing. */
static void
cuts(void)
{
	struct weights f;
	struct buf b = { 0 };
	size_t refused = 0;

	weights_save(path, &(struct weights_content){ .graph = g, .w = w, .aux = aux, .state = state });
	io_slurp(path, 1 << 20, &b);
	for (size_t n = 0; n < b.n; n++) {
		pics_write(path, b.p, n);
		refused += weights_load(path, NULL, &f) < 0 && f.w == NULL;
	}
	is(refused, b.n, "no beginning of a file passes for one");
	is((8 + le_get64(b.p)) % 8, 0, "the data is aligned");
	buf_free(&b);
}

/* One number of a file that is none, in whatever tensor. */
static void
not_finite(void)
{
	static const struct { size_t at; const char *name; } no[] = {
		{ 5, "'f_weight'" }, { 6, "'f_bias'" }, { 11, "'b_beta'" }, { 12, "'b_moving_mean'" }, { 15, "'b_moving_var'" },
		{ 16, "'f_weight:momentum'" }, { 28, "'f_weight:average'" }, { 43, "'b_moving_var:average'" },
	};
	float average[16] = { 0 }, to[12], to_aux[4];
	struct buf b = { 0 };

	weights_save(path, &(struct weights_content){
	    .graph = g, .w = w, .aux = aux, .state = state, .average = average });
	io_slurp(path, 1 << 20, &b);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		uint8_t *at = b.p + 8 + le_get64(b.p) + 4 * no[i].at;
		struct weights_taken r;
		struct weights f;
		uint8_t was[4];
		char said[64];
		int e;

		memcpy(was, at, 4);
		le_putf32(at, i % 2 == 0 ? (float)NAN : -(float)INFINITY);
		pics_write(path, b.p, b.n);
		memcpy(at, was, 4);
		snprintf(said, sizeof(said), "w.safetensors: tensor %s holds NaN or infinite numbers", no[i].name);
		e = weights_load(path, NULL, &f);
		ok(e == ERR_FORMAT && strstr(err_line(), said) != NULL && f.w == NULL,
		    "NaN or infinite weights are not loaded: %s", err_line());
		e = weights_start(path, NULL, g, to, to_aux, &r);
		buf_free(&r.names);
		if (no[i].at < 16)
			ok(e == ERR_FORMAT && strstr(err_line(), said) != NULL,
			    "a run does not start from NaN or infinite weights: %s", err_line());
		else
			ok(e == 0, "a run starts if an array that is left alone is NaN or infinite");
	}
	buf_free(&b);
}

static void
not_saved(void)
{
	const struct tensors_meta odd[] = { { (char *)"k", (char *)"\xff" } };
	struct tensors_meta many[WEIGHTS_METAS + 1];
	char gone[96];
	struct weights f;

	weights_save(path, &(struct weights_content){ .graph = g, .w = w, .aux = aux });
	is(weights_save(path, &(struct weights_content){
	    .graph = g, .w = w, .aux = aux, .meta = odd, .nmeta = 1 }), ERR_FORMAT, "metadata that is no text: %s", err_line());
	for (int i = 0; i <= WEIGHTS_METAS; i++) {
		many[i].key = malloc(16);
		snprintf(many[i].key, 16, "k%d", i);
		many[i].value = (char *)"v";
	}
	is(weights_save(path, &(struct weights_content){
	    .graph = g, .w = w, .aux = aux, .meta = many, .nmeta = WEIGHTS_METAS + 1 }), ERR_LIMIT,
	    "too much metadata is refused: %s", err_line());
	ok(weights_load(path, NULL, &f) == 0, "a refused file leaves the one before");
	weights_free(&f);
	is(weights_save(path, &(struct weights_content){
	    .graph = g, .w = w, .aux = aux, .meta = many, .nmeta = WEIGHTS_METAS }), 0, "as much metadata as there may be is saved");
	ok(weights_load(path, NULL, &f) == 0 && f.nmeta == WEIGHTS_METAS, "as much metadata as there may be is loaded");
	weights_free(&f);
	for (int i = 0; i <= WEIGHTS_METAS; i++)
		free(many[i].key);
	snprintf(gone, sizeof(gone), "%s/none/x", pics_dir);
	is(weights_save(gone, &(struct weights_content){
	    .graph = g, .w = w, .aux = aux }), ERR_SYS, "no such folder: %s", err_line());
	is(weights_save("/dev/full/x", &(struct weights_content){
	    .graph = g, .w = w, .aux = aux }), ERR_SYS, "no folder at all: %s", err_line());
}

int
main(void)
{
	if (graph_parse(net, sizeof(net) - 1, &g) < 0)
		return 1;
	path = pics_path("w.safetensors");
	for (int i = 0; i < 12; i++) {
		w[i] = (float)i / 3;
		state[i] = -(float)i / 7;
		aux[i % 4] = (float)i / 11;
	}
	round_trip();
	other_tool();
	broken();
	lengths();
	cuts();
	not_finite();
	not_saved();
	unlink(path);
	ok(rmdir(pics_dir) == 0, "no other file is left behind");
	graph_free(g);
	return done();
}
