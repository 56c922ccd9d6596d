/* worker - the learning side of a worker: gradients out, weights in. */
#include "ps/worker/worker.h"
#include "base/clk.h"
#include "base/err.h"
#include "ps/worker/device_opt.h"
#include "ps/server/server_state.h"
#include "ps/total.h"
#include "ps/worker/worker_state.h"
#include "ps/worker/worker_net.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

struct worker {
	struct worker_opt    o;
	struct worker_state *brain;
	struct worker_net   *net;	/* with servers */
	struct server_state	    *server;	/* without; ... */
	struct device_opt	    *home;	/* ... or in its place, and this step: */
	uint32_t	     n;
	float		     rate;
	bool		     marked;
	bool		     stop, last;	/* home: the next step is to be the last, and was */
	double		     waited_s;
	bool		     finishing;	/* what is pushed are statistics */
	int		     err;	/* of the server in this process; it is not called again */
};

static int
take_here(struct worker *wk, const struct msg *m)
{
	uint64_t from = trace_now(wk->o.trace);
	int e = server_state_take(wk->server, m);

	if (m->type == MSG_PUSH)
		trace_span(wk->o.trace, TRACE_STEPS, from, wk->finishing ? "mean" : "optimizer");
	return e;
}

/* To a server elsewhere, or to the one here, whose answers come before this returns. */
static void
to_server(void *arg, uint32_t server, const struct msg *m)
{
	struct worker *wk = arg;

	if (wk->net != NULL)
		worker_net_send(wk->net, server, m);
	else if (wk->err == 0)
		wk->err = take_here(wk, m);
}

static void
from_server(void *arg, uint32_t rank, const struct msg *m)
{
	struct worker *wk = arg;

	(void)rank;
	if (wk->err == 0)
		wk->err = worker_state_take(wk->brain, 0, m);
}

static int
open_here(struct worker *wk)
{
	struct server_state_opt so = { .nworkers = 1, .nservers = 1, .emit = from_server, .arg = wk };
	int e;

	if (wk->o.nworkers != 1)
		return err_fail(ERR_ARG, "%" PRIu32 " workers need a server", wk->o.nworkers);
	if ((e = server_state_new(&so, &wk->server)) < 0 || (e = worker_state_hello(wk->brain, 0)) < 0)
		return e;
	return wk->err;
}

int
worker_open(const struct worker_opt *opt, struct worker **worker)
{
	struct worker *wk = calloc(1, sizeof(*wk));
	struct worker_state_opt bo = { .nservers = opt->nservers > 0 ? opt->nservers : 1, .emit = to_server };
	int e;

	*worker = NULL;
	if (wk == NULL)
		return err_nomem();
	assert(opt->rank < opt->nworkers && (opt->nservers == 0 || (opt->server != NULL && opt->key != NULL)));
	wk->o = *opt;
	if (wk->o.patience_s <= 0)
		wk->o.patience_s = WORKER_PATIENCE;
	bo.worker = &wk->o;
	bo.arg = wk;
	if ((e = worker_state_new(&bo, &wk->brain)) == 0) {
		if (device_opt_may(opt))
			e = device_opt_new(&wk->o, &wk->home);
		else if (opt->nservers == 0)
			e = open_here(wk);
		else if ((e = worker_net_new(&wk->o, wk->brain, &wk->net)) == 0)
			e = worker_net_connect(wk->net);
	}
	if (e < 0)
		worker_close(wk);
	else
		*worker = wk;
	return e;
}

void
worker_close(struct worker *wk)
{
	if (wk == NULL)
		return;
	worker_net_free(wk->net);
	device_opt_free(wk->home);
	server_state_free(wk->server);
	worker_state_free(wk->brain);
	free(wk);
}

/* The brain is this thread's until leave(). */
static int
enter(struct worker *wk)
{
	return wk->net != NULL ? worker_net_lock(wk->net) : wk->err;
}

/* Gives e back, or what went wrong with the server in this process. */
static int
leave(struct worker *wk, int e)
{
	if (wk->net != NULL)
		worker_net_unlock(wk->net);
	return e < 0 ? e : wk->err;
}

/* What can be missing: each gives a server that is waited for, or -1. */
static int
array(struct worker *wk, uint32_t a)
{
	return worker_state_array(wk->brain, a);
}

static int
aux(struct worker *wk, uint32_t unused)
{
	(void)unused;
	return worker_state_aux(wk->brain);
}

static int
settled(struct worker *wk, uint32_t unused)
{
	(void)unused;
	return worker_state_settled(wk->brain);
}

static int
total(struct worker *wk, uint32_t unused)
{
	(void)unused;
	return worker_state_total(wk->brain, NULL, 0);
}

static int
state(struct worker *wk, uint32_t unused)
{
	(void)unused;
	return worker_state_stated(wk->brain);
}

static int
bye(struct worker *wk, uint32_t unused)
{
	(void)unused;
	return worker_state_left(wk->brain);
}

static int
await(struct worker *wk, int (*missing)(struct worker *wk, uint32_t a), uint32_t a, const char *what)
{
	uint64_t traced = trace_now(wk->o.trace);
	int e = 0, server = missing(wk, a);
	double from;

	if (server < 0)
		return 0;
	from = clk_s();
	for (; e == 0 && server >= 0; server = missing(wk, a)) {
		assert(wk->net != NULL || wk->err < 0);
		e = wk->net != NULL ? worker_net_wait(wk->net, (uint32_t)server) : wk->err;
	}
	wk->waited_s += clk_s() - from;
	trace_span(wk->o.trace, TRACE_STEPS, traced, what);
	return server < 0 ? 0 : e;
}

static int
await_all(struct worker *wk)
{
	int e = 0;

	for (uint32_t a = 0; e == 0 && a < wk->o.graph->nw; a++)
		e = await(wk, array, a, "wait for weights");
	return e == 0 ? await(wk, aux, 0, "wait for statistics") : e;
}

/* ERR_NOTSUP: the engine has no kernel for this rule, and the server's brain is to do it. */
static int
begin_home(struct worker *wk, const struct worker_first *first, uint64_t step)
{
	int e = device_opt_begin(wk->home, first, step);

	if (e != ERR_NOTSUP)
		return e;
	device_opt_free(wk->home);
	wk->home = NULL;
	return (e = open_here(wk)) < 0 ? e : ERR_NOTSUP;
}

int
worker_begin(struct worker *wk, const struct worker_first *first, uint64_t *step)
{
	int e;

	if (wk->home != NULL && (e = begin_home(wk, first, *step)) != ERR_NOTSUP)
		return e;
	if ((e = enter(wk)) < 0)
		return e;
	worker_state_begin(wk->brain, first, *step);
	if ((e = await_all(wk)) == 0)
		e = worker_state_begun(wk->brain, step);
	return leave(wk, e);
}

int
worker_step(struct worker *wk, uint32_t n, float rate)
{
	int e = enter(wk);

	if (e < 0)
		return e;
	wk->n = n;
	wk->rate = rate;
	if (wk->home == NULL)
		worker_state_step(wk->brain, n, rate);
	return leave(wk, 0);
}

void
worker_mark(struct worker *wk)
{
	wk->marked = true;
	worker_state_mark(wk->brain);
}

int
worker_push(struct worker *wk, uint32_t a, const float *g)
{
	int e = enter(wk);

	assert(wk->home == NULL);
	if (e < 0)
		return e;
	/*
	 * A step's statistics are closed by all workers before the next step's first gradients leave any.  Without this
	 * the servers could be two steps apart when a worker dies, and it can repeat but one.
	 */
	if ((e = await(wk, settled, 0, "wait for statistics")) == 0)
		worker_state_push(wk->brain, a, g);
	return leave(wk, e);
}

static int
finish_home(struct worker *wk)
{
	uint64_t from = trace_now(wk->o.trace);
	int e = device_opt_update(wk->home, wk->n, wk->rate, wk->marked);

	trace_span(wk->o.trace, TRACE_STEPS, from, "optimizer");
	wk->marked = false;
	wk->last = wk->stop;
	return e;
}

int
worker_finish(struct worker *wk, const float *stats)
{
	int e = enter(wk);

	if (wk->home != NULL)
		return finish_home(wk);
	if (e < 0)
		return e;
	wk->finishing = true;
	if ((e = await(wk, settled, 0, "wait for statistics")) == 0)
		worker_state_finish(wk->brain, stats);
	wk->finishing = false;
	return leave(wk, e);
}

int
worker_need(struct worker *wk, uint32_t a)
{
	int e = enter(wk);

	if (e < 0 || wk->home != NULL)
		return e;
	e = await(wk, array, a, "wait for weights");
	return leave(wk, e);
}

int
worker_ready(struct worker *wk)
{
	int e = enter(wk);

	if (e < 0 || wk->home != NULL)
		return e;
	e = await_all(wk);
	return leave(wk, e);
}

uint64_t
worker_steps(const struct worker *wk)
{
	return wk->home != NULL ? device_opt_steps(wk->home) : worker_state_steps(wk->brain);
}

uint64_t
worker_updates(const struct worker *wk)
{
	return wk->home != NULL ? device_opt_steps(wk->home) : worker_state_updates(wk->brain);
}

bool
worker_last(const struct worker *wk)
{
	return wk->home != NULL ? wk->last : worker_state_last(wk->brain);
}

int
worker_sum(struct worker *wk, double *v, uint32_t n)
{
	int e = enter(wk);

	/* Alone its own sum is the sum. */
	if (e < 0 || wk->home != NULL)
		return e;
	worker_state_sum(wk->brain, v, n);
	if ((e = await(wk, total, 0, "wait for sums")) == 0)
		worker_state_total(wk->brain, v, n);
	return leave(wk, e);
}

int
worker_pull_state(struct worker *wk, float *to)
{
	int e = enter(wk);

	if (wk->home != NULL)
		return device_opt_state(wk->home, to);
	if (e < 0)
		return e;
	worker_state_state(wk->brain, to);
	e = await(wk, state, 0, "wait for state");
	return leave(wk, e);
}

int
worker_average(struct worker *wk, float *to, uint32_t *n)
{
	int e = enter(wk);

	if (wk->home != NULL)
		return device_opt_average(wk->home, to, n);
	if (e < 0)
		return e;
	worker_state_average(wk->brain, to);
	if ((e = await(wk, state, 0, "wait for state")) == 0)
		*n = worker_state_averaged(wk->brain);
	return leave(wk, e);
}

int
worker_read(struct worker *wk)
{
	return wk->home != NULL ? device_opt_read(wk->home) : 0;
}

bool
worker_device_opt(const struct worker *wk)
{
	return wk->home != NULL;
}

int
worker_show(struct worker *wk, bool average)
{
	return device_opt_show(wk->home, average);
}

int
worker_stop(struct worker *wk)
{
	int e = enter(wk);

	wk->stop = true;
	if (e < 0 || wk->home != NULL)
		return e;
	worker_state_stop(wk->brain);
	return leave(wk, 0);
}

int
worker_epoch(struct worker *wk, uint64_t n)
{
	int e = enter(wk);

	if (e < 0 || wk->home != NULL)
		return e;
	worker_state_epoch(wk->brain, n);
	return leave(wk, 0);
}

int
worker_bye(struct worker *wk)
{
	int e = enter(wk);

	if (e < 0 || wk->home != NULL)
		return e;
	worker_state_bye(wk->brain);
	e = await(wk, bye, 0, "wait for goodbye");
	return leave(wk, e);
}

void
worker_traffic(const struct worker *wk, uint64_t *sent, uint64_t *got, double *waited_s)
{
	*sent = *got = 0;
	*waited_s = wk->waited_s;
	if (wk->net != NULL)
		worker_net_traffic(wk->net, sent, got);
}

void
worker_peer_traffic(const struct worker *wk, uint32_t server, struct peer_traffic *t)
{
	*t = (struct peer_traffic){ .begun = false };
	if (wk->net != NULL)
		worker_net_toll(wk->net, server, t);
}
