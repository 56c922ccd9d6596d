/*
 * cpu_sum - views of one layout into their sum or product, number by number.
 *
 * The lanes behind the last channel are zero in all of them, and so in the result.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_half.h"

#include <omp.h>
#include <string.h>

enum what { SUM, SUM_RELU, RELU, TIMES, COPY };

/* y may be a. */
ISA_INLINE void
sum_each(enum what what, const void *a, const void *restrict b, void *y, size_t count, bool half)
{
	ISA_IVDEP
	for (size_t j = 0; j < count; j++) {
		float v = cpu_number(a, j, half);

		if (what == SUM || what == SUM_RELU)
			v += cpu_number(b, j, half);
		else if (what == TIMES)
			v *= cpu_number(b, j, half);
		cpu_put(y, j, half, (what == RELU || what == SUM_RELU) && v <= 0 ? 0 : v);
	}
}

ISA_CLONES(static, void, run_half, (enum what what, const void *a, const void *restrict b, void *y, size_t count),
    (what, a, b, y, count))
{
	switch (what) {
	case SUM:	sum_each(SUM, a, b, y, count, true); break;
	case SUM_RELU:	sum_each(SUM_RELU, a, b, y, count, true); break;
	case RELU:	sum_each(RELU, a, b, y, count, true); break;
	case TIMES:	sum_each(TIMES, a, b, y, count, true); break;
	case COPY:	memmove(y, a, count * sizeof(uint16_t)); break;
	}
}

ISA_CLONES(static, void, run_sum_unit, (enum what what, const void *a, const void *restrict b, void *y, size_t count),
    (what, a, b, y, count))
{
	switch (what) {
	case SUM:	sum_each(SUM, a, b, y, count, false); break;
	case SUM_RELU:	sum_each(SUM_RELU, a, b, y, count, false); break;
	case RELU:	sum_each(RELU, a, b, y, count, false); break;
	case TIMES:	sum_each(TIMES, a, b, y, count, false); break;
	case COPY:	memmove(y, a, count * sizeof(float)); break;
	}
}

static void
sum_views(enum what what, const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, uint32_t n)
{
	struct cpu_lines l = cpu_lines_of(&part[0], cpu_lines(y));

	if (parts > 1)
		l = cpu_lines_of(&part[1], l);
	#pragma omp parallel for
	for (size_t k = 0; k < n * l.lines; k++) {
		size_t i = k / l.lines, line = k % l.lines;

		(y->half ? run_half : run_sum_unit)(what, cpu_nth(&part[0], i, line * part[0].pitch),
		    parts > 1 ? cpu_nth(&part[1], i, line * part[1].pitch) : NULL, cpu_nth(y, i, line * y->pitch),
		    l.count);
	}
}

void
cpu_sum(const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, bool relu, uint32_t n)
{
	sum_views(parts == 1 ? relu ? RELU : COPY : relu ? SUM_RELU : SUM, part, parts, y, n);
}

void
cpu_sum_times(const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, uint32_t n)
{
	sum_views(parts == 1 ? COPY : TIMES, part, parts, y, n);
}
