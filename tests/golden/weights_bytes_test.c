/* weights_bytes_test - the bytes of weights files and the text and hashes of graphs, which outlive a version. */
#include "base/buf.h"
#include "base/io.h"
#include "net/graph/script.h"
#include "net/weights.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

static const char lenet[] =
	"tally-net 1\n"
	"data data c=1 h=28 w=28\n"
	"conv conv1 in=data k=32 r=3 s=3 stride=2 pad=0 bias=1\n"
	"bn bn1 in=conv1 fix_gamma=0 eps=1e-05 momentum=0.9\n"
	"act relu0 in=bn1 act=relu\n"
	"pool maxpool0 in=relu0 pool=max r=2 s=2 stride=2 pad=0 ceil=1\n"
	"conv conv2 in=maxpool0 k=32 r=3 s=3 stride=2 pad=0 bias=1\n"
	"bn bn2 in=conv2 fix_gamma=0 eps=1e-05 momentum=0.9\n"
	"act relu1 in=bn2 act=relu\n"
	"pool maxpool1 in=relu1 pool=max r=2 s=2 stride=2 pad=0 ceil=1\n"
	"flatten flatten0 in=maxpool1\n"
	"fc fc1 in=flatten0 k=10 bias=1\n"
	"softmax softmax0 in=fc1\n";

static const char net[] =
	"tally-net 1\n"
	"data data c=1 h=1 w=1\n"
	"fc f in=data k=2 bias=0\n"
	"bn b in=f fix_gamma=0 eps=1e-05 momentum=0.9\n"
	"softmax s in=b\n";

#define T(name, dims, from, to) ",\"" name "\":{\"dtype\":\"F32\",\"shape\":[" dims "],\"data_offsets\":[" from "," to "]}"
static const char head[] =
	"{\"__metadata__\":{\"graph\":\"tally-net 1\\ndata data c=1 h=1 w=1\\nfc f in=data k=2 bias=0\\n"
	"bn b in=f fix_gamma=0 eps=1e-05 momentum=0.9\\nsoftmax s in=b\\n\",\"step\":\"7\"}"
	T("f_weight", "2,1", "0", "8") T("b_gamma", "2", "8", "16") T("b_beta", "2", "16", "24")
	T("b_moving_mean", "2", "24", "32") T("b_moving_var", "2", "32", "40")
	T("f_weight:momentum", "2,1", "40", "48") T("b_gamma:momentum", "2", "48", "56")
	T("b_beta:momentum", "2", "56", "64") "}";

static void
graphs(void)
{
	static const struct { const char *net; uint64_t hash; } want[] = {
		{ "mlp", 0x87cd3690ea165a10 }, { "lenet", 0x5ad9f30b76109915 }, { "inception", 0x8e94f3ff051acc22 },
	};
	const struct script_opt bn = { "variant", "bn" };
	struct buf text = { 0 };
	struct graph *g;

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		ok(script_run(want[i].net, 0, 0, 0, 0, NULL, 0, &g) == 0 && graph_hash(g) == want[i].hash,
		    "%s has its hash",
		    want[i].net);
		graph_free(g);
	}
	is(script_run("lenet", 0, 0, 0, 0, &bn, 1, &g), 0, "lenet with batch norm is a graph");
	ok(graph_text(g, &text) == 0 && buf_terminate(&text) == 0, "lenet with batch norm is written as text");
	is_str((char *)text.p, lenet, "the text of lenet with batch norm is unchanged");
	buf_free(&text);
	graph_free(g);
}

static void
file(const char *path)
{
	static const float w[] = { 1, 2, 3, 4, 5, 6 }, aux[] = { 7, 8, 9, 10 }, m[] = { -1, -2, -3, -4, -5, -6 };
	const struct tensors_meta step = { (char *)"step", (char *)"7" };
	size_t n = (sizeof(head) - 1 + 7) / 8 * 8;
	struct buf b = { 0 };
	char text[sizeof(head) + 8];
	struct graph *g;

	is(graph_parse(net, sizeof(net) - 1, &g), 0, "a small net is parsed");
	is(weights_save(path, &(struct weights_content){
	    .graph = g, .w = w, .aux = aux, .state = m, .meta = &step, .nmeta = 1 }), 0, "the weights of that net are saved");
	is(io_slurp(path, 1 << 20, &b), 0, "the file is read");
	is(b.n, 8 + n + 16 * 4, "the file has the expected size");
	is(le_get64(b.p), n, "the file begins with the header's length");
	snprintf(text, sizeof(text), "%.*s", (int)n, (char *)b.p + 8);
	is(strspn(text + sizeof(head) - 1, " "), n - (sizeof(head) - 1), "blanks pad the header to a multiple of 8");
	text[sizeof(head) - 1] = 0;
	is_str(text, head, "the header is unchanged");
	ok(memcmp(b.p + 8 + n, w, sizeof(w)) == 0 && memcmp(b.p + 8 + n + 24, aux, sizeof(aux)) == 0 &&
	    memcmp(b.p + 8 + n + 40, m, sizeof(m)) == 0, "weights, statistics, state");
	buf_free(&b);
	graph_free(g);
}

int
main(void)
{
	char path[] = "/tmp/tally.XXXXXX";
	int fd = mkstemp(path);

	graphs();
	file(path);
	close(fd);
	unlink(path);
	return done();
}
