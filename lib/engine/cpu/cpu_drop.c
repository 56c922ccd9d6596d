/*
 * cpu_drop - numbers into zeros by chance, the others made larger for it; forward and backward are the same.
 *
 * The mask is drop.h's, computed again on the way back rather than kept.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_half.h"
#include "engine/drop.h"

#include <omp.h>

/* One block of channels of a picture: its first element, and how many pixels. */
struct unit {
	uint32_t key, bound, first, pixels;
	float	 scale;
};

/* Where the pixels of an operand lie. */
struct line {
	void  *p;
	size_t pitch;
};

ISA_INLINE void
mask_lanes(const struct unit *u, const struct line *x0, const struct line *x1, size_t lanes, const struct line *y,
    bool half)
{
	for (uint32_t q = 0; q < u->pixels; q++)
		for (uint32_t l = 0; l < lanes; l++) {
			float x = cpu_number(x0->p, q * x0->pitch + l, half);

			if (x1->p != NULL)
				x += cpu_number(x1->p, q * x1->pitch + l, half);
			cpu_put(y->p, q * y->pitch + l, half,
			    drop_bits(u->key, u->first + l * u->pixels + q) >= u->bound ? x * u->scale : 0);
		}
}

ISA_CLONES(static, void, run_drop_unit, (const struct unit *u, const struct line *x0, const struct line *x1,
    size_t lanes,
    const struct line *y, bool half),
    (u, x0, x1, lanes, y, half))
{
	if (half)
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
    uint32_t nx,
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
			run_drop_unit(&u, &(struct line){ cpu_at(&x[0], k, b), x[0].pitch },
			    nx > 1 ? &(struct line){ cpu_at(&x[1], k, b), x[1].pitch } : &(struct line){ NULL, 0 },
			    y->block,
			    &(struct line){ cpu_at(y, k, b), y->pitch }, y->half);
	}
}
