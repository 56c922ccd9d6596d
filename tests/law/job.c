/* job - a synchronous job of whole processes in simulated time. */
#include "law/job_in.h"
#include "law/sim/heap.h"
#include "law/sim/local.h"
#include "law/sim/net.h"

#include "ps/server/serve.h"
#include "train/cut.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGE	700u	/* outputs of the first layer */
#define OTHER_CUT "-0009-"	/* JOB_OTHER_EPOCH in a name */
#define TURNS	2000000	/* after which a job hangs */

static void
log_line(void *arg, const char *line)
{
	(void)arg;
	sim_log("%s", line);
}

static void
run_server(void *arg)
{
	struct job_process *p = arg;
	const struct world *x = &p->job->x;
	const struct serve_opt o = { .listen = p->job->server[p->index], .listen_fd = net_listener(), .nworkers = x->W,
	    .index = p->index, .nservers = x->S, .transport = p->job->shm ? CONN_AUTO : CONN_TCP, .silence_s = JOB_SILENCE_S(p->job),
	    .incarnation = rng_u64(sim_chance()), .memory = &p->memory, .stop_fd = -1, .say = log_line, .say_lost = log_line };
	struct serve_sums sums;
	char why[ERR_LINE];
	int e = serve_run(&o, &sums);

	if (e < 0) {
		snprintf(why, sizeof(why), "server %" PRIu32 ": %.200s", p->index, err_line());
		world_fault(&p->job->x, why);
	}
}

static void
check_leaks(const struct job_process *p, unsigned proc)
{
	char why[128];

	if (heap_blocks(proc) == 0 && net_count(proc) + local_count(proc) == 0)
		return;
	snprintf(why, sizeof(why), "%s %" PRIu32 " leaves %zu blocks and %u descriptors", p->server ? "server" : "worker",
	    p->index, heap_blocks(proc), net_count(proc) + local_count(proc));
	world_fault(&p->job->x, why);
}

static void
run_process(void *arg)
{
	struct job_process *p = arg;

	(p->server ? run_server : job_worker_main)(p);
	check_leaks(p, (unsigned)sim_proc());
}

static void start_process(void *arg);

static void
note_end(void *arg, bool killed)
{
	struct job_process *p = arg;

	p->proc = -1;
	sim_log("%s %" PRIu32 " %s", p->server ? "server" : "worker", p->index, killed ? "is dead" : "ends");
	if (killed) {
		sim_at(sim_now() + job_fault_outage(p->job), start_process, p);
		return;
	}
	p->over = true;
	if (p->server)
		wire_unlisten(p->host);
}

static void
start_process(void *arg)
{
	struct job_process *p = arg;
	char name[SIM_NAME];

	if (p->proc >= 0 || p->over)
		return;		/* it was started already, after the whole job was lost */
	snprintf(name, sizeof(name), "%s %" PRIu32, p->server ? "server" : "worker", p->index);
	p->proc = (int)sim_spawn(name, p->host, run_process, note_end, p);
}

/* What was at a place before this store; NULL: not known. */
static char *
find_before(const struct job_process *p, const void *to, size_t n)
{
	size_t from = (size_t)((const char *)to - (const char *)p->memory.base);

	return from < JOB_WAS * sizeof(float) && n <= JOB_WAS * sizeof(float) - from ? (char *)p->was + from : NULL;
}

/*
 * The bytes of the last store may be there or not: their order is nobody's promise.  But where a store leaves what was
 * there, both are the same.
 */
static void
stored(void *arg, void *to, size_t n)
{
	struct job_process *p = arg;
	char *was = find_before(p, to, n);

	if (++p->stores != p->dies_at) {
		if (was != NULL)
			memcpy(was, to, n);
		return;
	}
	for (size_t at = 0; n > sizeof(uint64_t) && at + sizeof(float) <= n; at += sizeof(float))
		if (rng_below(sim_chance(), 2) && (was == NULL || memcmp(was + at, (char *)to + at, sizeof(float)) != 0))
			memset((char *)to + at, 0xff, sizeof(float));
	if (was != NULL)
		memcpy(was, to, n);
	p->job->figures->fault[p->server ? JOB_SERVER_STORE : JOB_WORKER_STORE]++;
	sim_log("dies after store %" PRIu64 ", of %zu bytes", p->stores, n);
	p->dies_at = 0;
	sim_die();
}

/* A memory that its process uses, and the next one if it dies. */
static void
open_memory(struct job_process *p)
{
	p->memory = (struct memory){ .fd = -1 };
	if (p->job->shm)
		memory_make(&p->memory);
	p->memory.stored = stored;
	p->memory.arg = p;
}

static void
open_processes(struct job *j)
{
	const struct graph *g = j->x.graph;

	j->n = j->x.S + j->x.W;
	for (uint32_t i = 0; i < j->n; i++) {
		struct job_process *p = &j->process[i];

		*p = (struct job_process){ .job = j, .host = i, .server = i < j->x.S, .proc = -1 };
		p->was = world_floats(JOB_WAS);
		open_memory(p);
		wire_place(i, j->shm ? (uint32_t)rng_below(sim_chance(), 2) : i);
		p->index = p->server ? i : i - j->x.S;
		if (p->server) {
			snprintf(j->address[i], sizeof(j->address[i]), "10.0.0.%u:%u", wire_machine(i), WIRE_PORT + i);
			j->server[i] = j->address[i];
			wire_listen(i);
		} else {
			if (j->cut > 0 && rng_below(sim_chance(), 2))
				job_cut_leave(j, i);
			p->w = world_floats(g->P);
			p->aux = world_floats(g->A);
			p->exact = world_floats(g->P);
			p->state = world_floats(g->P * OPT_STATES);
			p->average = world_floats(g->P + g->A);
		}
		/* All within a second, so that some wait for others. */
		sim_at(sim_now() + rng_below(sim_chance(), SIM_S >> rng_below(sim_chance(), 16)), start_process, p);
	}
}

/* The disk of worker r. */
static DIR *
open_disk(const struct job *j, uint32_t r)
{
	char folder[DISK_PATH];
	DIR *list;

	disk_folder(j->process[j->x.S + r].host, folder);
	if ((list = opendir(folder)) == NULL)
		abort();
	return list;
}

/* The newest checkpoint or sealed cut on a disk that is left, as the step in it. */
static uint64_t
find_newest(const struct job *j)
{
	uint64_t newest = 0, epoch, step;
	char manifest[512];

	for (uint32_t r = 0; r < j->x.W && r <= j->copies; r++) {
		DIR *list = open_disk(j, r);
		const struct dirent *d;

		while ((d = readdir(list)) != NULL) {
			const char *tail = strstr(d->d_name, ".safetensors"), *at = strstr(d->d_name, "-0");
			const bool cut = strstr(d->d_name, CUT_INFIX) != NULL;

			step = 0;
			if (tail == NULL || strcmp(tail, ".safetensors") != 0)
				continue;
			at = cut ? strstr(strstr(d->d_name, CUT_INFIX) + strlen(CUT_INFIX), "-") : at;
			snprintf(manifest, sizeof(manifest), "%s.manifest", d->d_name);
			if (at == NULL || sscanf(at, "-%" SCNu64 "-%" SCNu64, &epoch, &step) < 1 ||
			    (cut && faccessat(dirfd(list), manifest, F_OK, 0) < 0) || epoch == JOB_OTHER_EPOCH)
				continue;
			step += epoch * ACTOR_EVERY;
			newest = step > newest ? step : newest;
		}
		closedir(list);
	}
	return newest;
}

void
job_lose(struct job *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct job_process *p = &j->process[i];

		if (p->proc >= 0)
			sim_kill((unsigned)p->proc);
		else if (p->over)
			sim_at(sim_now() + job_fault_outage(j), start_process, p);
		if (p->over && p->server)
			wire_listen(i);
		memory_close(&p->memory);
		open_memory(p);
		memset(p->was, 0, JOB_WAS * sizeof(float));
		p->over = p->complete = false;
		p->dies_at = 0;
	}
	j->newest = find_newest(j);
	job_set_lose(j);
	job_share_lose(j);
	for (uint32_t i = j->x.S; i < j->n; i++)
		j->process[i].pushed = j->newest;
	sim_log("all processes are lost, and go on from step %" PRIu64, j->newest);
}

static void
close_processes(struct job *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct job_process *p = &j->process[i];

		memory_close(&p->memory);
		free(p->was);
		free(p->w);
		free(p->aux);
		free(p->exact);
		free(p->state);
		free(p->average);
	}
}

static bool
is_over(const struct job *j)
{
	for (uint32_t i = 0; i < j->n; i++)
		if (!j->process[i].over)
			return false;
	return true;
}

static bool
same(const float *a, const float *b, size_t n)
{
	return memcmp(a, b, n * sizeof(float)) == 0;
}

/* Frozen arrays are in no average. */
static bool
has_average(const struct job *j, const float *got, const float *want)
{
	const struct graph *g = j->x.graph;
	bool good = true;

	for (uint32_t a = 0; a < g->nw; a++)
		if (!g->w[a].frozen)
			good &= same(got + g->w[a].first, want + g->w[a].first, g->w[a].count);
	for (uint32_t a = 0; a < g->naux; a++)
		if (!g->aux[a].frozen)
			good &= same(got + g->P + g->aux[a].first, want + g->P + g->aux[a].first, g->aux[a].count);
	return good;
}

/* Compares what a worker has with the sums by hand. */
static void
check_worker(struct job *j, const struct job_process *p, const struct hand *h)
{
	const struct graph *g = j->x.graph;
	const char *wrong = NULL;
	char why[128];

	if (!same(p->w, h->seen, g->P))
		wrong = "weights";
	else if (!same(p->aux, h->aux, g->A))
		wrong = "statistics";
	else if (!same(p->exact, h->w, g->P))
		wrong = "exact weights";
	else if (!same(p->state, h->state, g->P * opt_states(j->x.hyper.rule)))
		wrong = "optimizer state";
	else if (p->averaged > 0 && !has_average(j, p->average, h->average))
		wrong = "average";
	if (wrong == NULL)
		return;
	snprintf(why, sizeof(why), "the %s of worker %" PRIu32 " are not those of sums by hand", wrong, p->index);
	world_fault(&j->x, why);
}

/* With backup workers all workers have the weights of their last step, and in other jobs that count worker 0 does. */
static void
check_counts(struct job *j)
{
	for (uint32_t r = 0; r < (j->x.backup > 0 ? j->x.W : 1); r++) {
		const struct job_process *p = &j->process[j->x.S + r];

		if (p->complete && !world_counted(&j->x, p->exact, p->last))
			world_fault(&j->x, "a push is lost, or counts more than once");
		if (p->complete && j->x.stops == 0 && p->last != j->steps)
			world_fault(&j->x, "a worker ends at another step");
	}
}

static void
check_results(struct job *j)
{
	struct shard_plan *plan;
	struct hand h;

	if (j->x.counting) {
		check_counts(j);
		return;
	}
	if (shard_plan_new(j->x.graph, j->x.S, j->x.slice, j->x.rules, &j->x.hyper, &plan) < 0)
		abort();
	for (uint64_t step = 0; step <= j->steps; step++) {
		bool made = false;

		for (uint32_t i = j->x.S; i < j->n; i++) {
			const struct job_process *p = &j->process[i];

			if (!p->complete || p->last != step)
				continue;
			if (!made)
				hand_run(&j->x, plan, step, &h);
			made = true;
			check_worker(j, p, &h);
		}
		if (made)
			hand_free(&h);
	}
	shard_plan_free(plan);
}

/* What is on the disks at the end: nothing unfinished, and without a fault the last checkpoint and no cut. */
static void
check_disks(struct job *j)
{
	const bool met = disk_met(DISK_FULL) + disk_met(DISK_FLUSH) > 0;
	size_t unfinished = 0, cuts = 0;

	for (uint32_t r = 0; r < j->x.W; r++) {
		DIR *list = open_disk(j, r);
		const struct dirent *d;

		while ((d = readdir(list)) != NULL) {
			unfinished += strstr(d->d_name, ".tmp") != NULL;
			cuts += strstr(d->d_name, CUT_INFIX) != NULL && strstr(d->d_name, OTHER_CUT) == NULL;
		}
		closedir(list);
	}
	if (unfinished > 0)
		world_fault(&j->x, "unfinished files are left");
	if (!met && cuts > 0)
		world_fault(&j->x, "cuts are left");
	if (!met && find_newest(j) != j->process[j->x.S].last)
		world_fault(&j->x, "the last checkpoint is missing");
}

/* Each gradient counts the same, whichever workers are late. */
static void
draw_backup(struct job *j)
{
	struct rng c = rng_start(j->x.seed, 3, 4);

	if (j->x.slack != STALE_SYNC || j->x.W < 2 || j->cut > 0 || rng_below(&c, 6) > 0)
		return;
	j->x.backup = 1 + (uint32_t)rng_below(&c, j->x.W - 1);
	j->x.counting = true;
	j->x.hyper = (struct opt_hyper){ .clip_norm = rng_below(&c, 4) ? 0 : 1e9f };	/* waits for norms, and clips nothing */
	j->x.codec = NULL;
}

static void
draw_job(struct job *j, uint64_t seed)
{
	struct rng c = rng_start(seed, 3, 3);
	bool uneven;

	j->steps = JOB_STEPS;
	j->one = seed / JOB_ONE > 0 && seed / JOB_ONE <= JOB_FAULTS ? (enum job_fault)(seed / JOB_ONE - 1) : JOB_FAULTS;
	j->x = world_draw(seed);
	if (rng_below(&c, 4) == 0 && !job_fault_needs_sync(j->one)) {
		j->x.slack = rng_below(&c, 2) ? STALE_ASYNC : 1 + (uint32_t)rng_below(&c, 3);
		j->x.counting = true;
		j->x.hyper = (struct opt_hyper){ .lr = 0 };
		j->x.codec = world_codec(&c, true);
	}
	/* Memory is lent for slices of 16 KB and more. */
	j->shm = rng_below(&c, 4) == 0;
	if (j->shm && rng_below(&c, 2) == 0) {
		bool bn = j->x.graph->A > 0;

		graph_free(j->x.graph);
		j->x.graph = world_graph_of(bn, LARGE);
		j->x.codec = NULL;
		j->x.slice = JOB_LENT_LEAST;
	}
	j->streams = rng_below(&c, 2);
	uneven = j->x.slack == STALE_SYNC && !job_fault_needs_cuts(j->one) && rng_below(&c, 4) == 0;
	/* A cut has no residuals, and all workers go on from it. */
	if (j->x.slack == STALE_SYNC && !uneven && (rng_below(&c, 3) == 0 || job_fault_needs_cuts(j->one))) {
		j->x.codec = NULL;
		j->cut = 1 + rng_below(&c, 3);
		j->copies = (uint32_t)rng_below(&c, j->x.W);
		j->streams = false;
	}
	if (!uneven)
		draw_backup(j);
	if (!uneven) {
		job_local_draw(j);
		job_share_draw(j);
	}
	world_rules(&j->x);
	job_set_draw(j);
	j->x.stops = j->x.slack == STALE_SYNC && rng_below(&c, 4) == 0 && !uneven ? 100 : 0;
	for (uint32_t r = 0; r < j->x.W; r++)
		j->x.actor[r].steps = uneven ? rng_below(&c, JOB_STEPS + 1) : j->steps;
}

bool
job_run(uint64_t seed, bool trace, struct job_figures *f)
{
	struct job *j = calloc(1, sizeof(*j));
	uint64_t turns = 0, from;
	bool good;

	draw_job(j, seed);
	j->figures = f;
	sim_begin(seed, trace);
	from = sim_now();
	open_processes(j);
	job_fault_draw(j);
	disk_watch(job_fault_saver, j);
	for (; !is_over(j) && j->x.why[0] == 0; turns++) {
		job_fault_turn(j);
		job_set_turn(j);
		if (!sim_turn() || turns > TURNS)
			world_fault(&j->x, "the job does not end");
	}
	f->turns += turns;
	f->seconds += (double)(sim_now() - from) * 1e-9;
	if (j->x.why[0] == 0)
		check_results(j);
	if (j->x.why[0] == 0 && j->cut > 0)
		check_disks(j);
	if (!(good = j->x.why[0] == 0))
		printf("# seed %" PRIu64 ", %s, slack %d, %u workers, %u servers, slices of %u bytes: %s\n", seed,
		    opt_name(j->x.hyper.rule), (int)j->x.slack, j->x.W, j->x.S, j->x.slice, j->x.why);
	sim_end();
	close_processes(j);
	graph_free(j->x.graph);
	free(j);
	return good;
}
