/*
 * engine - the interface between a net and the hardware that computes it.
 *
 * This header introduces lib/engine.  struct engine is a table of functions; cpu/, ref/, cuda/ and split/ implement it.
 * `ref` is slow and simple, and the tests compare the others with it.  drop.h has dropout's random numbers, score.h the
 * top classes of an image, memplan.h the placement of buffers, share.h what a thread takes of a loop, autotune_cache.h
 * the kernels that won a race.
 *
 * The caller passes f32 numbers in the canonical layouts of net/graph/graph.h, in host memory.  Images may also be u8
 * pixels, see batch/samples.h.  An engine sees the whole graph; it chooses its own layouts, fuses layers and reuses
 * memory.  An engine that cannot run a layer refuses the graph in plan(), never in a step.
 *
 * Frozen arrays (net/freeze.h; the caller marks them before plan()) are read like the others.  They get no gradient,
 * and layers below the first learned one run no backward pass.  The frozen parts of g and stats are undefined after
 * backward().  A batch norm whose arrays are all frozen uses the running statistics in forward() too, so the plan of
 * such a net needs load_aux() before forward().
 *
 * Weights enter and gradients leave array by array (index a into graph.w).  So a layer can compute while the arrays of
 * others are in transit.
 *
 * Memory: a step allocates nothing once the plan has seen a batch of that size.  An engine may forget all sizes but the
 * full batch and the last few others.
 * Ownership: arguments stay the caller's, and no function reads them after it returned, unless its comment says so.
 * Threads: one thread at a time may use a plan.  The engine calls the hooks on that thread.
 * Results: the same number of threads gives the same bits in every run.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/buf.h"
#include "batch/samples.h"
#include "net/graph/graph.h"
#include "net/optim/opt.h"

#define ENGINE_TOP 5u
/* Sizes in bytes, with the terminating zero. */
#define ENGINE_BUS 24		/* a PCI bus address */
#define ENGINE_KEY 512		/* the name of an operation that several kernels can run */
#define ENGINE_CHOICE 256	/* the name of one of its kernels */

struct engine;
struct engine_dev;	/* an open device; each engine has its own */
struct engine_plan;	/* a graph made ready on a device */

/*
 * The precision of products.  Convolutions and fully connected layers round their input, their weights and the gradient
 * of their output to it, to nearest, ties to even.  In the 16-bit precisions layers also pass activations and gradients
 * to each other in it, except the scores that the loss reads.  Sums, statistics and the gradients of arrays are f32,
 * and so is everything that crosses this interface.
 */
enum engine_precision {
	ENGINE_F32,
	ENGINE_TF32,	/* f32 with a mantissa of 10 bits */
	ENGINE_BF16,
	ENGINE_F16	/* the engine scales gradients, so that they do not underflow */
};

/* The caller's callbacks.  Each returns 0, or another value that ends the pass; the pass returns that value. */
struct engine_hook {
	void *arg;
	/* A layer is about to read learned array a.  The callback may load() it.  NULL: the arrays stay as they are. */
	int (*param_needed)(void *arg, uint32_t a);
	/*
	 * The gradient of learned array a is final in g.  Called once for each array that is not
	 * frozen, roughly last layer first.
	 */
	int (*grad_ready)(void *arg, uint32_t a);
	/*
	 * forward() has computed the output of a node.  finite: the output and its statistics have no NaN and no
	 * infinity.  This costs a pass over each output.  With several devices each reports its part, one at a time.
	 * Some engines never call it.
	 */
	int (*output_ready)(void *arg, uint32_t node, bool finite);
	/*
	 * For backward() on devices that join() connected: one plan on each device runs backward() at the same time,
	 * each with this set.  g of the first device gets the sum; g of the others is undefined.  Each plan has its own
	 * stats.
	 */
	bool joined;
};

/*
 * Where the random numbers of a pass come from.  A dropout mask is a function of (seed, step, number of the sample,
 * layer, element).  The samples of a step are numbered over all workers and micro-batches, so the result does not
 * depend on which worker computes a sample.
 */
struct engine_draw {
	uint64_t seed, step;
	uint64_t first;		/* number within the step of the batch's first sample */
};

/* The receiver of a device's timeline. */
struct engine_timeline {
	void *arg;
	/*
	 * Reports one span of a row of the device ("gpu:0 down"), from..to in the time of clk_ns().  The engine calls
	 * it on the thread of a pass; with several devices on a thread of each.
	 */
	void (*span)(void *arg, const char *row, const char *name, uint64_t from, uint64_t to);
};

/* The direction of a layer's kernel.  Convolutions and fully connected layers have two backward kernels. */
enum engine_direction {
	ENGINE_FORWARD,
	ENGINE_BACKWARD,	/* what is neither of the next two */
	ENGINE_WEIGHT,		/* backward: gradient of the weights */
	ENGINE_DATA,		/* backward: gradient of the input */
	ENGINE_DIRECTIONS
};

/* What a layer cost in one direction, over all passes since the profiler's start(). */
struct engine_cost {
	uint32_t node;
	enum engine_direction direction;
	uint64_t ns;
	uint64_t macs;		/* multiply-adds of convolutions and fully connected layers; else 0 */
	uint64_t bytes;		/* bytes of the operands, each counted once a pass */
};

/* The highest rates that the engine reaches. */
struct engine_peaks {
	double macs_per_s;	/* multiply-adds in a product of two large matrices in the plan's precision */
	double bytes_per_s;	/* read and written by a copy that is larger than the caches */
};

/* Bytes that a plan holds, besides the caller's own arrays of weights and gradients. */
struct engine_memory {
	size_t activations;	/* outputs of layers and their gradients, for the whole batch */
	size_t weights;		/* weights in the device's layout, with statistics */
	size_t scratch;		/* memory that kernels use while they run */
	size_t host;		/* the part of all this that is host memory; 0 on a device with memory of its own */
};

/* Sums over the n samples of a batch. */
struct engine_result {
	double	 loss;		/* forward(): the loss layer's value.  evaluate(): the sum of -log p[y] */
	/* samples whose argmax p is y (of a mixture, the heavier class); of equal p the lowest class wins */
	uint32_t correct;
	uint32_t top5;		/* samples whose y is among the ENGINE_TOP most probable classes, by the same rule */
};

/* A parameter group: adjacent learned arrays, none of them frozen, that learn alike. */
struct engine_group {
	size_t	 first, count;	/* elements of w */
	float	 lr, wd;	/* multipliers of the learning rate and of the weight decay */
	uint32_t rows;		/* the first dimension, if the group is one array of two or more dimensions; else 0 */
};

/* Running statistics that a step updates: running = momentum * running + (1 - momentum) * batch. */
struct engine_fold {
	size_t	 first, count;	/* elements of aux, not frozen */
	float	 momentum;
};

/*
 * What the device optimizer computes.  The rules and the order of their operations are those of
 * net/optim/{opt,average}.h.
 */
struct engine_opt {
	struct opt_hyper hyper;		/* lr and t are ignored: step() gets them */
	const struct engine_group *group;
	uint32_t ngroup;
	const struct engine_fold *fold;
	uint32_t nfold;
	const float *state;		/* [P, opt_states()], the optimizer's state at the start */
	const float *average;		/* [P + A], the average of `averaged` weights at the start; NULL: no average */
	uint32_t averaged;
	bool	 accumulate;		/* an update adds up the gradients of several backward() */
	/*
	 * On devices that engine_accel.join() connected: one plan on each starts with these values, and all do the same
	 * updates.  They run backward() at the same time, which adds up the gradients and statistics of all; a plan
	 * without a forward() since its last backward() adds nothing.
	 */
	bool	 joined;
};

/*
 * How an engine chooses among kernels.  By default it takes the one that the library estimates to be fastest, among
 * kernels that add in a fixed order.
 */
struct engine_tune {
	bool	 deterministic;	/* with measure: only kernels that add in a fixed order; alone it changes nothing */
	/* time a few kernels in plan() and take the fastest, which may add in any order unless deterministic */
	bool	 measure;
	/*
	 * The cache of earlier races.  find() returns true with the winner's name, or false.  keep() stores a new
	 * winner.  The names are those of cuda/device/choose.h.  Either may be NULL.  With several devices they are
	 * called on several threads.
	 */
	void	*arg;
	bool	 (*find)(void *arg, const char *key, char choice[ENGINE_CHOICE]);
	void	 (*keep)(void *arg, const char *key, const char *choice);
};

/* Functions of devices that have memory and queues of their own, and of several devices used as one. */
struct engine_accel {
	/*
	 * The device's number and its address on the PCI bus, "0000:3b:00.0".  Returns 0 or ERR_SYS.  NULL in split.
	 */
	int  (*locate)(const struct engine_dev *dev, uint32_t *number, char bus[ENGINE_BUS]);

	/*
	 * Sets how later plans choose their kernels.  *how is copied; find, keep and arg must stay
	 * valid until close().
	 */
	void (*tune)(struct engine_dev *dev, const struct engine_tune *how);

	/*
	 * Starts to report spans.  Call it between two steps.  *how is copied.  how NULL stops it, and plan_free() does
	 * too; both report what is still pending.  Returns 0, ERR_SYS or ERR_NOMEM.
	 */
	int  (*timeline)(struct engine_plan *plan, const struct engine_timeline *how);

	/*
	 * Between forward() and backward(): names the batch of the next forward(), which backward() copies to the
	 * device while it computes.  s is copied; its arrays must stay unchanged until that forward(), or until
	 * prefetch() with NULL, which forgets the batch.
	 */
	void (*prefetch)(struct engine_plan *plan, const struct samples *s);

	/*
	 * Copies images u8 [bytes] to the device, for samples that refer to them by samples.cached.  They replace those
	 * of the last call.  Returns 0, ERR_NOMEM (the line has the size and what is free) or ERR_NOTSUP.
	 */
	int  (*cache_images)(struct engine_dev *dev, const uint8_t *pixels, size_t bytes);

	/*
	 * Connects the devices dev [n], which were opened one by one, so that they can add up gradients themselves.  It
	 * lasts until one of them is closed.  Returns 0, or an error with the reason.  NULL in split, which calls it.
	 */
	int  (*join)(struct engine_dev *const *dev, uint32_t n);

	/*
	 * Appends a line for logs: how many passes of layers each kernel computes for full batches, and how many CUDA
	 * graphs were captured and refused so far.  *refused gets the latter.
	 */
	int  (*summarize)(const struct engine_plan *plan, struct buf *out, uint32_t *refused);
};

/* Measures what each layer costs.  The functions are called between passes. */
struct engine_profiler {
	/* Starts to measure, from 0.  Returns 0 or ERR_NOMEM. */
	int  (*start)(struct engine_plan *plan);
	/*
	 * Stops, and calls row for each layer and direction that ran: forward, then backward from the last layer on.
	 * Returns 0, or the first value other than 0 that row returned.
	 */
	int  (*stop)(struct engine_plan *plan, int (*row)(void *arg, const struct engine_cost *cost), void *arg);
	/* Measures the peaks with the plan's threads, in about a second.  Returns 0, ERR_NOTSUP or ERR_NOMEM. */
	int  (*peaks)(struct engine_plan *plan, struct engine_peaks *peaks);
};

/* The device optimizer, for a job without servers: weights, statistics and the optimizer's state stay in the plan. */
struct engine_device_opt {
	/*
	 * Starts it, after load() of all arrays and load_aux().  From then on g, stats and the hooks of passes are
	 * NULL: gradients and statistics stay on the device, and are added to those since the last update.  Returns
	 * 0, ERR_NOTSUP (no such rule on this device; nothing has changed) or ERR_NOMEM.
	 */
	int  (*begin)(struct engine_plan *plan, const struct engine_opt *how);
	/*
	 * Enqueues update t (from 1) with the gradients of n samples at this learning rate.  mark: the new weights
	 * enter an average of marked weights.  A NaN or infinite gradient stops all later updates; the next forward(),
	 * evaluate() or fetch() then returns ERR_FORMAT, and the line names the array.
	 */
	int  (*step)(struct engine_plan *plan, uint64_t n, float rate, uint64_t t, bool mark);
	/* on: evaluate() uses the average until the call with false.  The caller may call nothing else in between. */
	int  (*show_average)(struct engine_plan *plan, bool on);
	/*
	 * Copies w [P], aux [A], state [P, opt_states()], average [P + A] and the number of weights
	 * in it.  Each may be NULL.
	 */
	int  (*fetch)(struct engine_plan *plan, float *w, float *aux, float *state, float *average, uint32_t *averaged);
	/*
	 * Completes what backward() and step() have put off.  The others call it where they must.  On joined devices it
	 * waits for all: one plan on each calls it, forward() or evaluate() at the same time.
	 */
	int  (*settle)(struct engine_plan *plan);
};

/* An engine in a file of its own.  Of its table only name, module, close(NULL) and plan_free(NULL) may be used. */
struct engine_module {
	/* Loads the file, opens the device, and sets *e to the table for this one device.  Returns as engine.open(). */
	int  (*open)(uint32_t index, const struct engine **e, struct engine_dev **dev);
};

struct engine {
	const char *name;	/* as in --engine */

	/*
	 * Opens device number `index`.  Engines on the CPU ignore it.  threads 0: OMP_NUM_THREADS, else the
	 * processors that this process may use.  Returns 0, ERR_NOTSUP or ERR_NOMEM.
	 */
	int  (*open)(uint32_t index, unsigned threads, struct engine_dev **dev);
	void (*close)(struct engine_dev *dev);		/* NULL is fine */
	/* Appends one line for people and logs: library, version, instruction set, threads. */
	int  (*describe)(const struct engine_dev *dev, struct buf *out);

	/*
	 * Prepares graph for batches of 1..batch samples, for training and evaluation: chooses the kernels and computes
	 * the sizes.  The graph must stay unchanged until plan_free().  explain() and memory() need no commit(), all
	 * other functions do.  Returns 0, ERR_NOTSUP (the line names the layer or precision), ERR_NOMEM or ERR_LIMIT.
	 */
	int  (*plan)(struct engine_dev *dev, const struct graph *graph, uint32_t batch,
		 enum engine_precision precision, struct engine_plan **plan);
	/* Allocates what memory of the plan() is still missing.  Returns as plan(). */
	int  (*commit)(struct engine_plan *plan);
	void (*plan_free)(struct engine_plan *plan);	/* NULL is fine */
	/*
	 * Appends a line for each layer: layer, direction, kernel.  An engine with CUDA graphs ends with "CUDA graphs
	 * captured N, refused N" after the first pass; bench/gpu_step.c and tests read this line.
	 */
	int  (*explain)(const struct engine_plan *plan, struct buf *out);
	void (*memory)(const struct engine_plan *plan, struct engine_memory *m);

	/* Copies learned array a, w [graph.w[a].count], into the plan. */
	int  (*load)(struct engine_plan *plan, uint32_t a, const float *w);
	/* Copies the running statistics, aux [A], into the plan; evaluate() reads them. */
	int  (*load_aux)(struct engine_plan *plan, const float *aux);

	/*
	 * Training pass over 1..batch samples of the graph's shape; batch norm uses this batch's statistics.  The loss
	 * of a mixture is that of both classes, weighted by their shares.  draw NULL: all zero.
	 * Returns 0, ERR_FORMAT (a class outside the graph's), another ERR_* or what a hook returned.
	 */
	int  (*forward)(struct engine_plan *plan, const struct samples *s, const struct engine_draw *draw,
		 const struct engine_hook *hook, struct engine_result *result);
	/*
	 * The gradients of the last batch of forward(), summed over its samples.  g f32 [P] is overwritten array by
	 * array; stats f32 [A] gets the batch's mean and biased variance of each batch norm, laid out as aux.
	 */
	int  (*backward)(struct engine_plan *plan, float *g, float *stats, const struct engine_hook *hook);
	/*
	 * Inference pass with the running statistics and without dropout; a mixture counts as its class y.  prob f32
	 * [n, classes] gets the softmax unless NULL.
	 */
	int  (*evaluate)(struct engine_plan *plan, const struct samples *s, struct engine_result *result, float *prob);

	/*
	 * Not part of training, which updates in lib/ps or by device_opt: one optimizer step on this device, for tests
	 * and bench, as opt_step().
	 */
	int  (*update)(struct engine_dev *dev, float *w, float *state, const float *g, size_t count, double n,
		 const struct opt_hyper *hyper);

	/* Optional parts; NULL: this engine does not have them. */
	const struct engine_module *module;
	/*
	 * Only the statistics of backward(), between forward() and backward() or instead of backward().  Returns as
	 * backward().
	 */
	int  (*statistics)(struct engine_plan *plan, float *stats);
	const struct engine_accel *accel;
	const struct engine_device_opt *device_opt;
	const struct engine_profiler *profiler;
};

/*
 * "f32", "tf32", "bf16" or "f16".  find also accepts "float32", "bfloat16" and "float16", and
 * returns false for others.
 */
const char *engine_precision_name(enum engine_precision p);
bool	 engine_precision_find(const char *name, enum engine_precision *p);

/* Calls accel->tune() of an engine that has it. */
void	 engine_tune(const struct engine *e, struct engine_dev *dev, const struct engine_tune *how);

/*
 * Opens device number `index` of *e by open() or module->open(), and returns as they do.  *e becomes the engine that
 * runs the device.
 */
int	 engine_open(const struct engine **e, uint32_t index, unsigned threads, struct engine_dev **dev);

/*
 * plan() and commit().  Fails with ERR_NOMEM before commit() if the plan and `beside` bytes of the caller's need more
 * memory than this process can have; the line has both numbers.
 */
int	 engine_plan(const struct engine *e, struct engine_dev *dev, const struct graph *graph, uint32_t batch,
	enum engine_precision precision, uint64_t beside, struct engine_plan **plan);

/*
 * For engines: call param_needed for the learned arrays of a layer, and grad_ready for those that are not frozen.
 * h may be NULL.  Each returns 0 or what the hook returned.
 */
int	 engine_ask_params(const struct engine_hook *h, const struct graph_node *l);
int	 engine_report_grads(const struct engine_hook *h, const struct graph *g, const struct graph_node *l);

/* The engines of this build, best first; a NULL ends the list. */
extern const struct engine *const engine_list[];

/* Finds an engine by name; "gpu" is cuda.  name NULL: the first that opens.  Returns NULL with a line noted. */
const struct engine *engine_find(const char *name);

#endif
