/* print_net - prints the layers of a net, and with a batch the memory and kernels of training. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "base/mem.h"
#include "dataset/dataset_client.h"
#include "engine/split/split.h"
#include "record/recs.h"

#include <inttypes.h>
#include <stdio.h>

static void
flush_text(struct buf *text, int e)
{
	front_must(NULL, e);
	fwrite(text->p, 1, text->n, stdout);
	buf_free(text);
}

static double
to_megabytes(uint64_t bytes)
{
	return (double)bytes * 1e-6;
}

/* Prints the memory of a run with these options, and fails where the run would. */
static void
print_memory(const struct train_opt *o, const struct engine_memory *plan)
{
	struct train_memory m;
	uint64_t others = train_memory(o, &m), program = mem_resident();
	uint64_t all = others + plan->activations + plan->weights + plan->scratch + program;

	printf("batch %u: %.1f MB: activations %.1f, scratch %.1f, on the device %.1f, weights %.1f, gradients %.1f, "
	    "optimizer %.1f, checkpoint %.1f, samples %.1f, program %.1f\n", o->data.batch, to_megabytes(all),
	    to_megabytes(plan->activations), to_megabytes(plan->scratch), to_megabytes(plan->weights),
	    to_megabytes(m.weights), to_megabytes(m.gradients), to_megabytes(m.optimizer),
	    to_megabytes(m.checkpoint), to_megabytes(m.samples), to_megabytes(program));
	if (mem_fits(others + plan->host) < 0)
		front_die(NULL, err_wrap(ERR_NOMEM, "a batch of %u", o->data.batch));
}

/* If the engine can, plans without allocating the memory. */
static void
print_plan(const struct graph *g, const struct engine *engine, const struct train_opt *o)
{
	struct engine_memory m;
	struct engine_plan *plan;
	struct engine_dev *dev;
	struct buf text = { 0 };
	int e;

	front_must(NULL, split_open(o->devices, o->threads, &engine, &dev));
	engine_tune(engine, dev, &o->tune);
	front_must(NULL, engine->plan(dev, g, o->data.batch, o->precision, &plan));
	engine->memory(plan, &m);
	print_memory(o, &m);
	if ((e = engine->describe(dev, &text)) == 0 && (e = buf_put(&text, "\n", 1)) == 0)
		e = engine->explain(plan, &text);
	flush_text(&text, e);
	engine->plan_free(plan);
	engine->close(dev);
}

/* Adds the arrays [from, to) as "a_weight", or "a_weight to c_bias". */
static int
add_array_names(const struct graph *g, uint32_t from, uint32_t to, struct buf *names)
{
	int e = buf_put_fmt(names, "%s %s", names->n > 0 ? "," : "", g->w[from].name);

	return e == 0 && to - from > 1 ? buf_put_fmt(names, " to %s", g->w[to - 1].name) : e;
}

static int
print_frozen(const struct graph *g, struct buf *out)
{
	struct buf names = { 0 };
	uint32_t arrays = 0;
	size_t weights = 0;
	int e = 0;

	for (uint32_t i = 0, from; i < g->nw && e == 0; i++) {
		for (from = i; i < g->nw && g->w[i].frozen; i++)
			weights += g->w[i].count;
		arrays += i - from;
		if (i > from)
			e = add_array_names(g, from, i, &names);
	}
	if (e == 0 && arrays > 0)
		e = buf_put_fmt(out, "frozen: %" PRIu32 " of %" PRIu32 " arrays, %zu of %zu weights:%.*s\n", arrays,
		    g->nw, weights, g->P, (int)names.n, (const char *)names.p);
	buf_free(&names);
	return e;
}

/* Records of another host are not asked. */
struct graph *
pworker_net_of_records(struct pworker *p)
{
	struct train_opt *t = &p->train;
	struct pworker_look look;

	if (t->data.path != NULL && !dataset_client_is_addr(t->data.path))
		t->data.recs = pworker_open_records(t->data.path, NULL);
	pworker_choose_sample(p, &look);
	recs_close(t->data.recs);
	t->data.recs = NULL;
	return pworker_net(p);
}

int
pworker_print(struct pworker *p)
{
	const struct engine *engine = p->batch != NULL ? engine_find(p->engine) : NULL;
	struct graph *g = pworker_net_of_records(p);
	struct buf text = { 0 };
	int e;

	if (p->batch != NULL && engine == NULL)
		front_die("--engine", ERR_ARG);
	e = graph_print(g, &text);
	flush_text(&text, e == 0 ? print_frozen(g, &text) : e);
	fflush(stdout);
	if (engine != NULL) {
		p->train.ps.graph = g;
		p->train.data.batch = pworker_largest_batch(p) * (p->balance != NULL ? BALANCE_TIMES : 1);
		print_plan(g, engine, &p->train);
	}
	front_flush();
	graph_free(g);
	return 0;
}
