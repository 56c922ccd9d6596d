/*
 * engine - a device that runs a graph: the seam between the net and the hardware.
 *
 * Outside, all numbers are f32 in the canonical layouts of net/graph/graph.h, in host
 * memory; pictures may come as pixels, see batch/samples.h.  Inside, an engine chooses layouts, fuses layers and reuses
 * memory as it likes; it gets the whole graph for that.  Every engine runs every layer, or
 * says so when the plan is made, never in a step.  `ref` is slow, obvious, and
 * judges the others.
 *
 * Arrays that are frozen (net/freeze.h; marked before the plan is made) are read
 * as any other, but no gradient of theirs is born, none is computed for layers
 * before which nothing learns, and what g and stats hold of them is left over.
 * A batch norm of which all is frozen takes the running statistics in forward()
 * too: a plan of such a net needs load_aux() before it.
 *
 * Weights go in and gradients come out array by array (index a into graph.w),
 * so that a layer may compute while the arrays of others are on the wire.
 *
 * Nothing is allocated inside a step once a batch of that size was seen; an
 * engine may forget all but the full batch and the last few other sizes.
 * Ownership: what the caller passes stays the caller's and is not read after
 * the call.  Threads: a plan is for one thread at a time; the hooks are called
 * on that thread.  A given thread count gives the same bits on every run.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/buf.h"
#include "batch/samples.h"
#include "net/graph/graph.h"
#include "net/optim/opt.h"

#define ENGINE_TOP 5u
#define ENGINE_BUS 24	/* bytes of a PCI bus address, its zero counted */
#define ENGINE_KEY 512	/* bytes of the name of something that has several kernels, its zero counted, */
#define ENGINE_CHOICE 256	/* and of the name of one of them */

struct engine_dev;	/* an open device; each engine has its own */
struct engine_plan;	/* a graph made ready on a device */

/*
 * What convolutions and fully connected layers multiply: their input, weights and the gradient of their output are
 * rounded to it, to nearest, ties to even.  Of 16 bits, so is all that layers hand on, both ways, but for the scores
 * that the loss reads.  Sums, statistics and the gradients of arrays are f32, and so is all that passes the seam.
 */
enum engine_precision {
	ENGINE_F32,
	ENGINE_TF32,	/* 10 bits behind the point */
	ENGINE_BF16,
	ENGINE_F16	/* gradients scaled on their way */
};

struct engine_hook {
	void *arg;
	/* A layer is about to read learned array a: load() it now, or leave it as it was.  NULL: nothing to do. */
	int (*need)(void *arg, uint32_t a);
	/*
	 * The gradient of learned array a is final in g: once an array that is not frozen and
	 * backward, roughly last layer first.
	 */
	int (*born)(void *arg, uint32_t a);
	/*
	 * Of forward(), to find where numbers end: node's output is there, and so are the statistics that it was made
	 * by; finite: all of them are numbers.  Costs a pass over each output.  Of several devices each says so of its
	 * part, one at a time.  An engine that cannot look never calls it.
	 */
	int (*made)(void *arg, uint32_t node, bool finite);
	/*
	 * Of backward() on joined devices, see join(): as many plans as devices go backward at the same time, each with
	 * this set.  g of the first gets the sum, those of the others may be anything; stats are each plan's own.
	 */
	bool joined;
};

/*
 * What chance hangs on.  A mask of dropout is a function of (seed, step, number
 * of the sample, layer, element): a step's samples are numbered over all
 * workers, piece behind piece, so that who computes a sample changes nothing.
 */
struct engine_draw {
	uint64_t seed, step;
	uint64_t first;		/* number within the step of the batch's first sample */
};

/* Who hears what a device did when. */
struct engine_watch {
	void *arg;
	/*
	 * On a row of the device, "gpu:0 down": from..to of clk_ns(). On the thread of a pass; of
	 * several devices on theirs.
	 */
	void (*span)(void *arg, const char *row, const char *name, uint64_t from, uint64_t to);
};

/* Bytes that a plan holds, beside the caller's own arrays of weights and gradients. */
struct engine_memory {
	size_t activations;	/* outputs and their gradients, the batch counted */
	size_t weights;		/* as the device wants them, with statistics */
	size_t scratch;		/* the moment's */
	/* Of them the host's memory, which is there for all or is not; 0 of a device that has its own. */
	size_t host;
};

/* Sums over the n samples of a batch. */
struct engine_result {
	double	 loss;		/* of the loss layer in forward(), of -log p[y] in evaluate() */
	uint32_t correct;	/* argmax p == y, of a mixture its heavier class; of equal p the lowest class counts */
	uint32_t top5;		/* y is among the ENGINE_TOP most probable, likewise */
};

/* Learned arrays that stand together, none of them frozen, and how they learn. */
struct engine_range {
	size_t	 first, count;	/* of w */
	float	 lr, wd;	/* multipliers of the rate and of the decay */
	uint32_t rows;		/* of one array of two dimensions or more: its first; else 0 */
};

struct engine_fold {
	size_t	 first, count;	/* of aux, not frozen */
	float	 momentum;
};

/* The optimizer where the weights are: rules, numbers and their order as in net/optim/opt.h and net/optim/average.h. */
struct engine_learn {
	struct opt_hyper hyper;		/* lr and t are not read: they come with each update */
	const struct engine_range *range;
	uint32_t nrange;
	const struct engine_fold *fold;
	uint32_t nfold;
	const float *state;		/* [P, opt_states()] to begin with */
	const float *average;		/* [P + A] likewise, of `averaged` weights; NULL: there is none */
	uint32_t averaged;
	bool	 pieces;		/* the gradients of several backward() are added before an update */
};

/*
 * Which kernels may be taken, and how one of several is found.  Without all this it is the library's estimate, of those
 * whose sums have one order.
 */
struct engine_tune {
	bool	 deterministic;	/* never one whose sums take an order that changes from run to run */
	/* the fastest of a few, by a race when a plan is made; those with any order take part if they may */
	bool	 measure;
	/*
	 * Of a race that was run before: find gives false, or true with the winner's name; keep hears of a new one.
	 * Names are texts of choice.h.  Either may be NULL; plans of several devices call them from threads of theirs.
	 */
	void	*arg;
	bool	 (*find)(void *arg, const char *key, char choice[ENGINE_CHOICE]);
	void	 (*keep)(void *arg, const char *key, const char *choice);
};

struct engine {
	const char *name;	/* as in --engine */

	/*
	 * index: which of several devices; a processor is whole whatever it is.  threads 0: OMP_NUM_THREADS, else the
	 * processors of this process.  Returns 0, ERR_NOTSUP, ERR_NOMEM.
	 */
	int  (*open)(uint32_t index, unsigned threads, struct engine_dev **dev);
	void (*close)(struct engine_dev *dev);		/* NULL is fine */
	/*
	 * Where a device sits: its number and its address on the PCI bus, "0000:3b:00.0".  NULL: this engine's devices
	 * are the processor.  Returns 0 or ERR_SYS.
	 */
	int  (*place)(const struct engine_dev *dev, uint32_t *number, char bus[ENGINE_BUS]);
	/* One line for people and logs: library, version, instruction set, threads. */
	int  (*describe)(const struct engine_dev *dev, struct buf *out);

	/*
	 * For the plans made from now on; *how is copied, what it points to is lent until close().  NULL: this engine
	 * has one kernel for each thing, and the same bits on every run.
	 */
	void (*tune)(struct engine_dev *dev, const struct engine_tune *how);

	/*
	 * Makes graph ready for batches of 1..batch samples, for training and evaluation.  The graph is lent until
	 * plan_free.  Returns 0, ERR_NOTSUP (naming the layer, or the precision that the device has not), ERR_NOMEM or
	 * ERR_LIMIT.
	 */
	int  (*plan)(struct engine_dev *dev, const struct graph *graph, uint32_t batch,
		 enum engine_precision precision, struct engine_plan **plan);
	/*
	 * plan() in two halves: sketch() finds the kernels and how much memory there will be, so that explain(),
	 * memory() and plan_free() can be called; take() takes the memory, and makes it a plan.  NULL: this engine
	 * knows what it takes when it has it.  Return as plan().
	 */
	int  (*sketch)(struct engine_dev *dev, const struct graph *graph, uint32_t batch,
		 enum engine_precision precision, struct engine_plan **plan);
	int  (*take)(struct engine_plan *plan);
	void (*plan_free)(struct engine_plan *plan);	/* NULL is fine */
	/* What was chosen for each layer, a line each: layer, direction, kernel.  For --print and for tests. */
	int  (*explain)(const struct engine_plan *plan, struct buf *out);

	void (*memory)(const struct engine_plan *plan, struct engine_memory *m);

	/*
	 * From now on, between steps; *how is copied.  With NULL, and by plan_free(), what is not told yet is, and
	 * nothing more.  Returns 0, ERR_SYS or ERR_NOMEM.  NULL: this engine's device is the thread that calls.
	 */
	int  (*watch)(struct engine_plan *plan, const struct engine_watch *how);

	/* Takes learned array a, w [graph.w[a].count]. */
	int  (*load)(struct engine_plan *plan, uint32_t a, const float *w);
	/* Takes the running statistics, aux [A]; evaluate() reads them. */
	int  (*load_aux)(struct engine_plan *plan, const float *aux);

	/*
	 * Training pass over 1..batch samples of the graph's shape, batch norm by this batch's statistics.  A mixture's
	 * loss is that of both classes by their shares.  draw NULL counts as zeros.
	 * Returns 0, ERR_FORMAT (a class that the graph has not), another ERR_* or what a hook returned.
	 */
	int  (*forward)(struct engine_plan *plan, const struct samples *s, const struct engine_draw *draw,
		 const struct engine_hook *hook, struct engine_result *result);
	/*
	 * The gradients of the batch forward() saw last, summed over its samples: g f32 [P] is overwritten array by
	 * array; stats f32 [A] gets the batch's mean and biased variance of each batch norm, laid out as aux.
	 */
	int  (*backward)(struct engine_plan *plan, float *g, float *stats, const struct engine_hook *hook);
	/*
	 * The batch of the next forward(), told between forward() and backward(): what of it can go to the device
	 * beside what that computes does so, in backward().  s is copied; what it points to stays as it is until that
	 * forward(), or until ahead() with NULL: what was told counts no more.  NULL: this engine computes where the
	 * batches are.
	 */
	void (*ahead)(struct engine_plan *plan, const struct samples *s);
	/*
	 * Those statistics alone, between forward() and backward() or instead of it. Returns 0, or
	 * what backward() returns.
	 */
	int  (*statistics)(struct engine_plan *plan, float *stats);
	/*
	 * Inference pass with the running statistics, without dropout, mixtures counted as their class y; prob f32
	 * [n, classes] gets the softmax unless NULL.
	 */
	int  (*evaluate)(struct engine_plan *plan, const struct samples *s, struct engine_result *result, float *prob);

	/*
	 * For who has all gradients here and no server: weights, statistics and the optimizer's state stay in the plan.
	 *  All four are NULL where an engine has nothing of the kind.
	 *
	 * learn: from now on backward() may be called with g NULL, stats and hook too: gradients and statistics stay,
	 * and are added to those since the last update.  The arrays and aux were loaded before.  Returns 0, ERR_NOTSUP
	 * (this rule is not for this device: nothing has changed) or ERR_NOMEM.
	 */
	int  (*learn)(struct engine_plan *plan, const struct engine_learn *how);
	/*
	 * Update t, from 1, by what n samples left, at the rate given; mark: its weights go into an average of marked
	 * ones. Nobody waits for it.  A gradient that is no number changes nothing from then on: the next forward(),
	 * evaluate() or fetch() returns ERR_FORMAT, and the line names the array.
	 */
	int  (*advance)(struct engine_plan *plan, uint64_t n, float rate, uint64_t t, bool mark);
	/* average: until the call without it evaluate() computes with the average, and nothing else may be called. */
	int  (*show)(struct engine_plan *plan, bool average);
	/*
	 * w [P], aux [A], state [P, opt_states()], average [P + A] and of how many weights that is;
	 * each may be NULL.
	 */
	int  (*fetch)(struct engine_plan *plan, float *w, float *aux, float *state, float *average, uint32_t *averaged);

	/* One optimizer step of a range on this device's threads, as opt_step(). */
	int  (*update)(struct engine_dev *dev, float *w, float *state, const float *g, size_t count, double n,
		 const struct opt_hyper *hyper);

	/*
	 * The device takes pictures u8 [bytes], for samples that name parts of them: samples.held.  Those it held
	 * before are gone.  Returns 0, or ERR_NOMEM with what they take and what is free.  NULL: this engine computes
	 * where they are.
	 */
	int  (*hold)(struct engine_dev *dev, const uint8_t *pixels, size_t bytes);

	/*
	 * From now on the devices dev [n], opened one by one, can add up gradients among themselves; closing one ends
	 * that.  Returns 0, or ERR_* with the reason why they cannot.  NULL: devices of this engine never can.
	 */
	int  (*join)(struct engine_dev *const *dev, uint32_t n);
};

/*
 * "f32", "tf32", "bf16", "f16"; find takes "float32", "bfloat16" and "float16" too, and gives false
 * where there is none.
 */
const char *engine_precision_name(enum engine_precision p);
bool	 engine_precision_find(const char *name, enum engine_precision *p);

/* As tune(), of any engine. */
void	 engine_tune(const struct engine *e, struct engine_dev *dev, const struct engine_tune *how);

/*
 * plan() of any engine, refused before memory is taken when what it takes and `beside` bytes of the caller's are
 * together more than this process can have: ERR_NOMEM, with both numbers.
 */
int	 engine_plan_beside(const struct engine *e, struct engine_dev *dev, const struct graph *graph, uint32_t batch,
	enum engine_precision precision, uint64_t beside, struct engine_plan **plan);

/* The engines built in, best first, NULL behind the last. */
extern const struct engine *const engine_list[];

/* By name, gpu being cuda; NULL name: the first that opens.  Returns NULL with a line noted. */
const struct engine *engine_find(const char *name);

#endif
