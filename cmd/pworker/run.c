/* run - training: opens the data, runs the steps, logs the events, and ends in order after a signal. */
#include "pworker/pworker.h"
#include "front.h"
#include "front_wait.h"
#include "pserver_thread.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/threads.h"
#include "ps/mailbox.h"
#include "ps/shard_plan.h"
#include "record/recs.h"
#include "record/recs_stream.h"
#include "run/job.h"
#include "run/rendezvous/rendezvous.h"
#include "train/kept.h"
#include "wire/conn.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ONCE_S 0.5	/* signals within this time are one: timeout(1) signals a process and its group */

#define LEAVE	(-2)	/* stop this worker of an elastic job, which goes on */
#define NO_SIGNAL (-1)	/* stop without a signal: rows of the log cannot be written, or --lr-find has found */

static volatile sig_atomic_t stop;
static double stop_s;	/* time of the first signal */
static struct worker *connected;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects connected */

static void
set_connected(struct worker *wk)
{
	pthread_mutex_lock(&lock);
	connected = wk;
	pthread_mutex_unlock(&lock);
}

/*
 * The second request ends the process at once.  It runs in a thread that does nothing else, so that it may take locks.
 */
static void
on_signal(int sig)
{
	double now = clk_s();

	if (stop <= 0) {
		stop_s = now;
	} else if (now - stop_s > ONCE_S) {
		pthread_mutex_lock(&lock);
		if (connected != NULL)
			worker_quit(connected);
		_exit(128 + sig);
	}
	stop = sig;
}

static const int sig[] = { SIGINT, SIGTERM, SIGHUP };

#define SIGNALS (sizeof(sig) / sizeof(sig[0]))

static void *
wait_for_signals(void *arg)
{
	pthread_sigmask(SIG_UNBLOCK, arg, NULL);
	for (;;)
		pause();
	return NULL;
}

static void
on_leave(int signo)
{
	(void)signo;
	if (stop == 0)
		stop = LEAVE;
}

/* Worker 0 evaluates and saves, and cannot leave. */
static bool
may_leave(const struct train_opt *t)
{
	return t->ps.elastic > 0 && t->ps.rank > 0;
}

/*
 * Directs signals to a thread that computes nothing.  Some kernels of oneDNN (jit_avx512_common_gemm_f32) use the stack
 * pointer for data in the heap, and a signal's frame would overwrite them.
 */
static void
start_signal_thread(bool leaves)
{
	static sigset_t set;
	pthread_t thread;
	int e;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&set, sig[i]);
	if (leaves) {
		signal(SIGUSR1, on_leave);
		sigaddset(&set, SIGUSR1);
	}
	pthread_sigmask(SIG_BLOCK, &set, NULL);	/* later threads inherit it */
	if ((e = pthread_create(&thread, NULL, wait_for_signals, &set)) != 0)
		front_die(NULL, threads_fail(e, "signals"));
	pthread_detach(thread);
}

static void
catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;

	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < SIGNALS; i++)	/* none comes while the lock is held */
		sigaddset(&sa.sa_mask, sig[i]);
	for (size_t i = 0; i < SIGNALS; i++)	/* a signal that the caller ignores stays ignored */
		if (sigaction(sig[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(sig[i], &sa, NULL);
}

/*
 * Before training starts there is nothing to save, and a signal ends the process as usual.  A pipe may leave a single
 * worker waiting for its first step, too.  A run whose log nobody can read ends as after a signal.
 */
static void
on_event(void *arg, const struct train_event *ev)
{
	static bool caught;
	const struct pworker_log *l = arg;
	bool waits = l->train->data.recs == NULL && l->train->ps.nservers == 0;

	if (!caught && ev->kind == (waits ? TRAIN_STEP : TRAIN_START)) {
		front_set_failure(0);
		catch_signals();
		caught = true;
	}
	front_wait_end();
	pworker_log_event(arg, ev);
	if ((l->lost || l->found) && stop == 0)
		stop = NO_SIGNAL;
}

static void
open_records(struct pworker *p)
{
	struct train_opt *t = &p->train;
	const uint8_t *key = p->data_key != NULL ? front_read_key(p->data_key) : t->ps.key;

	t->data.recs = pworker_open_records(t->data.path, key);
	if (t->data.recs == NULL && t->epochs > 1 && pworker_given(p, "epochs") == PWORKER_GIVEN)
		front_say("--epochs %" PRIu64 ": a pipe is read once, so there is one epoch", t->epochs);
	if (t->val != NULL)
		t->val_recs = pworker_open_records(t->val, key);
	if (t->val != NULL && t->val_recs == NULL)
		front_wrong("--val: %s is a pipe, which cannot be read after each epoch", t->val);
}

/* Each of several workers has its own file. */
static void
open_trace(const struct pworker *p, struct train_opt *t)
{
	char path[4096], rank[16] = "";

	if (t->ps.nworkers > 1)
		snprintf(rank, sizeof(rank), ".%u", t->ps.rank);
	if (snprintf(path, sizeof(path), "%s%s", p->trace, rank) >= (int)sizeof(path))
		front_wrong("--trace: the path is longer than %zu bytes", sizeof(path) - 1);
	front_must("--trace", trace_open(path, t->ps.rank, p->trace_first, p->trace_steps, &t->ps.trace));
}

/* Whether this worker joins an elastic job, which trains without it. */
static bool
is_joining(const struct train_opt *t)
{
	return t->ps.elastic > 0 && t->ps.rank >= t->ps.elastic;
}

static int
run_training(struct pworker *p, double began_s)
{
	struct train_opt *t = &p->train;
	struct pworker_log l = { .began = began_s, .rank = t->ps.rank, .nworkers = t->ps.nworkers,
	    .sync = t->ps.slack == STALE_SYNC, .net = p->net, .engine = t->engine->name, .frequent = p->frequent,
	    .style = p->style, .finds = p->lr_find, .epochs = t->epochs, .steps = t->steps };
	struct buf options = { 0 };
	uint64_t step;
	int e = 0, closed;

	for (uint32_t i = 0; i < p->noption && e == 0; i++)
		e = buf_put_fmt(&options, "%s%s=%s", i > 0 ? "," : "", p->option[i].key, p->option[i].value);
	if (e < 0 || (e = buf_terminate(&options)) < 0)
		front_die(NULL, e);
	l.net_options = (char *)options.p;
	l.command = (char *)p->command.p;
	l.train = t;
	pworker_log_open(&l, p->log, t->resume != NULL || p->resume_last || kept_began(t->kept, &step) ||
	    is_joining(t));
	pserver_thread_set_rows(l.rows);
	start_signal_thread(may_leave(t));
	gethostname(l.host, sizeof(l.host) - 1);
	signal(SIGPIPE, SIG_IGN);
	front_must(NULL, io_random(&t->ps.incarnation, sizeof(t->ps.incarnation)));
	t->stop = &stop;
	t->connected = set_connected;
	t->event = on_event;
	t->arg = &l;
	if (p->trace != NULL)
		open_trace(p, t);
	if (p->plain && t->ps.nservers > 0)
		front_say("--plain: nothing is encrypted, and anybody may take part");
	if (t->resume != NULL || t->start != NULL)
		front_wait_read(t->resume != NULL ? t->resume : t->start);
	e = train_run(t);
	front_wait_end();
	if (p->lr_find && stop <= 0 && (e == 0 || e == ERR_STOP))
		pworker_log_rates(&l);
	else if (e == ERR_STOP && stop == LEAVE)
		front_say("leaves the job");
	else if (e == ERR_STOP)
		pworker_log_stopped(&l);
	closed = e == 0 || e == ERR_STOP ? pserver_thread_wait() : 0;
	pserver_thread_set_rows(NULL);
	pworker_log_close(&l);
	if (closed < 0)
		front_die(NULL, closed);
	buf_free(&options);
	if (e < 0 && e != ERR_STOP)
		front_die(NULL, e);
	if ((closed = trace_close(t->ps.trace)) < 0)
		front_warn("--trace", closed);
	return e;
}

/* Whether a successor would find what it needs in the memory, which has its size. */
static bool
is_state_kept(struct memory *m)
{
	if (!m->limited)
		return true;
	front_say("no memory that outlives this process, because of the limit of file sizes (ulimit -f): if it is "
	    "killed, the job ends");
	memory_close(m);
	return false;
}

/*
 * Opens what outlives this process.  Returns false if no successor could do the same again, as a pipe cannot be read
 * twice.  The memory says so then, and dlaunch starts none.
 */
static bool
open_state(const struct pworker *p, struct memory *m)
{
	int e;

	if (p->state == NULL)
		return false;
	if (recs_stream_is(p->train.data.path)) {
		memory_decline(p->state);
		return false;
	}
	front_must(NULL, memory_open(p->state, m));
	/* How much codecs and local steps need is known with the net. */
	if (worker_residuals_size(p->train.ps.mults, 1) == 0 && !p->train.local && (e = kept_reserve(m, 0)) < 0)
		front_die(p->state, e);
	return m->base == NULL || is_state_kept(m);
}

/* One number for what must not change when a worker is started again. */
static uint64_t
hash_run(const struct train_opt *t)
{
	const uint64_t of[] = { graph_hash(t->ps.graph), t->ps.rank, t->ps.nworkers, t->ps.nservers, t->seed, t->epochs,
	    t->steps, t->updates, t->data.batch, t->accumulate, t->local };

	return hash_update(HASH_START, of, sizeof(of));
}

/* dlaunch and users change settings by these variables (ps/settings.h, ps/mailbox.h). */
static void
open_settings(struct train_opt *t)
{
	static struct settings first;
	static struct mailbox box;
	const char *fd = getenv("TALLY_MAILBOX");

	if (settings_parse(getenv("TALLY_SET"), &first) < 0)
		front_wrong("TALLY_SET: %s", err_line());
	t->ps.settings = &first;
	if (fd == NULL || t->ps.rank > 0)
		return;
	front_must("TALLY_MAILBOX", mailbox_open((int)front_num("TALLY_MAILBOX", fd, 3, INT_MAX), &box));
	t->mailbox = &box;
}

/* state: file of what outlives the shard, or NULL. */
static void
start_shard(const struct pworker *p, const char *state)
{
	const struct worker_opt *ps = &p->train.ps;

	front_must("--shard", pserver_thread_start(&(struct serve_opt){ .listen = ps->server[ps->rank],
	    .listen_fd = p->shard_fd, .nworkers = ps->nworkers, .index = ps->rank, .nservers = ps->nservers,
	    .key = ps->key, .transport = ps->transport, .silence_s = ps->silence_s }, state));
}

/* Refuses options that the number of workers forbids, which a tracker may have decided. */
static void
check_workers(const struct pworker *p)
{
	const struct train_opt *t = &p->train;

	if (t->cut_copies > 0 && t->ps.elastic > 0)
		front_wrong("--cut-copies: the number of workers changes");
	if (t->cut_copies >= t->ps.nworkers)
		front_wrong("--cut-copies: %u: the job has %u worker%s", t->cut_copies, t->ps.nworkers,
		    t->ps.nworkers > 1 ? "s" : "");
	if (p->lr_find && t->ps.nworkers > 1)
		front_wrong("--lr-find: runs in one worker, not in %u", t->ps.nworkers);
}

/* Finds what a predecessor left in the memory.  Returns false if nothing can be kept there. */
static bool
open_kept(const struct pworker *p, struct memory *m, struct kept *kept)
{
	const struct train_opt *t = &p->train;

	front_must(p->state, kept_open(kept, m, hash_run(t),
	    worker_residuals_size(t->ps.mults, t->ps.graph->P) + train_local_size(t)));
	if (is_state_kept(m))
		return true;
	*kept = (struct kept){ 0 };
	return false;
}

int
pworker_run(struct pworker *p, double began_s)
{
	struct train_opt *t = &p->train;
	struct memory memory = { .fd = -1 };
	struct kept kept = { 0 };
	bool keeps = open_state(p, &memory);
	struct rendezvous *others = pworker_join_rendezvous(p);
	/* Without a successor of the worker its shard needs no state. */
	const char *shard_state = p->state == NULL || keeps ? p->shard_state : NULL;
	struct pworker_look look;
	struct graph *g;
	float *mean, *weights;
	int e;

	/* Until it trains its end is not that of the job. */
	if (is_joining(t))
		front_set_failure(JOB_UNJOINED);
	if ((t->engine = engine_find(p->engine)) == NULL)
		front_die("--engine", ERR_ARG);
	/* Before the data are opened, which may take longer than others try to connect. */
	if (p->shard)
		start_shard(p, shard_state);
	check_workers(p);
	open_records(p);
	pworker_take_label(p, t->resume);	/* the file of --resume; that of --resume-last is found later */
	pworker_choose_sample(p, &look);
	t->ps.graph = g = pworker_net(p);
	pworker_divide_rules(p);
	keeps = keeps && open_kept(p, &memory, &kept);
	t->kept = keeps ? &kept : NULL;
	pworker_find_last(p);
	pworker_take_label(p, t->resume);
	t->data.aug.mean = mean = pworker_open_preprocess(p, t->resume != NULL ? t->resume : t->start, g, &look);
	pworker_open_classes(p, t->resume != NULL ? t->resume : t->start, g);
	pworker_check_data(p, g, &look);
	pworker_open_class_weights(p, g, &weights);
	t->data.class_weight = weights;
	open_settings(t);
	e = run_training(p, kept_since(&kept, began_s));
	recs_close(t->data.recs);
	recs_close(t->val_recs);
	free(mean);
	free(weights);
	rendezvous_leave(others);
	graph_free(g);
	/* Last: without its memory a process that is killed and started again could not tell that the run is over. */
	if (keeps)
		memory_remove(&memory, p->state);
	return e == ERR_STOP && stop > 0 ? 128 + stop : front_status();
}
