/* resize_test - images resized as Pillow resizes them, to the last bit. */
#include "image/resize.h"
#include "tap.h"

#include "resize_pillow.h"

#include <stdlib.h>

#define W	160u
#define H	120u

/* As in resize.py. */
static uint8_t
pixel(uint32_t kind, uint32_t x, uint32_t y)
{
	switch (kind) {
	case 0: return (uint8_t)((x / 5 + y / 5) % 2 * 255);
	case 1: return (uint8_t)((x * x + y * y) / 512 % 2 * 255);
	case 2: return (uint8_t)((y * W + x) * 2654435761u >> 24);
	default: return (uint8_t)(3 * x + 2 * y);
	}
}

static void
draw(uint32_t kind, uint32_t c, uint8_t *p)
{
	for (uint32_t y = 0; y < H; y++)
		for (uint32_t x = 0; x < W; x++)
			for (uint32_t k = 0; k < c; k++)
				*p++ = k == 1 ? pixel(kind, W - 1 - x, H - 1 - y) : pixel(kind, x, y);
}

static uint32_t
hash(const uint8_t *p, size_t n)
{
	uint32_t h = 2166136261u;

	while (n-- > 0)
		h = (h ^ *p++) * 16777619u;
	return h;
}

int
main(void)
{
	static const char *const kind[] = { "a checkerboard", "black and white rings", "noise", "slopes" };
	static uint8_t p[W * H * 3];
	struct resize *r;

	resize_new(&r);
	for (size_t i = 0; i < sizeof(pillow) / sizeof(*pillow); i++) {
		struct img in = { p, pillow[i].c, H, W }, out;

		draw(pillow[i].kind, in.c, p);
		if (resize_img(r, pillow[i].inter, &in, NULL, pillow[i].h, pillow[i].w, &out) < 0)
			abort();
		ok(hash(out.p, (size_t)out.h * out.w * out.c) == pillow[i].hash, "%s of %u channels at %ux%u, filter %d",
		    kind[pillow[i].kind], in.c, out.w, out.h, (int)pillow[i].inter);
	}
	resize_free(r);
	return done();
}
