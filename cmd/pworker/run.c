/* run - training: opens what the command line names, runs the steps, logs what happens, ends by a signal in order. */
#include "pworker/pworker.h"
#include "pworker/log.h"
#include "pworker/open_data.h"
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "run/rendezvous/rendezvous.h"
#include "wire/conn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ONCE_S 0.5	/* timeout(1) and launchers send a signal to a process and to its group: that is one */

static volatile sig_atomic_t stop;
static double asked_s;

static void
on_signal(int sig)
{
	double now = clk_s();

	if (stop == 0)
		asked_s = now;
	else if (now - asked_s > ONCE_S)
		_exit(128 + sig);	/* asked twice: at once */
	stop = sig;
}

static const int sig[] = { SIGINT, SIGTERM };

static void *
take_signals(void *arg)
{
	pthread_sigmask(SIG_UNBLOCK, arg, NULL);
	for (;;)
		pause();
	return NULL;
}

/*
 * Signals go to a thread that computes nothing.  oneDNN's products of matrices keep a pointer into the heap where the
 * stack's belongs (jit_avx512_common_gemm_f32 and its like), and there a signal that came meanwhile would leave its
 * frame.
 */
static void
part_signals(void)
{
	static sigset_t set;
	pthread_t thread;
	int e;

	sigemptyset(&set);
	for (int i = 0; i < 2; i++)
		sigaddset(&set, sig[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);	/* threads to come have it from this one */
	if ((e = pthread_create(&thread, NULL, take_signals, &set)) != 0) {
		err_note(e, "a thread for signals");
		front_die(NULL, ERR_SYS);
	}
	pthread_detach(thread);
}

static void
catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;

	sigemptyset(&sa.sa_mask);
	for (int i = 0; i < 2; i++)	/* what the caller has us ignore stays ignored */
		if (sigaction(sig[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(sig[i], &sa, NULL);
}

/* Before the training begins there is nothing to keep, and a signal ends the process as it always does. */
static void
on_event(void *arg, const struct train_event *ev)
{
	if (ev->kind == TRAIN_START)
		catch_signals();
	worker_log_event(arg, ev);
}

/* key: the job's.  The mean image is the caller's to free. */
static float *
open_data(struct pworker *p, const uint8_t *key)
{
	struct train_opt *t = &p->train;
	uint8_t own[CONN_KEY];
	int e;

	if (p->data_key != NULL && (e = conn_key_read(p->data_key, own)) < 0)
		front_die(p->data_key, e);
	key = p->data_key != NULL ? own : p->key != NULL ? key : NULL;
	t->data.recs = worker_open_records(t->data.path, key);
	if (t->val != NULL)
		t->val_recs = worker_open_records(t->val, key);
	if (t->val != NULL && t->val_recs == NULL)
		front_wrong("--val: %s is a pipe, and records to validate on are read again and again", t->val);
	return p->mean != NULL ? worker_open_mean(p->mean, t, t->ps.graph) : NULL;
}

/* In a job of several workers each has its own file. */
static void
open_trace(const struct pworker *p, struct train_opt *t)
{
	char path[4096], rank[16] = "";
	int e;

	if (t->ps.nworkers > 1)
		snprintf(rank, sizeof(rank), ".%u", t->ps.rank);
	if (snprintf(path, sizeof(path), "%s%s", p->trace, rank) >= (int)sizeof(path))
		front_wrong("--trace: the name is longer than %zu bytes", sizeof(path) - 1);
	if ((e = trace_open(&t->ps.trace, path, t->ps.rank, p->trace_first, p->trace_steps)) < 0)
		front_die("--trace", e);
}

static int
run_training(struct pworker *p, double began_s)
{
	struct train_opt *t = &p->train;
	struct worker_log l = { .began = began_s, .rank = t->ps.rank, .nworkers = t->ps.nworkers,
	    .sync = t->ps.slack == STALE_SYNC, .net = p->net, .engine = t->engine->name, .frequent = p->frequent,
	    .style = p->style,
	    .epochs = t->epochs, .steps = t->steps };
	int e, closed;

	part_signals();
	gethostname(l.host, sizeof(l.host) - 1);
	signal(SIGPIPE, SIG_IGN);
	if ((e = io_random(&t->ps.incarnation, sizeof(t->ps.incarnation))) < 0)
		front_die(NULL, e);
	t->stop = &stop;
	t->event = on_event;
	t->arg = &l;
	if (p->trace != NULL)
		open_trace(p, t);
	e = train_run(t);
	worker_log_close(&l);
	if (e < 0 && e != ERR_STOP)
		front_die(NULL, e);
	if ((closed = trace_close(t->ps.trace)) < 0)
		front_warn("--trace", closed);
	return e;
}

int
worker_run(struct pworker *p, double began_s)
{
	struct train_opt *t = &p->train;
	uint8_t key[CONN_KEY];
	struct rendezvous *others = worker_meet(p, key);
	struct graph *g = worker_net(p);
	float *mean;
	int e;

	t->ps.graph = g;
	t->ps.key = key;
	if ((t->engine = engine_find(p->engine)) == NULL)
		front_die("--engine", ERR_ARG);
	t->data.aug.mean = mean = open_data(p, key);
	worker_find_last(p);
	e = run_training(p, began_s);
	recs_close(t->data.recs);
	recs_close(t->val_recs);
	free(mean);
	rendezvous_leave(others);
	graph_free(g);
	return e == ERR_STOP ? 128 + stop : front_status();
}
