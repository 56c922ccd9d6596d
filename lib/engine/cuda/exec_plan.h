/*
 * exec_plan - the execution plan: a graph as a list of steps over one block of GPU memory.
 *
 * lib/engine/cuda is the engine, and its files share these types.  device/ calls CUDA's libraries (device/device.h),
 * and kernel/ has the engine's own kernels.  learn*.c is the device optimizer, join.c sums the gradients of several
 * GPUs, and timeline.c times them.
 *
 * A product is a convolution or a fully connected layer.
 *
 * A plan is made once, without a call of the GPU: exec_plan.c lists the steps of the forward pass,
 * exec_plan_back.c those of the backward pass, and arena.c places the buffers.  exec_set.c then asks
 * the libraries for the products of one batch size.  run.c enqueues the steps.  pass.c captures them
 * as CUDA graphs, which later passes launch.
 *
 * Rules that make passes shorter:
 * - A concatenation is one buffer.  Its inputs write into windows of it, and their gradients are
 *   windows of its gradient.
 * - ReLU is part of the batch norm, bias or sum before it.
 * - A sum of two is part of the batch norm or convolution that it reads.
 * - Bias, sum and ReLU are part of the convolution if the library has such a kernel.
 * - In evaluation a batch norm is part of the convolution before it if nothing else reads that
 *   convolution: its weights are multiplied by gamma / sqrt(var + eps) in f32 and then rounded, once
 *   after each change of weights or statistics.
 * - Sums over pixels, as for batch norm, take one kernel, whose last block finishes them: kernel_block.h.
 * - A gradient with several contributions stays several views until a layer reads it.
 *
 * Images lie as in kernel.h, in the plan's type, and weights as [K, R S, C] in the same type.  The
 * scores that the loss reads, and their gradient, are f32 in every plan: in bf16 neighbouring values
 * between 8 and 16 are 1/16 apart, so that classes would tie.  The optimizer and the caller see f32.
 */
#ifndef ENGINE_CUDA_EXEC_PLAN_H
#define ENGINE_CUDA_EXEC_PLAN_H

#include "engine/cuda/device/blas.h"
#include "engine/cuda/device/dnn.h"
#include "engine/cuda/kernel/kernel.h"
#include "engine/memplan.h"

#include <assert.h>

#define EXEC_SETS	4	/* batch sizes whose kernels are kept, including the full batch */
#define EXEC_SLICES	8	/* most parts in which a backward pass hands over gradients */
#define EXEC_NONE	UINT32_MAX

/* The uses of a product: enum dnn_way, or forward with its batch norm for evaluation. */
enum { EXEC_EVAL = DNN_WEIGHT + 1, EXEC_WAYS };

/* The CUDA graphs of a batch size.  The slices of the backward pass follow EXEC_GRAPH_BACK. */
enum exec_graph {
	EXEC_GRAPH_WEIGHTS, EXEC_GRAPH_WEIGHTS_FOLDED,	/* weights into the kernels' layout */
	EXEC_GRAPH_TRAIN, EXEC_GRAPH_TRAIN_PIXELS,	/* forward passes, from f32 and from pixels */
	EXEC_GRAPH_EVAL, EXEC_GRAPH_EVAL_PIXELS,
	EXEC_GRAPH_SUM_FIRST, EXEC_GRAPH_SUM_NEXT,	/* gradients of a micro-batch into their sum */
	EXEC_GRAPH_UPDATE,
	EXEC_GRAPH_BACKWARD,	/* the whole backward pass, whose gradients stay on the device or are added up there */
	EXEC_GRAPH_BACK
};
#define EXEC_GRAPHS	(EXEC_GRAPH_BACK + EXEC_SLICES)

/* The weights that the kernels have: as learned, with batch norms folded in, or outdated. */
enum exec_weights { EXEC_WEIGHTS_PLAIN, EXEC_WEIGHTS_FOLDED, EXEC_WEIGHTS_STALE };

/* Images [n, h, w, c] in a buffer; c 0: no view. */
struct exec_view {
	uint32_t buf;
	uint32_t c, h, w;
	uint32_t ld;		/* values from one pixel to the next */
	uint32_t first;		/* the first channel, in values from the buffer's start */
	int	 type;		/* enum kernel_type */
};

enum exec_kind {
	EXEC_INPUT,		/* y of the batch */
	EXEC_PRODUCT,		/* y = conv or fc of x, both dense */
	EXEC_PRODUCT_WEIGHT,	/* the weight gradient from x and dy, both dense */
	EXEC_PRODUCT_DATA,	/* dx of dy */
	EXEC_BIAS,		/* y = x, plus the node's bias if it has one, plus part, then ReLU */
	EXEC_BIAS_BACK,		/* the bias gradient: sums of dy */
	EXEC_BN,		/* y = batch norm of x, plus part, then ReLU */
	EXEC_BN_BACK,
	EXEC_ACT, EXEC_ACT_BACK,
	EXEC_DROPOUT,		/* y = x masked, or dx = dy masked */
	EXEC_POOL, EXEC_POOL_BACK,
	EXEC_LRN, EXEC_LRN_BACK,
	EXEC_PAD, EXEC_PAD_BACK,
	EXEC_PERMUTE,		/* y from x, both dense: one is [n, c h w], the other [n, h, w, c] */
	EXEC_ADD,		/* y = the sum of part, then ReLU; 0 where passed is not above 0; of one part a copy */
	EXEC_MULTIPLY,		/* y = part multiplied element by element */
	EXEC_LOSS, EXEC_LOSS_BACK
};

struct exec_step {
	enum exec_kind	 kind;
	int		 type;	/* type of its views, or KERNEL_MIXED */
	uint32_t	 node;
	bool		 relu;
	bool		 frozen;	/* a batch norm that uses the running statistics in training */
	struct exec_view x, y, dy, dx;
	struct exec_view part[KERNEL_PARTS];
	uint32_t	 parts;
	struct exec_view passed;	/* EXEC_ADD of gradients: the output of the ReLU that they come from */
	uint32_t	 keep;		/* buffer of u32 or f32 per output that backward reads, or EXEC_NONE */
	/* EXEC_BN: the product that contains it in evaluation, or EXEC_NONE, and the input of that. */
	uint32_t	 folded_into;
	struct exec_view fold_input;
};

/* A conv or fc layer.  The views are those of its steps, all dense. */
struct exec_product {
	uint32_t	 node;
	int		 type;		/* type of its factors: the plan's, or KERNEL_F32 for a conv of scores */
	struct exec_view x, y, dy, dx;	/* dx.c 0: not wanted */
	size_t		 weight_at;	/* offset in kept_base, in bytes: the weight in the kernels' layout */
	size_t		 grad_at;	/* likewise: its gradient, until all gradients are converted at once */
	size_t		 weight_bytes;	/* size of each of them */
	bool		 learns;	/* the weight does */
	bool		 fuses, relu;	/* fuses: the convolution may include the EXEC_BIAS after it */
	struct exec_view addend;	/* what that EXEC_BIAS adds; c 0: nothing */
	uint32_t	 bn;		/* the EXEC_BN that it contains in evaluation, or EXEC_NONE */
	/* With bn, offset in kept_base, in bytes: f32 [2, k], bias and factor of its weights. */
	size_t		 fold_at;
	/* If its type is not f32 or it has no bias, offset in kept_base, in bytes: its bias [k] in its type, or 0. */
	size_t		 typed_bias_at;
};

/* The plan of a node's output. */
struct exec_node {
	struct exec_view  y;
	uint32_t	  readers, reader;	/* how many layers read it; the last one */
	bool		  fused;	/* a ReLU that is part of the step before it */
	bool		  wants;	/* a gradient: something learned is at or below it */
	bool		  score;	/* the loss reads it, or it leads there without a product or pooling */
	struct exec_view *part;		/* [readers] contributions to its gradient */
	uint32_t	  parts;
	uint32_t	  keep;
	uint32_t	  state;	/* conv, fc: index into product; bn: first channel; dropout: number */
};

/*
 * Tables of conversions: of weights, without and with batch norms folded in, and of their gradients in the order of the
 * steps.
 */
enum { EXEC_MOVES_PLAIN, EXEC_MOVES_FOLDED, EXEC_MOVES_GRADIENTS, EXEC_TABLES };

/* Such a table: its length, and the values that all of them write. */
struct exec_moves {
	uint32_t n, values;
};

/* Offsets in bytes into kept_base, the GPU memory that lives as long as the plan. */
struct exec_kept {
	size_t w, g, aux, stats;	/* f32 [P], [P], [A], [A] */
	size_t bn;			/* f32 [bn_channels][5]: the saved 3 and the means of kernel_bn.h */
	size_t label, loss, rank, prob;	/* [batch]; prob f32 [batch, classes] */
	size_t parts;			/* kernel_softmax_part [batch, KERNEL_WARP] for many classes */
	size_t target;			/* f32 [batch, graph_targets()] */
	size_t positive;		/* f32 [graph_targets()], of samples.h */
	size_t key;			/* u32 [ndrop, batch] */
	size_t norm, image, scale;	/* kernel_norm; kernel_image [batch]; f32 scale, 1 / scale */
	size_t bad;			/* u32, 0 if all gradients are finite: struct kernel_finite */
	size_t arrived;			/* u32, zeros: kernel_block.h */
	size_t moves[EXEC_TABLES];	/* kernel_move */
	/* label, target, positive, key, norm, image and scale, which go up in one copy */
	size_t inputs, input_bytes;
	size_t mean, batch;		/* f32 [c,h,w]; the batch as it came */
	size_t all;
};

/* The kernels and CUDA graphs of one batch size. */
struct exec_set {
	uint32_t	   n;		/* 0: unused */
	uint64_t	   used;	/* when it was used last, for the choice of the one to drop */
	struct dnn	 **dnn;		/* [nproducts][EXEC_WAYS]; NULL for an fc */
	struct blas	 **blas;	/* [nproducts][EXEC_WAYS]; NULL for a conv */
	bool		  *fused;	/* [nproducts] convolutions that include their EXEC_BIAS */
	bool		   evals;	/* EXEC_EVAL is filled in */
	struct device_graph *graph[EXEC_GRAPHS];
	uint8_t		   seen[EXEC_GRAPHS];	/* times it was enqueued, up to 2 */
};

struct engine_dev {
	const struct cuda_host *host;
	struct device	   *d;
	struct join	   *join;	/* the group of joined devices, or NULL: join.h */
	uint32_t	    rank;	/* this device's number in it */
	uint8_t		   *images;	/* the device cache, or NULL */
	struct engine_tune  tune;
};

struct engine_plan {
	struct engine_dev  *dev;
	const struct graph *graph;
	uint32_t	    batch;
	int		    type;	/* enum kernel_type */
	bool		    tf32;
	bool		    any_order;	/* kernels may add in an order that changes from run to run */
	struct exec_step   *step;
	uint32_t	    nstep, most_steps, nforward;	/* the first nforward are the forward pass */
	struct memplan_buf *buf;
	uint32_t	    nbuf, most_bufs;
	struct exec_product *product;
	uint32_t	    nproducts, ndrop;
	uint32_t	    bn_channels;	/* channels of all batch norms */
	struct exec_node   *node;	/* [graph->n] */
	struct exec_kept    kept;
	struct exec_moves   moves[EXEC_TABLES];	/* tables of kept.moves */
	uint32_t	    slice[EXEC_SLICES + 1], nslice;	/* slice k is steps [slice[k], slice[k + 1]) */
	size_t		    arena_bytes, sums_bytes, arrived_bytes, scratch_bytes;
	/* GPU memory.  scratch holds strips' sums or the libraries' scratch. */
	char		   *arena, *kept_base, *scratch;
	/* Pinned host memory for uploads and downloads, and offsets into it.  Uploads begin with kept.inputs. */
	char		   *pinned_up, *pinned_down;
	size_t		    up_mean, up_batch, up_w;
	size_t		    down_g, down_stats, down_prob, down_loss, down_rank, down_bad;
	struct device_event *computed[EXEC_SLICES];	/* a slice's gradients are computed */
	struct device_event *downloaded[EXEC_SLICES];	/* they are in pinned_down */
	/*
	 * Pixels alternate between two places in up_batch and in kept.batch, so that the next batch can be
	 * uploaded early.  A batch of f32 takes both places.
	 */
	uint32_t	    slot;		/* the place of the current batch */
	struct device_event *batch_uploaded[2];
	bool		    batch_uploading[2];	/* the upload may not be complete */
	struct samples	    next;		/* the batch that prefetch() named, or pixel NULL */
	bool		    next_uploaded;	/* its upload to the other place was enqueued */
	struct timeline	   *timeline;	/* timeline.h, or NULL */
	struct exec_set	    set[EXEC_SETS];	/* the first is the full batch */
	uint64_t	    clock;
	uint32_t	    captured, refused;	/* CUDA graphs: captured so far; not captured by the device */
	bool		   *dirty;	/* [nw] the array in pinned_up is newer than the GPU's */
	bool		    any_dirty;
	enum exec_weights   weights;
	bool		    uploading;	/* uploads from pinned_up or pinned_down may not be complete */
	struct learn	   *learn;	/* the device optimizer, or NULL */
	struct engine_draw  draw;
	uint32_t	    n;		/* size of the batch of the last forward(); 0: no backward() is possible */
	bool		    pixels;	/* it came as pixels */
	bool		    followed;	/* backward() followed the last forward() */
	bool		    ahead;	/* forward() has enqueued the backward pass too */
	/* f16: the scale of the last backward pass, and the event after its check for infinite gradients. */
	float		    scale;
	uint32_t	    back_n;	/* samples of the last backward() with the device optimizer */
	/* [2][input_bytes] kept.inputs of a pass that may be repeated after the next forward pass; to exchange them. */
	char		   *inputs;
	bool		    overflowed;	/* the last check found an infinite gradient */
	struct device_event *checked;
	struct device_event *result;	/* the result of a forward pass is in pinned_down */
	bool		    unchecked;	/* the host has not read that check, see pass_settle() */
};

static inline const struct graph_node *
exec_node_at(const struct engine_plan *p, uint32_t i)
{
	return &p->graph->node[i];
}

static inline bool
exec_view_is_dense(const struct exec_view *v)
{
	return v->ld == v->c;
}

/* a: a learned array, or -1 for none. */
static inline bool
exec_learns(const struct graph *g, int32_t a)
{
	return a >= 0 && !g->w[a].frozen;
}

static inline bool
exec_bn_is_frozen(const struct graph *g, uint32_t i)
{
	return !exec_learns(g, g->node[i].gamma) && !exec_learns(g, g->node[i].beta);
}

/* An array of kept memory. */
static inline float *
exec_floats(const struct engine_plan *p, size_t at)
{
	return (float *)(p->kept_base + at);
}

/* exec_node.c.  Fills in p->node, without views.  Returns 0 or ERR_NOMEM. */
int	 exec_node_make(struct engine_plan *p);
void	 exec_node_clear(struct engine_plan *p);

/*
 * exec_plan.c.  Fills in the steps.  Returns 0, ERR_NOTSUP, ERR_LIMIT or ERR_NOMEM; the line names the
 * layer.
 */
int	 exec_plan_make(struct engine_plan *p);
void	 exec_plan_clear(struct engine_plan *p);	/* frees what exec_plan_make() allocated */
/* For exec_plan_back.c.  A new step, zero except kind and node. */
struct exec_step *exec_plan_add_step(struct engine_plan *p, enum exec_kind kind, uint32_t node);
/* A new dense buffer with the type, c, h and w of `like`. */
int	 exec_plan_add_buffer(struct engine_plan *p, struct exec_view like, struct exec_view *v);
/* Replaces a view that is not dense or not of this type by a copy that is, with a step that makes it. */
int	 exec_plan_make_dense(struct engine_plan *p, uint32_t node, int type, struct exec_view *v);
/* Adds a step between [n, c h w] and [n, h, w, c]. */
void	 exec_plan_permute(struct engine_plan *p, uint32_t node, const struct exec_view *x, const struct exec_view *y);

/* exec_plan_back.c.  Adds the steps of the backward pass. */
int	 exec_plan_make_back(struct engine_plan *p);

/* arena.c.  Places buffers and kept memory.  Returns 0, ERR_NOMEM or ERR_LIMIT. */
int	 arena_place(struct engine_plan *p);

/*
 * exec_set.c.  The kernels of n samples; makes the plan's device current on this thread.  Returns 0,
 * ERR_NOTSUP, ERR_NOMEM or ERR_SYS.
 */
int	 exec_set_get(struct engine_plan *p, uint32_t n, struct exec_set **set);
/* Before its first evaluation: the kernels with batch norms folded in.  Returns likewise. */
int	 exec_set_prepare_eval(struct engine_plan *p, struct exec_set *set);
void	 exec_set_free(struct engine_plan *p, struct exec_set *set);
/* Before the device optimizer begins: other work follows the kernels of a backward pass from then on. */
void	 exec_set_forget_backward(struct engine_plan *p);

/*
 * run.c.  Enqueues steps [from, to) for the set's batch.  train: batch norm by this batch's statistics, and
 * dropout.  pixels: the batch is u8.
 */
int	 run_steps(struct engine_plan *p, const struct exec_set *set, uint32_t from, uint32_t to, bool train,
	bool pixels);
/* The bias of product i for its kernels, f32 [k] on the GPU, or NULL. */
float	*run_bias(const struct engine_plan *p, uint32_t i);
/*
 * The same in the product's type, or zeros, for convolutions that add it.  cuDNN has compiled kernels for a bias of
 * the images' type; for one of f32 it compiles a kernel at run time, which takes half a second.
 */
void	*run_typed_bias(const struct engine_plan *p, uint32_t i);
struct kernel_view run_view(const struct engine_plan *p, const struct exec_view *v);
/* The first part of a step; without one, p is NULL. */
struct kernel_view run_addend(const struct engine_plan *p, const struct exec_step *s);
const float *run_inverse_scale(const struct engine_plan *p);	/* 1 / loss scale on the GPU; NULL: 1 */

/* Channels and pixels of a weight: R S pixels of a convolution, H W of an fc's input. */
void	 run_weight_sides(const struct engine_plan *p, const struct exec_product *m, uint32_t *c, uint32_t *pixels);

/* run_weights.c.  Enqueues the conversion of all weights to the kernels' layout; fold: with batch norms folded in. */
int	 run_weights(struct engine_plan *p, bool fold);
/* Enqueues the conversion of the weight gradients that steps [from, to) computed. */
int	 run_weight_gradients(struct engine_plan *p, uint32_t from, uint32_t to);
/* Fills in the tables of kept memory, of this size each, once that is allocated.  Returns 0, ERR_NOMEM or ERR_SYS. */
int	 run_weights_prepare(struct engine_plan *p);
size_t	 run_weights_memory(const struct engine_plan *p);

/* run_bn.c.  Enqueue the steps of batch norms. */
int	 run_bn(struct engine_plan *p, const struct exec_step *s, const struct exec_set *set, bool train);
int	 run_bn_back(struct engine_plan *p, const struct exec_step *s, uint32_t n);
/* Computes the factor and bias that fold a batch norm into its convolution. */
int	 run_bn_fold(struct engine_plan *p, const struct exec_step *s);
/* Sums dy over pixels into f32 [c], times 1 / loss scale. */
int	 run_pixel_sums(struct engine_plan *p, const struct exec_view *dy, uint32_t n, float *to);
/* Bytes of scratch and of exec_kept.arrived that the above need for c channels of at most m pixels. */
void	 run_bn_memory(uint32_t m, uint32_t c, size_t *scratch, size_t *arrived);

/* pass.c.  Functions of struct engine. */
int	 pass_load(struct engine_plan *p, uint32_t a, const float *w);
int	 pass_load_aux(struct engine_plan *p, const float *aux);
int	 pass_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
	const struct engine_hook *hook, struct engine_result *result);
int	 pass_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob);
int	 pass_statistics(struct engine_plan *p, float *stats);
/* For the other files: enqueues a part of a step, as a CUDA graph once it was captured. */
int	 pass_launch(struct engine_plan *p, struct exec_set *set, uint32_t graph);
int	 pass_upload_inputs(struct engine_plan *p);	/* kept.inputs */
int	 pass_wait_for_uploads(struct engine_plan *p);	/* until pinned_up may be written */
/* Uploads loaded weights and converts them; as: EXEC_WEIGHTS_PLAIN or EXEC_WEIGHTS_FOLDED. */
int	 pass_prepare_weights(struct engine_plan *p, struct exec_set *set, enum exec_weights as);
void	*pass_input_at(const struct engine_plan *p, size_t kept);	/* the pinned copy of a part of kept.inputs */

/* pass_batch.c.  The function of struct engine_accel. */
void	 pass_prefetch(struct engine_plan *p, const struct samples *s);
int	 pass_upload_next(struct engine_plan *p);	/* the pixels of the batch that it named, if it did */
/* Checks a batch, enqueues the upload of its images, and fills in its other inputs. */
int	 pass_load_batch(struct engine_plan *p, const struct samples *s, bool train);

/*
 * pass_back.c.  In forward(): enqueues the backward pass if its gradients stay on this device and it is expected, so
 * that the GPU computes while the host reads the loss.  Sets p->ahead if it did.
 */
int	 pass_go_ahead(struct engine_plan *p, struct exec_set *set);
/* The function of struct engine. */
int	 pass_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook);
/*
 * Reads the check of the last backward pass with the device optimizer in f16, if it is unread.  If it failed, the
 * device has not used its gradients: repeats the pass with a smaller scale, and what followed it.  Joined devices
 * do so together.
 */
int	 pass_settle(struct engine_plan *p);	/* waits for the check */
/* After a wait for a forward pass.  Returns 1 if that must run again, from the inputs in pinned_up, or 0. */
int	 pass_check_before(struct engine_plan *p);
void	 pass_begin_scale(struct engine_plan *p, uint32_t n);	/* scale of the first attempt, in kept.inputs */
/* Enqueues the kernels of a backward pass whose gradients stay on the device. */
int	 pass_enqueue_backward(struct engine_plan *p, const struct exec_set *set);
/* The range of g that is final after slice k.  Layers come last first, and arrays lie in the layers' order. */
void	 pass_slice_range(const struct engine_plan *p, uint32_t k, size_t *first, size_t *end);
/*
 * Enqueues on DEVICE_DOWNLOAD: slice k's gradients if wanted, the statistics with the last slice, and its
 * event `downloaded`.
 */
int	 pass_download_slice(struct engine_plan *p, uint32_t k, bool gradients);

/* learn.c.  Functions of struct engine and struct engine_device_opt. */
int	 learn_begin(struct engine_plan *p, const struct engine_opt *how);
int	 learn_step(struct engine_plan *p, uint64_t n, float rate, uint64_t t, bool mark);
int	 learn_show_average(struct engine_plan *p, bool on);
int	 learn_fetch(struct engine_plan *p, float *w, float *aux, float *state, float *average, uint32_t *averaged);
int	 learn_settle(struct engine_plan *p);
int	 learn_update(struct engine_dev *dev, float *w, float *state, const float *g, size_t count, double n,
	const struct opt_hyper *hyper);
void	 learn_free(struct engine_plan *p);	/* NULL is fine */
/* After a backward pass of a micro-batch: adds its gradients to those since the last update. */
int	 learn_add_batch(struct engine_plan *p, struct exec_set *set);
/* Joined devices: enqueue zeros for the gradients and statistics; the statistics times n samples. */
int	 learn_zero_batch(struct engine_plan *p);
int	 learn_weigh_statistics(struct engine_plan *p, uint32_t n);
/* Enqueues again what has followed a backward pass that is repeated: its sum, and the update. */
int	 learn_repeat(struct engine_plan *p, struct exec_set *set);
/* Enqueues that sum for n samples, or the update; pass_launch() captures both. */
int	 learn_enqueue_sum(struct engine_plan *p, uint32_t n, bool first);
int	 learn_enqueue_update(struct engine_plan *p);
/* Enqueues the download of the check for NaN and infinite gradients.  read: after a wait; 0 or ERR_FORMAT. */
int	 learn_download_check(struct engine_plan *p);
int	 learn_read_check(struct engine_plan *p);

#endif
