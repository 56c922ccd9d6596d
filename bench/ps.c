/*
 * ps - a parameter server without compute: the times of steps that write, push, pull and read all arrays.
 *
 * The program starts the servers and the workers of a job as processes of their own, with the code that pserver and
 * pworker run.  In a step each worker writes the gradient of every array, from the last to the first, pushes it, waits
 * for its new weights and reads them.  ps.sh drives it in turns: the program prints "ready" and the bytes of the
 * weights, and for each line "K" of standard input it runs K steps and prints their milliseconds on one line.
 */
#include "floats.h"
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "net/graph/script.h"
#include "ps/server/serve.h"
#include "ps/shard_plan.h"
#include "ps/worker/worker.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS	64	/* most workers, and most servers */
#define INPUTS	64	/* of the one layer of a net without a script: its weight has a multiple of 256 bytes */

struct role {
	pid_t	pid;
	int	in, out;	/* of its pipes, the ends of the program */
};

struct job {
	struct graph	*graph;
	struct opt_hyper hyper;
	uint8_t		 key[CONN_KEY];
	bool		 plain;
	enum conn_transport transport;
	uint32_t	 nworkers, nservers, slack;
	const char	*netns;		/* the network namespace of the servers, and */
	const char	*host;		/* their address there; NULL: here, on loopback */
	uint32_t	 slice;
	struct role	 worker[WORKERS], server[WORKERS];
	int		 listener[WORKERS];	/* of the workers' shards; 0: none, as there are servers */
	char		 where[WORKERS][ADDR_TEXT];
	char		*address[WORKERS];
};

static const char usage[] = "ps [--workers N] [--servers N] [--bytes N | --net NAME [--net-opt KEY=VALUE]...] [options]";
static const char help[] =
    "  --workers N          (1)\n"
    "  --servers N          (1); 0: the workers are their own servers\n"
    "  --bytes N            of one array (4194304)\n"
    "  --net NAME           the arrays of a net in place of one array\n"
    "  --net-opt KEY=VALUE  an option of its script\n"
    "  --shape CxHxW        of its images (its own)\n"
    "  --optimizer NAME     sgd, descent (no state), adam ... (sgd)\n"
    "  --plain              no key\n"
    "  --shm                shared memory (TCP)\n"
    "  --ucx                UCX, with --plain (TCP)\n"
    "  --async              no worker waits for another\n"
    "  --slice N            bytes of a slice (524288)\n"
    "  --netns NAME         the servers in this network namespace, and\n"
    "  --host ADDRESS       there at this address (127.0.0.1)\n"
    "  --list               print the bytes of each array, and end\n";

static void *
alloc_floats(size_t count)
{
	void *p = aligned_alloc(64, (count * sizeof(float) + 64) / 64 * 64);

	if (p == NULL)
		front_die(NULL, err_nomem());
	memset(p, 0, count * sizeof(float));
	return p;
}

/* A net of one array. */
static void
make_graph(struct job *j, uint32_t bytes)
{
	uint32_t at = 0;

	if ((j->graph = graph_new(INPUTS, 1, 1)) == NULL)
		front_die(NULL, err_nomem());
	front_must(NULL, graph_add(j->graph, &(struct graph_node){ .op = GRAPH_FC, .name = "array", .in = &at, .nin = 1,
	    .k = bytes / (INPUTS * sizeof(float)) }, &at));
	front_must(NULL, graph_add(j->graph, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at,
	    .nin = 1 }, &at));
}

/* ------ the processes ------ */

static void
print_address(void *arg, const char *where)
{
	dprintf(*(int *)arg, "%s\n", where);
}

/* Serves until all workers have said goodbye; prints the address to descriptor `out` unless that is -1. */
static void
serve(const struct job *j, uint32_t index, int out)
{
	char listen[ADDR_TEXT];
	struct serve_opt o = { .listen = listen, .listen_fd = j->listener[index], .nworkers = j->nworkers,
	    .index = index, .nservers = j->nservers, .key = j->plain ? NULL : j->key, .transport = j->transport, .stop_fd = -1,
	    .listening = out >= 0 ? print_address : NULL, .arg = &out };
	struct serve_sums sums;

	snprintf(listen, sizeof(listen), "%s:0", j->host != NULL ? j->host : "127.0.0.1");
	front_must(NULL, io_random(&o.incarnation, sizeof(o.incarnation)));
	front_must("server", serve_run(&o, &sums));
}

/* Moves this process into the network namespace that `ip netns add` has given this name. */
static void
enter_netns(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 || setns(fd, CLONE_NEWNET) < 0)
		front_die(path, err_sys("setns"));
	close(fd);
}

static int
run_server(const struct job *j, uint32_t index, int in, int out)
{
	(void)in;
	if (j->netns != NULL)
		enter_netns(j->netns);
	serve(j, index, out);
	return front_status();
}

struct shard {
	const struct job *j;
	uint32_t	 index;
};

static void *
run_shard(void *arg)
{
	const struct shard *s = arg;

	serve(s->j, s->index, -1);
	return NULL;
}

static void
run_step(struct worker *wk, const struct worker_opt *o, float *g, const float *stats)
{
	static volatile float seen;
	const struct graph *net = o->graph;

	front_must(NULL, worker_step(wk, 1, 1e-6f));
	for (uint32_t a = net->nw; a-- > 0;) {
		floats_fill(g + net->w[a].first, net->w[a].count, (float)(worker_steps(wk) % 3) - 1);
		front_must(NULL, worker_push(wk, a, g));
	}
	front_must(NULL, worker_finish(wk, stats));
	for (uint32_t a = 0; a < net->nw; a++) {
		front_must(NULL, worker_need(wk, a));
		seen = seen + floats_sum(o->w + net->w[a].first, net->w[a].count);
	}
	front_must(NULL, worker_ready(wk));
}

static int
run_worker(const struct job *j, uint32_t rank, int in, int out)
{
	struct worker_opt o = { .graph = j->graph, .rank = rank, .nworkers = j->nworkers, .slack = j->slack,
	    .hyper = j->hyper, .server = j->address, .nservers = j->nservers, .key = j->plain ? NULL : j->key,
	    .transport = j->transport, .slice = j->slice };
	float *stats = alloc_floats(j->graph->A);
	uint64_t steps = 0;
	struct worker *wk;
	struct shard shard = { j, rank };
	pthread_t thread;
	struct loan g;
	uint32_t k;

	if (j->listener[rank] > 0 && (errno = pthread_create(&thread, NULL, run_shard, &shard)) != 0)
		front_die(NULL, err_sys("a thread for the shard"));
	front_must(NULL, loan_make(j->graph->P * sizeof(float), &g));
	o.lends = &g;
	o.w = alloc_floats(j->graph->P);
	o.aux = alloc_floats(j->graph->A);
	front_must(NULL, io_random(&o.incarnation, sizeof(o.incarnation)));
	front_must("worker", worker_open(&o, &wk));
	front_must("worker", worker_begin(wk, NULL, &steps));
	dprintf(out, "!");
	while (read(in, &k, sizeof(k)) == sizeof(k))
		for (; k > 0; k--) {
			double t = clk_s();

			run_step(wk, &o, g.p, stats);
			dprintf(out, "%.4f%s", (clk_s() - t) * 1e3, k > 1 ? " " : "\n");
		}
	front_must("worker", worker_bye(wk));
	worker_close(wk);
	if (j->listener[rank] > 0)
		pthread_join(thread, NULL);
	return front_status();
}

static void
start_role(struct job *j, struct role *r, uint32_t index, int (*run)(const struct job *, uint32_t, int, int))
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || (r->pid = fork()) < 0)
		front_die(NULL, err_sys("a process of the job"));
	if (r->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(in[1]);
		close(out[0]);
		/* A pipe ends when its last writer does. */
		for (uint32_t i = 0; i < WORKERS; i++)
			if (j->worker[i].in > 0)
				close(j->worker[i].in);
		_exit(run(j, index, in[0], out[1]));
	}
	close(in[0]);
	close(out[1]);
	r->in = in[1];
	r->out = out[0];
}

/* Reads from a process of the job up to a byte; the program ends if that process does. */
static void
read_until(const struct role *r, char end, char *text, size_t size)
{
	size_t n = 0;
	char c;

	while (read(r->out, &c, 1) == 1) {
		if (c == end) {
			text[n] = 0;
			return;
		}
		if (n + 1 < size)
			text[n++] = c;
	}
	exit(FRONT_PARTIAL);
}

/* Opens the sockets of the workers' shards. */
static void
open_listeners(struct job *j)
{
	j->nservers = j->nworkers;
	for (uint32_t s = 0; s < j->nservers; s++)
		front_must("shard", addr_listen("127.0.0.1:0", &j->listener[s], j->where[s]));
}

static void
start_job(struct job *j)
{
	char mark[2];

	for (uint32_t s = 0; s < j->nservers && j->listener[0] > 0; s++)
		j->address[s] = j->where[s];
	for (uint32_t s = 0; s < j->nservers && j->listener[0] == 0; s++) {
		start_role(j, &j->server[s], s, run_server);
		read_until(&j->server[s], '\n', j->where[s], sizeof(j->where[s]));
		j->address[s] = j->where[s];
	}
	for (uint32_t w = 0; w < j->nworkers; w++)
		start_role(j, &j->worker[w], w, run_worker);
	for (uint32_t w = 0; w < j->nworkers; w++)
		read_until(&j->worker[w], '!', mark, sizeof(mark));
	printf("ready %zu\n", j->graph->P * sizeof(float));
	front_flush();
}

/* Runs as many steps as each line of standard input says, and prints the times of worker 0. */
static void
run_turns(struct job *j)
{
	static char text[1 << 20];
	char line[32];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		uint32_t k = (uint32_t)strtoul(line, NULL, 10);

		for (uint32_t w = 0; w < j->nworkers; w++)
			if (write(j->worker[w].in, &k, sizeof(k)) != sizeof(k))
				front_die(NULL, err_sys("worker"));
		for (uint32_t w = j->nworkers; w-- > 0;)
			read_until(&j->worker[w], '\n', text, sizeof(text));
		printf("%s\n", text);
		front_flush();
	}
}

static void
end_job(struct job *j)
{
	for (uint32_t w = 0; w < j->nworkers; w++)
		close(j->worker[w].in);
	while (wait(NULL) > 0)
		;
}

static void
list_arrays(const struct graph *g)
{
	for (uint32_t a = 0; a < g->nw; a++)
		printf("%zu%s", g->w[a].count * sizeof(float), a + 1 < g->nw ? "," : "\n");
}

int
main(int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "async", no_argument, NULL, 'a' }, { "bytes", required_argument, NULL, 'b' },
		{ "list", no_argument, NULL, 'l' }, { "net", required_argument, NULL, 'n' },
		{ "net-opt", required_argument, NULL, 'o' }, { "netns", required_argument, NULL, 'N' },
		{ "host", required_argument, NULL, 'H' },
		{ "optimizer", required_argument, NULL, 'O' }, { "plain", no_argument, NULL, 'p' },
		{ "servers", required_argument, NULL, 's' },
		{ "shape", required_argument, NULL, 'x' }, { "shm", no_argument, NULL, 'm' }, { "ucx", no_argument, NULL, 'u' },
		{ "slice", required_argument, NULL, 'i' },
		{ "workers", required_argument, NULL, 'w' }, { "help", no_argument, NULL, 'h' }, { 0 },
	};
	struct job j = { .nworkers = 1, .nservers = 1, .transport = CONN_TCP };
	struct script_opt option[SCRIPT_OPTS];
	enum opt_rule rule = OPT_SGD;
	uint32_t bytes = 4u << 20, noption = 0, x[3] = { 0 };
	const char *net = NULL;
	bool list = false;
	int c;

	front_init(argv[0], usage, help);
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		switch (c) {
		case 'a': j.slack = STALE_ASYNC; break;
		case 'b': bytes = (uint32_t)front_num("--bytes", optarg, INPUTS * sizeof(float), 1 << 30); break;
		case 'l': list = true; break;
		case 'm': j.transport = CONN_AUTO; break;
		case 'u': j.transport = CONN_UCX; break;
		case 'n': net = optarg; break;
		case 'N': j.netns = optarg; break;
		case 'H': j.host = optarg; break;
		case 'o':
			if (script_opt_take(option, &noption, optarg) < 0)
				front_wrong("--net-opt: %s", err_line());
			break;
		case 'O':
			if (!opt_find(optarg, &rule))
				front_wrong("--optimizer: there is no %s", optarg);
			break;
		case 'p': j.plain = true; break;
		case 's': j.nservers = (uint32_t)front_num("--servers", optarg, 0, WORKERS); break;
		case 'x': front_shape("--shape", optarg, &x[0], &x[1], &x[2]); break;
		case 'i': j.slice = (uint32_t)front_num("--slice", optarg, SHARD_PLAN_LEAST, SHARD_PLAN_MOST); break;
		case 'w': j.nworkers = (uint32_t)front_num("--workers", optarg, 1, WORKERS); break;
		case 'h': front_help();
		default:  front_usage();
		}
	opt_usual(rule, &j.hyper);
	if (net != NULL)
		front_must(NULL, script_run(net, x[0], x[1], x[2], 0, option, noption, &j.graph));
	else
		make_graph(&j, bytes);
	front_must(NULL, conn_key_new(j.key));
	if (list) {
		list_arrays(j.graph);
	} else {
		if (j.nservers == 0)
			open_listeners(&j);
		start_job(&j);
		run_turns(&j);
		end_job(&j);
	}
	graph_free(j.graph);
	return front_status();
}
