/*
 * pictures - a seed into a folder of small pictures: what `make demo` learns from.
 *
 *	pictures FOLDER COUNT SEED	writes FOLDER/CLASS/NNNNN.png, COUNT in all, as many of each class
 *
 * Ten classes, five shapes and five textures, each in any two colours, at any place, size, phase and angle that leaves the
 * class what it is, with noise over all.  So neither a pixel nor a mean nor a colour tells the class, and a net has to
 * look for edges wherever they are: a convolutional one learns that in minutes, one that is fully connected does not.
 */
#include "base/rng.h"

#include <errno.h>
#include <math.h>
#include <spng.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIDE	32	/* pixels; a net of 28x28 crops has some to choose from */
#define FINE	3	/* samples a pixel in each direction, against stairs at edges */
#define NOISE	10.0f	/* standard deviation, of 255 */
#define LEAST	7.0f	/* half a figure's width, pixels */
#define MOST	10.0f
#define CONTRAST 90.0f	/* least distance of the two colours */

/* Where a picture's figure lies: x and y are pixels from its middle, turned, in units of its size. */
struct figure {
	float cx, cy;		/* its middle, pixels */
	float reach;		/* half its width, pixels */
	float size;		/* the unit of its drawing: its reach, or the period of a texture */
	float phase;		/* of a texture, in periods */
	float c, s;		/* cosine and sine of its angle */
};

static float
wave(float x)
{
	return sinf(x * 6.2831853f);
}

static bool
is_checks(float x, float y)
{
	return wave(x / 2) * wave(y / 2) > 0;
}

static bool
is_cross(float x, float y)
{
	x = fabsf(x);
	y = fabsf(y);
	return fmaxf(x, y) < 1 && fminf(x, y) < 0.3f;
}

static bool
is_disk(float x, float y)
{
	return hypotf(x, y) < 1;
}

static bool
is_dots(float x, float y)
{
	return hypotf(x - roundf(x), y - roundf(y)) < 0.32f;
}

static bool
is_ring(float x, float y)
{
	float r = hypotf(x, y);

	return r < 1 && r > 0.6f;
}

static bool
is_square(float x, float y)
{
	return fmaxf(fabsf(x), fabsf(y)) < 0.9f;
}

static bool
is_stripes(float x, float y)
{
	(void)y;
	return wave(x) > 0;
}

static bool
is_triangle(float x, float y)
{
	return y > -0.6f && 1.732f * fabsf(x) + y < 1.1f;
}

/* Sorted by name, which is the order of classes of a packed folder.  Angles in degrees: at + up to spread to each side. */
static const struct class {
	const char *name;
	bool (*is)(float x, float y);
	bool texture;
	float at, spread;
} classes[] = {
	{ "checks", is_checks, true, 0, 10 },
	{ "cross", is_cross, false, 0, 45 },
	{ "diagonal", is_stripes, true, 45, 12 },
	{ "disk", is_disk, false, 0, 0 },
	{ "dots", is_dots, true, 0, 10 },
	{ "horizontal", is_stripes, true, 90, 12 },
	{ "ring", is_ring, false, 0, 0 },
	{ "square", is_square, false, 0, 15 },
	{ "triangle", is_triangle, false, 0, 20 },
	{ "vertical", is_stripes, true, 0, 12 },
};
#define CLASSES	(sizeof(classes) / sizeof(*classes))

static float
between(struct rng *r, float lo, float hi)
{
	return lo + (hi - lo) * rng_f32(r);
}

static struct figure
place(const struct class *c, struct rng *r)
{
	float angle = (c->at + between(r, -c->spread, c->spread)) * 0.0174533f;
	struct figure f = { .c = cosf(angle), .s = sinf(angle) };

	f.reach = between(r, LEAST, MOST);
	f.size = c->texture ? between(r, 3.5f, 6) : f.reach;
	f.cx = between(r, f.reach + 2, SIDE - 2 - f.reach);
	f.cy = between(r, f.reach + 2, SIDE - 2 - f.reach);
	f.phase = between(r, 0, 2);
	return f;
}

/* How much of the pixel (px, py) the figure covers, 0..1. */
static float
cover(const struct class *c, const struct figure *f, int px, int py)
{
	int in = 0;

	for (int i = 0; i < FINE * FINE; i++) {
		float x = (float)px + ((float)(i % FINE) + 0.5f) / FINE - f->cx;
		float y = (float)py + ((float)(i / FINE) + 0.5f) / FINE - f->cy;
		float u = (f->c * x + f->s * y) / f->size, v = (f->c * y - f->s * x) / f->size;

		in += c->texture ? hypotf(x, y) < f->reach && c->is(u + f->phase, v + f->phase) : c->is(u, v);
	}
	return (float)in / (FINE * FINE);
}

static void
two_colours(struct rng *r, float a[3], float b[3])
{
	float d;

	do {
		d = 0;
		for (int i = 0; i < 3; i++) {
			a[i] = between(r, 0, 255);
			b[i] = between(r, 0, 255);
			d += (a[i] - b[i]) * (a[i] - b[i]);
		}
	} while (sqrtf(d) < CONTRAST);
}

static void
paint(const struct class *c, struct rng *r, uint8_t rgb[SIDE][SIDE][3])
{
	struct figure f = place(c, r);
	float fore[3], back[3];

	two_colours(r, fore, back);
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) {
			float m = cover(c, &f, x, y);

			for (int i = 0; i < 3; i++) {
				float v = back[i] + m * (fore[i] - back[i]) + NOISE * rng_normal(r);

				rgb[y][x][i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5f);
			}
		}
}

static int
write_png(const char *path, uint8_t rgb[SIDE][SIDE][3])
{
	struct spng_ihdr head = { .width = SIDE, .height = SIDE, .bit_depth = 8, .color_type = SPNG_COLOR_TYPE_TRUECOLOR };
	spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
	FILE *f = fopen(path, "wb");
	bool good = png != NULL && f != NULL && spng_set_png_file(png, f) == 0 && spng_set_ihdr(png, &head) == 0 &&
	    spng_encode_image(png, rgb, SIDE * SIDE * 3, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE) == 0;

	spng_ctx_free(png);
	if (f != NULL && fclose(f) != 0)
		good = false;
	return good ? 0 : -1;
}

int
main(int argc, char *argv[])
{
	static uint8_t rgb[SIDE][SIDE][3];
	unsigned long count, seed;
	char path[4096];

	if (argc != 4) {
		fprintf(stderr, "usage: pictures FOLDER COUNT SEED\n");
		return 2;
	}
	count = strtoul(argv[2], NULL, 10);
	seed = strtoul(argv[3], NULL, 10);
	mkdir(argv[1], 0777);
	for (size_t k = 0; k < CLASSES; k++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], classes[k].name);
		mkdir(path, 0777);
	}
	for (unsigned long i = 0; i < count; i++) {
		const struct class *c = &classes[i % CLASSES];
		struct rng r = rng_start(seed, 0, i);

		paint(c, &r, rgb);
		snprintf(path, sizeof(path), "%s/%s/%05lu.png", argv[1], c->name, i);
		if (write_png(path, rgb) < 0) {
			fprintf(stderr, "pictures: %s: %s\n", path, errno != 0 ? strerror(errno) : "is not written");
			return 1;
		}
	}
	return 0;
}
