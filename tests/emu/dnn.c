/* dnn - convolutions in loops, summed in double, in place of dnn.c and cuDNN. */
#include "emu/operands.h"

#include "engine/cuda/device/choose.h"
#include "engine/cuda/device/device_in.h"
#include "engine/cuda/device/dnn_race.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dnn {
	struct device *d;
	uint32_t way;	/* index into ways */
	struct dnn_shape s;
	struct dnn_places at;
};

/* values [n] of a type as f64; p NULL: zeros */
static double *
doubles(const void *p, size_t n, int type)
{
	double *v = calloc(n + 1, sizeof(*v));

	for (size_t i = 0; p != NULL && i < n; i++)
		v[i] = kernel_get(p, i, type);
	return v;
}

static void
put(void *p, const double *v, size_t n, int type)
{
	for (size_t i = 0; i < n; i++)
		kernel_put(p, i, (float)v[i], type);
}

/* The place in x that a tap of the filter reads for a pixel of y, or -1 in the border. */
static ptrdiff_t
meets(const struct dnn_shape *s, uint32_t n, uint32_t i, uint32_t j, uint32_t r, uint32_t q)
{
	int h = (int)(i * s->stride[0] + r * s->dilate[0]) - (int)s->pad[0];
	int w = (int)(j * s->stride[1] + q * s->dilate[1]) - (int)s->pad[1];

	if (h < 0 || w < 0 || h >= (int)s->h || w >= (int)s->w)
		return -1;
	return (((ptrdiff_t)n * s->h + h) * s->w + w) * s->c;
}

/* Filters [k][taps][each] as [taps][each][k], or back, so that loops over the channels of y are contiguous. */
static void
transpose_filters(const struct dnn_shape *s, const double *from, double *to, bool back)
{
	const size_t row = (size_t)s->r * s->s * (s->c / s->groups);

	for (size_t k = 0; k < s->k; k++)
		for (size_t t = 0; t < row; t++)
			if (back)
				to[k * row + t] = from[t * s->k + k];
			else
				to[t * s->k + k] = from[k * row + t];
}

/* One tap for all pixels of image n: y += x w, or for gradients dx += w dy; w [taps][each][k]. */
static void
add_tap(const struct dnn_shape *s, double *x, const double *w, double *y, uint32_t n, uint32_t tap)
{
	const uint32_t each = s->c / s->groups, wide = s->k / s->groups;

	for (uint32_t i = 0; i < s->oh; i++)
		for (uint32_t j = 0; j < s->ow; j++) {
			ptrdiff_t at = meets(s, n, i, j, tap / s->s, tap % s->s);

			for (uint32_t c = 0; at >= 0 && c < s->c; c++) {
				const uint32_t k0 = c / each * wide;
				const double *f = w + ((size_t)tap * each + c % each) * s->k + k0;
				double *to = y + (((size_t)n * s->oh + i) * s->ow + j) * s->k + k0;
				double *from = &x[at + c], factor = *from, sum = 0;

				if (s->way == DNN_FORWARD) {
					#pragma omp simd
					for (uint32_t k = 0; k < wide; k++)
						to[k] += f[k] * factor;
				} else {
					#pragma omp simd reduction(+ : sum)
					for (uint32_t k = 0; k < wide; k++)
						sum += f[k] * to[k];
					*from += sum;
				}
			}
		}
}

/* The gradient of the filters at one tap and channel c of x: row [k] += x dy, over all images. */
static void
add_filter(const struct dnn_shape *s, const double *x, const double *y, double *row, uint32_t tap, uint32_t c)
{
	const uint32_t each = s->c / s->groups, wide = s->k / s->groups, k0 = c / each * wide;

	for (uint32_t n = 0; n < s->n; n++)
		for (uint32_t i = 0; i < s->oh; i++)
			for (uint32_t j = 0; j < s->ow; j++) {
				const double *dy = y + (((size_t)n * s->oh + i) * s->ow + j) * s->k + k0;
				ptrdiff_t at = meets(s, n, i, j, tap / s->s, tap % s->s);

				if (at < 0)
					continue;
				#pragma omp simd
				for (uint32_t k = 0; k < wide; k++)
					row[k0 + k] += x[at + c] * dy[k];
			}
}

/* The scratch that a convolution wants.  Larger batches need more, and so do fused ones, as with a library. */
static size_t
count_scratch(const struct dnn_shape *s)
{
	return 64 + (size_t)s->n * (s->bias > 0 ? 2048 : 1024);
}

/* When it runs its memory must still be there, also that of a graph captured earlier. */
static void
log_operands(const struct dnn *c, size_t nx, size_t nw, size_t ny)
{
	const struct dnn_shape *s = &c->s;
	struct operands o = { "a convolution", c->d->number, 0 };
	const size_t each = kernel_size(s->type);

	add_array(&o, c->at.x, nx, each);
	add_array(&o, c->at.w, nw, each);
	add_array(&o, c->at.y, ny, each);
	add_array(&o, s->addend ? c->at.addend : NULL, ny, each);
	add_array(&o, s->bias > 0 ? c->at.bias : NULL, s->k, each);
	emu_log("convolution", o.bytes);
	add_array(&o, c->at.scratch, count_scratch(s), 1);
}

static void
convolve(void *arg)
{
	const struct dnn *c = arg;
	const struct dnn_shape *s = &c->s;
	size_t nx = (size_t)s->n * s->c * s->h * s->w, nw = (size_t)s->k * (s->c / s->groups) * s->r * s->s;
	size_t ny = (size_t)s->n * s->k * s->oh * s->ow;
	const uint32_t taps = s->r * s->s, each = s->c / s->groups;
	double *x, *w, *y, *turned = calloc(nw + 1, sizeof(*turned));

	log_operands(c, nx, nw, ny);
	x = doubles(s->way == DNN_DATA ? NULL : c->at.x, nx, s->type);
	w = doubles(s->way == DNN_WEIGHT ? NULL : c->at.w, nw, s->type);
	y = doubles(s->way == DNN_FORWARD ? NULL : c->at.y, ny, s->type);
	transpose_filters(s, w, turned, false);
	/* Threads share no output: each has its own images, or its own taps and channels of the filters. */
	if (s->way == DNN_WEIGHT) {
		#pragma omp parallel for collapse(2)
		for (uint32_t t = 0; t < taps; t++)
			for (uint32_t ch = 0; ch < s->c; ch++)
				add_filter(s, x, y, turned + ((size_t)t * each + ch % each) * s->k, t, ch);
		transpose_filters(s, turned, w, true);
		put(c->at.w, w, nw, s->type);
	} else {
		#pragma omp parallel for
		for (uint32_t n = 0; n < s->n; n++)
			for (uint32_t t = 0; t < taps; t++)
				add_tap(s, x, turned, y, n, t);
		for (size_t i = 0; s->way == DNN_FORWARD && i < ny; i++) {
			y[i] += s->addend ? kernel_get(c->at.addend, i, s->type) : 0;
			y[i] += s->bias > 0 ? kernel_get(c->at.bias, i % s->k, s->type) : 0;
			y[i] = s->relu && y[i] <= 0 ? 0 : y[i];
		}
		put(s->way == DNN_FORWARD ? c->at.y : c->at.x, s->way == DNN_FORWARD ? y : x,
		    s->way == DNN_FORWARD ? ny : nx, s->type);
	}
	free(x);
	free(w);
	free(y);
	free(turned);
	memset(c->at.scratch, 0xff, 64);	/* so that a value kept there is noticed */
}

/* The library's proposals, all with the same loops.  The last one is for sums in any order. */
static const struct {
	const char *name;
	double us[CHOOSE_RUNS];
} ways[] = {
	{ "1", { 30, 31, 32, 1, 2 } },
	{ "2 0=1 3=-1", { 25, 900, 24, 900, 23 } },
	{ "3", { 9, 9, 9, 9, 9 } },
};

/* A convolution that races, with the scratch that it wants. */
struct race {
	struct dnn *c;
	size_t	 scratch;
};

/*
 * Runs candidate i as on a GPU, and gives it the times above.  TALLY_EMU_RACES: a file that gets a line for each
 * candidate that ran.
 */
static bool
race(void *arg, uint32_t i, double *us)
{
	const struct race *r = arg;
	const char *path = getenv("TALLY_EMU_RACES");
	FILE *f = path != NULL ? fopen(path, "a") : NULL;
	int e = dnn_race(r->c->d, r->c, &r->c->s, r->scratch, us);

	memcpy(us, ways[i].us, sizeof(ways[i].us));
	if (f != NULL && fprintf(f, "%s\n", ways[i].name) > 0)
		fclose(f);
	return e == 0;
}

static uint32_t
way(struct dnn *c, size_t scratch, const struct engine_tune *tune)
{
	struct race r = { c, scratch };
	struct choose_candidates w = { .n = c->s.any_order ? 3 : 2, .race = race, .arg = &r };

	for (uint32_t i = 0; i < w.n; i++)
		snprintf(w.name[i], sizeof(w.name[i]), "%s", ways[i].name);
	return tune->measure ? choose_kernel(c->d, &c->s, tune, &w) : 0;
}

/* Refuses as cuDNN does a sum or a ReLU without a bias, and fused convolutions with an odd number of channels. */
int
dnn_open(struct device *d, const struct dnn_shape *shape, const struct engine_tune *tune, struct dnn **c,
    size_t *scratch)
{
	*c = NULL;
	if (shape->bias > 0 ? shape->k % 2 == 1 : shape->addend || shape->relu)
		return ERR_NOTSUP;
	*c = calloc(1, sizeof(**c));
	**c = (struct dnn){ .d = d, .s = *shape };
	*scratch = count_scratch(shape);
	(*c)->way = way(*c, *scratch, tune);
	return 0;
}

int
dnn_like(const struct dnn *of, struct dnn **c)
{
	*c = calloc(1, sizeof(**c));
	**c = *of;
	return 0;
}

void
dnn_close(struct dnn *c)
{
	free(c);
}

const struct dnn_shape *
dnn_get_shape(const struct dnn *c)
{
	return &c->s;
}

int
dnn_bind(struct dnn *c, const struct dnn_places *at)
{
	c->at = *at;
	return 0;
}

int
dnn_run(struct dnn *c)
{
	const struct dnn_shape *s = &c->s;
	const size_t each = kernel_size(s->type), y = (size_t)s->n * s->k * s->oh * s->ow * each;

	emu_check_memory("a convolution's x", c->at.x, (size_t)s->n * s->c * s->h * s->w * each, 256);
	emu_check_memory("a convolution's w", c->at.w, (size_t)s->k * (s->c / s->groups) * s->r * s->s * each, 256);
	emu_check_memory("a convolution's y", c->at.y, y, 256);
	emu_check_memory("a convolution's scratch", c->at.scratch, count_scratch(s), 256);
	if (s->addend)
		emu_check_memory("a convolution's addend", c->at.addend, y, 256);
	if (s->bias > 0)
		emu_check_memory("a convolution's bias", c->at.bias, s->k * each, s->bias);
	emu_launch(c->d->stream[DEVICE_MAIN], convolve, c, sizeof(*c));
	return 0;
}

int
dnn_name(const struct dnn *c, struct buf *out)
{
	return c->d->host->put(out, "loops %s", ways[c->way].name);
}

void
dnn_engine(const struct dnn *c, char text[ENGINE_CHOICE])
{
	snprintf(text, ENGINE_CHOICE, "loops %.*s", (int)strcspn(ways[c->way].name, " "), ways[c->way].name);
}

/* The handle, which device.c opens. */
cudnnStatus_t
cudnnCreate(cudnnHandle_t *handle)
{
	*handle = calloc(1, 1);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnDestroy(cudnnHandle_t handle)
{
	free(handle);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
	(void)handle, (void)stream;
	return CUDNN_STATUS_SUCCESS;
}

const char *
cudnnGetErrorString(cudnnStatus_t status)
{
	(void)status;
	return "an error";
}

size_t
cudnnGetVersion(void)
{
	return 90000;
}
