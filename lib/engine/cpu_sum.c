/*
 * cpu_sum - views of one layout into their sum or product, number by number.
 *
 * The lanes behind the last channel are zero in all of them, and so in the result.
 */
#include "engine/cpu.h"
#include "engine/cpu_isa.h"

#include <omp.h>
#include <string.h>

CPU_CLONES static void
run_sum(const float *a, const float *restrict b, float *y, size_t count)
{
	for (size_t j = 0; j < count; j++)
		y[j] = a[j] + b[j];
}

CPU_CLONES static void
run_sum_relu(const float *a, const float *restrict b, float *y, size_t count)
{
	for (size_t j = 0; j < count; j++)
		y[j] = a[j] + b[j] > 0 ? a[j] + b[j] : 0;
}

CPU_CLONES static void
run_relu(const float *a, float *y, size_t count)
{
	for (size_t j = 0; j < count; j++)
		y[j] = a[j] > 0 ? a[j] : 0;
}

CPU_CLONES static void
run_times(const float *a, const float *restrict b, float *y, size_t count)
{
	for (size_t j = 0; j < count; j++)
		y[j] = a[j] * b[j];
}

void
cpu_sum(const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, bool relu, uint32_t n)
{
	size_t count = cpu_blocks(y) * cpu_unit(y);

	#pragma omp parallel for
	for (size_t i = 0; i < n; i++) {
		const float *a = cpu_at(&part[0], i, 0);
		float *to = cpu_at(y, i, 0);

		if (parts == 1 && relu)
			run_relu(a, to, count);
		else if (parts == 1)
			memmove(to, a, count * sizeof(*to));
		else if (relu)
			run_sum_relu(a, cpu_at(&part[1], i, 0), to, count);
		else
			run_sum(a, cpu_at(&part[1], i, 0), to, count);
	}
}

void
cpu_sum_times(const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, uint32_t n)
{
	size_t count = cpu_blocks(y) * cpu_unit(y);

	#pragma omp parallel for
	for (size_t i = 0; i < n; i++) {
		const float *a = cpu_at(&part[0], i, 0);
		float *to = cpu_at(y, i, 0);

		if (parts == 1)
			memmove(to, a, count * sizeof(*to));
		else
			run_times(a, cpu_at(&part[1], i, 0), to, count);
	}
}
