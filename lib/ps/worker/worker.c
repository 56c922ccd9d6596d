/* worker - a worker's interface to the servers: gradients out, weights in. */
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
	struct worker_state *state;
	struct worker_net   *net;	/* with servers, else NULL */
	struct server_state *server;	/* the server in this process, or NULL */
	struct device_opt   *device;	/* the device optimizer, or NULL; with it n to last: */
	uint32_t	     n;		/* samples, rate and mark of the step */
	float		     rate;
	bool		     marked;
	bool		     stop, last;	/* the next step is to be the last; the last step was */
	double		     waited_s;
	bool		     finishing;	/* statistics are pushed now */
	int		     err;	/* error of the server in this process, which is not called any more */
};

static int
give_local_server(struct worker *wk, const struct msg *m)
{
	uint64_t from = trace_now(wk->o.trace);
	int e = server_state_take(wk->server, m);

	if (m->type == MSG_PUSH)
		trace_span(wk->o.trace, TRACE_STEPS, from, wk->finishing ? "mean" : "optimizer");
	return e;
}

/* Sends to a server; one in this process answers before this returns. */
static void
send_to_server(void *arg, uint32_t server, const struct msg *m)
{
	struct worker *wk = arg;

	if (wk->net != NULL)
		worker_net_send(wk->net, server, m);
	else if (wk->err == 0)
		wk->err = give_local_server(wk, m);
}

static void
receive_from_local(void *arg, uint32_t rank, const struct msg *m)
{
	struct worker *wk = arg;

	(void)rank;
	if (wk->err == 0)
		wk->err = worker_state_take(wk->state, 0, m);
}

static int
open_local_server(struct worker *wk)
{
	struct server_state_opt so = { .nworkers = 1, .nservers = 1, .once = true, .emit = receive_from_local,
	    .arg = wk };

	if (wk->o.nworkers != 1)
		return err_fail(ERR_ARG, "%" PRIu32 " workers need a server", wk->o.nworkers);
	ERR_TRY(server_state_new(&so, &wk->server));
	ERR_TRY(worker_state_hello(wk->state, 0));
	return wk->err;
}

int
worker_open(const struct worker_opt *opt, struct worker **worker)
{
	struct worker *wk = calloc(1, sizeof(*wk));
	struct worker_state_opt bo = { .nservers = opt->nservers > 0 ? opt->nservers : 1, .emit = send_to_server };
	int e;

	*worker = NULL;
	if (wk == NULL)
		return err_nomem();
	assert(opt->rank < opt->nworkers && (opt->nservers == 0 || opt->server != NULL));
	wk->o = *opt;
	if (wk->o.wait_report_s <= 0)
		wk->o.wait_report_s = WORKER_WAIT_REPORT_S;
	bo.worker = &wk->o;
	bo.arg = wk;
	if ((e = worker_state_new(&bo, &wk->state)) == 0) {
		if (device_opt_may(opt))
			e = device_opt_new(&wk->o, &wk->device);
		else if (opt->nservers == 0)
			e = open_local_server(wk);
		else if ((e = worker_net_new(&wk->o, wk->state, &wk->net)) == 0)
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
	device_opt_free(wk->device);
	server_state_free(wk->server);
	worker_state_free(wk->state);
	free(wk);
}

/* Locks the state machine for this thread until unlock_state(). */
static int
lock_state(struct worker *wk)
{
	return wk->net != NULL ? worker_net_lock(wk->net) : wk->err;
}

/* Returns e, or the error of the server in this process. */
static int
unlock_state(struct worker *wk, int e)
{
	if (wk->net != NULL)
		worker_net_unlock(wk->net);
	return e < 0 ? e : wk->err;
}

static int
wait_for(struct worker *wk, enum worker_wait what, uint32_t a)
{
	static const char *const span[] = {
		[WORKER_WAIT_ARRAY] = "wait for weights", [WORKER_WAIT_ALL] = "wait for statistics",
		[WORKER_WAIT_STEP] = "wait for weights",
		[WORKER_WAIT_STATS] = "wait for statistics", [WORKER_WAIT_SUM] = "wait for sums",
		[WORKER_WAIT_STATE] = "wait for state", [WORKER_WAIT_BYE] = "wait for goodbye",
	};
	uint64_t traced = trace_now(wk->o.trace);
	uint32_t server;
	int e = 0, missing = worker_state_missing(wk->state, what, a, &server);
	double from;

	if (missing == 0)
		return 0;
	from = clk_s();
	for (; e == 0 && missing > 0; missing = worker_state_missing(wk->state, what, a, &server)) {
		assert(wk->net != NULL || wk->err < 0);
		e = wk->net != NULL ? worker_net_wait(wk->net, server) : wk->err;
	}
	wk->waited_s += clk_s() - from;
	trace_span(wk->o.trace, TRACE_STEPS, traced, span[what]);
	return missing > 0 ? e : 0;
}

static int
wait_for_all(struct worker *wk)
{
	int e = 0;

	for (uint32_t a = 0; e == 0 && a < wk->o.graph->nw; a++)
		e = wait_for(wk, WORKER_WAIT_ARRAY, a);
	return e == 0 ? wait_for(wk, WORKER_WAIT_ALL, 0) : e;
}

/* Returns ERR_NOTSUP if the engine has no kernel for the optimizer; a server in this process then replaces it. */
static int
begin_on_device(struct worker *wk, const struct worker_first *first, uint64_t step)
{
	int e;

	if (first != NULL && first->settings != NULL)
		worker_state_know_settings(wk->state, first->settings);
	if ((e = device_opt_begin(wk->device, first, step)) != ERR_NOTSUP)
		return e;
	device_opt_free(wk->device);
	wk->device = NULL;
	return (e = open_local_server(wk)) < 0 ? e : ERR_NOTSUP;
}

int
worker_begin(struct worker *wk, const struct worker_first *first, uint64_t *step)
{
	int e;

	if (wk->device != NULL && (e = begin_on_device(wk, first, *step)) != ERR_NOTSUP)
		return e;
	ERR_TRY(lock_state(wk));
	if (wk->o.returns && worker_state_empty(wk->state))
		return unlock_state(wk, err_fail(ERR_ARG,
		    "the servers have no weights: the worker's state is another run's; remove it"));
	worker_state_begin(wk->state, first, *step);
	if ((e = wait_for_all(wk)) == 0)
		e = worker_state_begun(wk->state, step);
	return unlock_state(wk, e);
}

int
worker_deal(struct worker *wk, uint64_t at, uint64_t *batch, uint32_t *workers)
{
	int e = lock_state(wk);

	if (e < 0)
		return e;
	*batch = worker_state_deal(wk->state, at, workers);
	return unlock_state(wk, 0);
}

int
worker_catch_up(struct worker *wk, uint64_t *step, bool *renewed)
{
	int e = lock_state(wk);

	if (e < 0)
		return e;
	e = wait_for(wk, WORKER_WAIT_STEP, 0);
	*step = worker_state_catch_up(wk->state, renewed);
	return unlock_state(wk, e);
}

int
worker_step(struct worker *wk, uint32_t n, float rate)
{
	int e = lock_state(wk);

	if (e < 0)
		return e;
	wk->n = n;
	wk->rate = rate;
	/*
	 * All workers close a step's statistics before any sends gradients of the next step.  Otherwise the servers
	 * could be two steps apart when a worker dies, and it can repeat only one.
	 */
	if (wk->device == NULL && (e = wait_for(wk, WORKER_WAIT_STATS, 0)) == 0)
		worker_state_step(wk->state, n, rate);
	return unlock_state(wk, e);
}

void
worker_mark(struct worker *wk)
{
	wk->marked = true;
	worker_state_mark(wk->state);
}

int
worker_push(struct worker *wk, uint32_t a, const float *g)
{
	assert(wk->device == NULL);
	worker_state_encode(wk->state, a, g);	/* without the lock, as messages go on meanwhile */
	ERR_TRY(lock_state(wk));
	worker_state_push(wk->state, a, g);
	return unlock_state(wk, 0);
}

static int
finish_on_device(struct worker *wk)
{
	uint64_t from = trace_now(wk->o.trace);
	int e = device_opt_update(wk->device, wk->n, wk->rate, wk->marked);

	trace_span(wk->o.trace, TRACE_STEPS, from, "optimizer");
	wk->marked = false;
	wk->last = wk->stop;
	return e;
}

int
worker_finish(struct worker *wk, const float *stats)
{
	int e = lock_state(wk);

	if (wk->device != NULL)
		return finish_on_device(wk);
	if (e < 0)
		return e;
	wk->finishing = true;
	worker_state_finish(wk->state, stats);
	wk->finishing = false;
	return unlock_state(wk, 0);
}

int
worker_need(struct worker *wk, uint32_t a)
{
	int e = lock_state(wk);

	if (e < 0 || wk->device != NULL)
		return e;
	e = wait_for(wk, WORKER_WAIT_ARRAY, a);
	return unlock_state(wk, e);
}

int
worker_ready(struct worker *wk)
{
	int e = lock_state(wk);

	if (e < 0 || wk->device != NULL)
		return e;
	e = wait_for_all(wk);
	return unlock_state(wk, e);
}

uint64_t
worker_steps(const struct worker *wk)
{
	return wk->device != NULL ? device_opt_steps(wk->device) : worker_state_steps(wk->state);
}

uint64_t
worker_updates(const struct worker *wk)
{
	return wk->device != NULL ? device_opt_steps(wk->device) : worker_state_updates(wk->state);
}

int
worker_staleness(struct worker *wk, struct staleness *s)
{
	int e = lock_state(wk);

	*s = (struct staleness){ .n = 0 };
	if (e < 0 || wk->device != NULL)
		return e;
	*s = worker_state_staleness(wk->state);
	return unlock_state(wk, 0);
}

bool
worker_last(const struct worker *wk)
{
	return wk->device != NULL ? wk->last : worker_state_last(wk->state);
}

int
worker_sum(struct worker *wk, uint32_t phase, double *v, uint32_t n)
{
	int e = lock_state(wk);

	/* The sum over one worker is its own. */
	if (e < 0 || wk->device != NULL)
		return e;
	worker_state_sum(wk->state, phase, v, n);
	if ((e = wait_for(wk, WORKER_WAIT_SUM, 0)) == 0)
		worker_state_total(wk->state, v, n);
	return unlock_state(wk, e);
}

int
worker_pull_state(struct worker *wk, float *to)
{
	int e = lock_state(wk);

	if (wk->device != NULL)
		return device_opt_state(wk->device, to);
	if (e < 0)
		return e;
	worker_state_state(wk->state, to);
	e = wait_for(wk, WORKER_WAIT_STATE, 0);
	return unlock_state(wk, e);
}

int
worker_average(struct worker *wk, float *to, uint32_t *n)
{
	int e = lock_state(wk);

	if (wk->device != NULL)
		return device_opt_average(wk->device, to, n);
	if (e < 0)
		return e;
	worker_state_average(wk->state, to);
	if ((e = wait_for(wk, WORKER_WAIT_STATE, 0)) == 0)
		*n = worker_state_averaged(wk->state);
	return unlock_state(wk, e);
}

int
worker_exact(struct worker *wk, float *weights)
{
	int e = lock_state(wk);

	if (e < 0)
		return e;
	worker_state_exact(wk->state, weights);
	e = wait_for(wk, WORKER_WAIT_STATE, 0);
	return unlock_state(wk, e);
}

int
worker_read(struct worker *wk)
{
	return wk->device != NULL ? device_opt_read(wk->device) : 0;
}

bool
worker_device_opt(const struct worker *wk)
{
	return wk->device != NULL;
}

int
worker_show(struct worker *wk, bool average)
{
	return device_opt_show(wk->device, average);
}

int
worker_stop(struct worker *wk)
{
	int e = lock_state(wk);

	wk->stop = true;
	if (e < 0 || wk->device != NULL)
		return e;
	worker_state_stop(wk->state);
	return unlock_state(wk, 0);
}

int
worker_set(struct worker *wk, const struct setting *s)
{
	int e = lock_state(wk);

	if (e < 0)
		return e;
	if (wk->device != NULL)
		worker_state_decide(wk->state, s, device_opt_steps(wk->device));
	else
		worker_state_set(wk->state, s);
	return unlock_state(wk, 0);
}

int
worker_settings(struct worker *wk, struct settings *all)
{
	const struct settings *known = worker_state_settings(wk->state);
	int e = lock_state(wk);

	if (e < 0)
		return e;
	if (known->n > all->n)
		*all = *known;
	return unlock_state(wk, 0);
}

int
worker_epoch(struct worker *wk, uint64_t n)
{
	int e = lock_state(wk);

	if (e < 0 || wk->device != NULL)
		return e;
	worker_state_epoch(wk->state, n);
	return unlock_state(wk, 0);
}

void
worker_quit(struct worker *wk)
{
	if (wk->net != NULL && wk->o.kept)
		worker_net_quit(wk->net);
}

int
worker_bye(struct worker *wk)
{
	int e = lock_state(wk);

	if (e < 0 || wk->device != NULL)
		return e;
	worker_state_bye(wk->state);
	e = wait_for(wk, WORKER_WAIT_BYE, 0);
	return unlock_state(wk, e);
}

void
worker_traffic(const struct worker *wk, uint64_t *sent, uint64_t *received, double *waited_s)
{
	*sent = *received = 0;
	*waited_s = wk->waited_s;
	if (wk->net != NULL)
		worker_net_traffic(wk->net, sent, received);
}

void
worker_peer_traffic(const struct worker *wk, uint32_t server, struct peer_traffic *t)
{
	*t = (struct peer_traffic){ .begun = false };
	if (wk->net != NULL)
		worker_net_peer_traffic(wk->net, server, t);
}
