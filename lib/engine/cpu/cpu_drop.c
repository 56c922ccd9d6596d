/*
 * cpu_drop - dropout; forward and backward are the same.
 *
 * The mask is that of drop.h.  The backward pass computes it again instead of keeping it.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_vec.h"
#include "engine/drop.h"

#include <omp.h>

/* What a unit's mask depends on. */
struct unit {
	uint32_t key, bound, first, pixels;	/* first: index of its first element in the sample */
	float	 scale;
};

ISA_INLINE void
mask_lanes(const struct unit *u, const struct cpu_ptr *x0, const struct cpu_ptr *x1, size_t lanes,
    const struct cpu_ptr *y, bool bf16)
{
	for (uint32_t q = 0; q < u->pixels; q++)
		for (uint32_t l = 0; l < lanes; l++) {
			float x = cpu_read(x0->p, q * x0->pitch + l, bf16);

			if (x1->p != NULL)
				x += cpu_read(x1->p, q * x1->pitch + l, bf16);
			cpu_write(y->p, q * y->pitch + l, bf16,
			    drop_bits(u->key, u->first + l * u->pixels + q) >= u->bound ? x * u->scale : 0);
		}
}

ISA_CLONES(static, void, run_drop_unit, (const struct unit *u, const struct cpu_ptr *x0, const struct cpu_ptr *x1,
    size_t lanes, const struct cpu_ptr *y, bool bf16),
    (u, x0, x1, lanes, y, bf16))
{
	if (bf16)
		mask_lanes(u, x0, x1, lanes, y, true);
	else if (lanes == 16)
		mask_lanes(u, x0, x1, 16, y, false);
	else if (lanes == 8)
		mask_lanes(u, x0, x1, 8, y, false);
	else
		mask_lanes(u, x0, x1, lanes, y, false);
}

void
cpu_drop(const struct graph_node *node, uint32_t i, const struct engine_draw *draw, const struct cpu_view *x,
    uint32_t nx, const struct cpu_view *y, uint32_t n)
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
		for (size_t b = 0; b < blocks; b++, u.first += y->block * pixels) {
			struct cpu_ptr x0 = cpu_ptr(x, k, b), x1 = cpu_ptr_second(x, nx, k, b),
			    to = cpu_ptr(y, k, b);

			run_drop_unit(&u, &x0, &x1, y->block, &to, y->bf16);
		}
	}
}
