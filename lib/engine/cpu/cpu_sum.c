/*
 * cpu_sum - elementwise sums and products of views of one layout.
 *
 * The lanes after the last channel are zero in all operands, and so in the result.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_vec.h"
#include "engine/share.h"

#include <omp.h>
#include <string.h>

enum op { COPY, SUM, SUM_RELU, RELU, PRODUCT };

/* y may be a. */
ISA_INLINE void
combine_lines(enum op op, const void *a, const void *restrict b, void *y, size_t count, bool bf16)
{
	ISA_IVDEP
	for (size_t j = 0; j < count; j++) {
		float v = cpu_read(a, j, bf16);

		if (op == SUM || op == SUM_RELU)
			v += cpu_read(b, j, bf16);
		else if (op == PRODUCT)
			v *= cpu_read(b, j, bf16);
		cpu_write(y, j, bf16, (op == RELU || op == SUM_RELU) && v <= 0 ? 0 : v);
	}
}

/* Calls the loop of each op and type with constants. */
#define EACH_TYPE(op) \
	if (bf16) \
		combine_lines(op, a, b, y, count, true); \
	else \
		combine_lines(op, a, b, y, count, false)

ISA_CLONES(static, void, run_op, (enum op op, const void *a, const void *restrict b, void *y, size_t count, bool bf16),
    (op, a, b, y, count, bf16))
{
	switch (op) {
	case SUM:	EACH_TYPE(SUM); break;
	case SUM_RELU:	EACH_TYPE(SUM_RELU); break;
	case RELU:	EACH_TYPE(RELU); break;
	case PRODUCT:	EACH_TYPE(PRODUCT); break;
	case COPY:	memmove(y, a, count * (bf16 ? sizeof(uint16_t) : sizeof(float))); break;
	}
}

#define LINE 32u	/* elements of bf16 in a line of the cache */

/*
 * Adds the first whole lines of bf16, and returns how many elements they have.  The bits are those of run_op(), but
 * numbers below the normal ones become 0, and NaN keeps its sign.  stream: by non-temporal stores, if y begins a line.
 */
ISA_BF16 static size_t
sum_bf16_lines(const uint16_t *a, const uint16_t *b, uint16_t *y, size_t count, bool relu, bool stream)
{
	const size_t end = count / LINE * LINE;

	stream = stream && (uintptr_t)y % 64 == 0;
	for (size_t j = 0; j < end; j += LINE) {
		isa_bf16_sums sum[2], more[2];

		for (size_t k = 0; k < 2; k++) {
			isa_load_bf16(a + j + k * LINE / 2, &sum[k]);
			isa_load_bf16(b + j + k * LINE / 2, &more[k]);
			sum[k] += more[k];
			if (relu)
				isa_keep_bf16(&sum[k], true, &sum[k]);
		}
		isa_store_line_bf16(sum, y + j, stream);
	}
	if (stream)
		isa_streamed();
	return end;
}

static void
combine_views(enum op op, const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, uint32_t n)
{
	const bool adds = (op == SUM || op == SUM_RELU) && y->bf16 && isa_level() >= ISA_AVX512_BF16;
	const size_t size = cpu_size(y);
	struct cpu_lines l = cpu_lines_of(&part[0], cpu_lines(y));
	struct share all;
	bool stream;

	if (parts > 1)
		l = cpu_lines_of(&part[1], l);
	/* Not in place, where the cache has the lines, nor pixel by pixel, as a fence follows each line of the view. */
	stream = l.lines == 1 && y->p != part[0].p && cpu_arena_large(y, n);
	all = share_start(n * l.lines);
	#pragma omp parallel
	SHARE_EACH(&all, k) {
		size_t i = k / l.lines, line = k % l.lines, done = 0;
		void *to = cpu_elem(y, i, line * y->pitch), *from[2] = { cpu_elem(&part[0], i, line * part[0].pitch) };

		if (parts > 1)
			from[1] = cpu_elem(&part[1], i, line * part[1].pitch);
		if (adds)
			done = sum_bf16_lines(from[0], from[1], to, l.count, op == SUM_RELU, stream);
		if (done < l.count)
			run_op(op, (char *)from[0] + done * size, parts > 1 ? (char *)from[1] + done * size : NULL,
			    (char *)to + done * size, l.count - done, y->bf16);
	}
}

void
cpu_sum(const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, bool relu, uint32_t n)
{
	combine_views(parts == 1 ? relu ? RELU : COPY : relu ? SUM_RELU : SUM, part, parts, y, n);
}

void
cpu_sum_product(const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, uint32_t n)
{
	combine_views(parts == 1 ? COPY : PRODUCT, part, parts, y, n);
}
