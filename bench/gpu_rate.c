/*
 * gpu_rate - the rate at which a GPU multiplies matrices, as the limit beside which a net's is to be seen: a line of TSV.
 *
 *	gpu_rate DTYPE SIDE
 *
 * SIDE x SIDE times the same through cuBLASLt, as the engine asks it, of numbers that are not zeros: the mean of ten
 * products behind three.  Prints dtype, side, ms and TFLOP/s.
 */
#include "base/clk.h"
#include "base/err.h"
#include "base/rng.h"
#include "engine/cuda/device/blas.h"
#include "engine/cuda/kernel/kernel.h"

#include <stdio.h>
#include <stdlib.h>

#define TIMES	10

static void
must(int e)
{
	if (e >= 0)
		return;
	fprintf(stderr, "gpu_rate: %s\n", err_line());
	exit(1);
}

/* SIDE x SIDE numbers of a type, up. */
static void *
matrix(struct device *d, size_t n, int type)
{
	size_t bytes = n * kernel_size(type);
	void *here = malloc(bytes), *there;
	struct rng r = rng_start(1, 0, 0);

	must(here != NULL ? 0 : err_nomem());
	for (size_t i = 0; i < n; i++)
		kernel_put(here, i, rng_f32(&r) - 0.5f, type);
	must(device_alloc(d, bytes, &there));
	must(device_upload(d, DEVICE_MAIN, there, here, bytes));
	must(device_wait(d));
	free(here);
	return there;
}

int
main(int argc, char *argv[])
{
	static const struct cuda_host host = { .note = err_note, .within = err_within, .put = buf_put_fmt };
	static const int type[] = { [ENGINE_F32] = KERNEL_F32, [ENGINE_TF32] = KERNEL_F32, [ENGINE_BF16] = KERNEL_BF16,
		[ENGINE_F16] = KERNEL_F16 };
	enum engine_precision p;
	struct blas_shape shape = { 0 };
	struct device *d;
	struct blas *b;
	size_t scratch;
	void *room;
	double from = 0, ms;
	uint32_t n;

	if (argc != 3 || !engine_precision_find(argv[1], &p) || (n = (uint32_t)atoi(argv[2])) == 0) {
		fprintf(stderr, "usage: gpu_rate dtype side\n");
		return 2;
	}
	must(device_open(&host, 0, &d));
	must(device_make_current(d));
	shape = (struct blas_shape){ n, n, n, false, true, type[p], type[p], p != ENGINE_F32, 1, 0, 1 };
	must(blas_open(d, &shape, &b, &scratch));
	must(device_alloc(d, scratch, &room));
	blas_bind(b, &(struct blas_places){ .a = matrix(d, (size_t)n * n, type[p]), .b = matrix(d, (size_t)n * n, type[p]),
	    .c = matrix(d, (size_t)n * n, type[p]), .scratch = room });
	for (int k = -3; k < TIMES; k++) {
		if (k == 0) {
			must(device_wait(d));
			from = clk_s();
		}
		must(blas_run(b));
	}
	must(device_wait(d));
	ms = (clk_s() - from) / TIMES * 1e3;
	printf("%s\t%u\t%.3f\t%.1f\n", argv[1], n, ms, 2.0 * n * n * n / ms * 1e-9);
	return 0;
}
