/*
 * cpu_drop - numbers into zeros by chance, the others made larger for it; forward and backward are the same.
 *
 * The mask is drop.h's, computed again on the way back rather than kept.
 */
#include "engine/cpu.h"
#include "engine/cpu_isa.h"
#include "engine/drop.h"

#include <omp.h>

/* One block of channels of a picture: its first element, and how many pixels. */
struct unit {
	uint32_t key, bound, first, pixels;
	float	 scale;
};

CPU_INLINE void
mask(const struct unit *u, const float *x0, const float *restrict x1, size_t lanes, float *y)
{
	for (uint32_t q = 0; q < u->pixels; q++)
		for (uint32_t l = 0; l < lanes; l++) {
			size_t at = q * lanes + l;
			float x = x1 != NULL ? x0[at] + x1[at] : x0[at];

			y[at] = drop_bits(u->key, u->first + l * u->pixels + q) >= u->bound ? x * u->scale : 0;
		}
}

CPU_CLONES static void
run(const struct unit *u, const float *x0, const float *restrict x1, size_t lanes, float *y)
{
	if (lanes == 16)
		mask(u, x0, x1, 16, y);
	else if (lanes == 8)
		mask(u, x0, x1, 8, y);
	else
		mask(u, x0, x1, 1, y);
}

void
cpu_drop(const struct graph_node *node, uint32_t i, const struct engine_draw *draw, const struct cpu_view *x, uint32_t nx,
    const struct cpu_view *y, uint32_t n)
{
	size_t blocks = cpu_blocks(y);
	uint32_t pixels = y->h * y->w;

	#pragma omp parallel for
	for (uint32_t k = 0; k < n; k++) {
		struct unit u = { .pixels = pixels, .scale = 1 };

		if (draw != NULL) {
			u.key = drop_key(draw, k, i);
			u.bound = drop_bound(node->drop);
			u.scale = 1 / (1 - node->drop);
		}
		for (size_t b = 0; b < blocks; b++, u.first += y->block * pixels)
			run(&u, cpu_at(&x[0], k, b), nx > 1 ? cpu_at(&x[1], k, b) : NULL, y->block, cpu_at(y, k, b));
	}
}
