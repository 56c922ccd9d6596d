/* server_room_test - a server takes no memory for a job that does not fit: a HELLO of a few bytes may describe a net of 4 GB. */
#include "tap.h"

#include "base/err.h"
#include "base/mem.h"
#include "ps/hello.h"
#include "ps/memory.h"
#include "ps/server/server_state.h"
#include "ps/shard_plan.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED	77

static void
emit(void *arg, uint32_t worker, const struct msg *m)
{
	(void)arg;
	(void)worker;
	(void)m;
}

/* Whether this process maps little, unlike one with sanitizers, which needs room for more. */
static bool
maps_little(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;
	const bool little = f != NULL && fscanf(f, "%llu", &pages) == 1 && pages < 1u << 17;

	if (f != NULL)
		fclose(f);
	return little;
}

/* Says hello with a layer of k weights in slices of some bytes to a server for some workers. */
static int
greet(struct server_state_opt *o, uint32_t k, uint32_t slice)
{
	struct graph *g = graph_new(1, 1, 1);
	struct hello h = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = o->nworkers, .nservers = 1,
	    .slice = slice };
	struct server_state *s;
	struct buf b = { 0 };
	uint32_t at = 0;
	int e;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = k }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	h.hash = graph_hash(g);
	hello_text(&h, g, &b);
	server_state_new(o, &s);
	e = server_state_take(s, &(struct msg){ .type = MSG_HELLO, .incarnation = 1, .len = (uint32_t)b.n, .payload = b.p });
	server_state_free(s);
	buf_free(&b);
	graph_free(g);
	return e;
}

int
main(void)
{
	const struct rlimit least = { (rlim_t)1 << 30, (rlim_t)1 << 30 };
	struct rusage before, after;
	struct memory m;
	struct stat st;
	int status = -1;

	getrusage(RUSAGE_SELF, &before);
	is(greet(&(struct server_state_opt){ .nworkers = HELLO_WORKERS, .nservers = 1, .emit = emit }, 1 << 18, 4), ERR_NOMEM,
	    "a HELLO whose graph has too many slices for its workers is refused: %s", err_line());
	getrusage(RUSAGE_SELF, &after);
	ok(after.ru_maxrss < before.ru_maxrss + (256 << 10), "a HELLO's slices are bounded before memory is taken for them");
	memory_make(&m);
	if (fork() == 0) {
		if (!maps_little() || setrlimit(RLIMIT_AS, &least) < 0 || mem_available() > least.rlim_cur ||
		    mem_available() < least.rlim_cur / 2)
			_exit(SKIPPED);
		_exit(greet(&(struct server_state_opt){ .nworkers = 1, .nservers = 1, .emit = emit, .memory = &m }, 1 << 27,
		    SHARD_PLAN_SLICE) == ERR_NOMEM ? 0 : 1);
	}
	wait(&status);
	if (status == SKIPPED << 8) {
		skip("a HELLO whose graph is too large is refused", "this process maps too much, or an emulator sets no limit");
	} else {
		is(status, 0, "a HELLO whose graph is too large is refused");
		ok(fstat(m.fd, &st) == 0 && st.st_size == 0, "a HELLO's graph is bounded before memory is taken for its weights");
	}
	memory_close(&m);
	return done();
}
