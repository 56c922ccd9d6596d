/*
 * pictures - makes the images that `make demo` learns from, by a seed.
 *
 *	pictures FOLDER COUNT SEED	writes FOLDER/CLASS/NNNNN.png, COUNT in all, equally many of each class
 *
 * There are ten classes, five shapes and five textures.  Each image has two random colours, noise, and a random place,
 * size, phase and angle within the limits of its class.  No pixel, mean or colour reveals the class, so a net must find
 * edges at any place.  A convolutional net learns that in minutes, a fully connected one does not.
 */
#include "front.h"

#include "base/err.h"
#include "base/io.h"
#include "base/rng.h"
#include "image/img.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIDE	32	/* pixels; a net of 28x28 crops has some to choose from */
#define FINE	3	/* samples a pixel in each direction, against stairs at edges */
#define NOISE	10.0f	/* standard deviation, of 255 */
#define LEAST	7.0f	/* half a figure's width, pixels */
#define MOST	10.0f
#define CONTRAST 90.0f	/* least distance of the two colours */
#define EDGE	2.0f	/* pixels between a figure and the border */

/* Where a picture's figure lies.  A class draws in coordinates from its middle, turned, in units of its size. */
struct figure {
	float cx, cy;		/* its middle, pixels */
	float reach;		/* half its width, pixels */
	float size;		/* its reach, or the period of a texture, pixels */
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
	f.cx = between(r, f.reach + EDGE, SIDE - EDGE - f.reach);
	f.cy = between(r, f.reach + EDGE, SIDE - EDGE - f.reach);
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

/* What cannot be written ends the run. */
static void
write_png(const char *path, uint8_t rgb[SIDE][SIDE][3])
{
	struct img picture = { .p = &rgb[0][0][0], .c = 3, .h = SIDE, .w = SIDE };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	struct buf b = { 0 };
	int e = fd < 0 ? err_sys("create") : img_encode_png(&picture, &b);

	e = e < 0 ? e : io_write(fd, b.p, b.n);
	if (e < 0 || close(fd) < 0)
		front_die(path, e < 0 ? e : err_sys("close"));
	buf_free(&b);
}

static void
folder(const char *path)
{
	if (mkdir(path, 0777) < 0 && errno != EEXIST) {
		err_note(errno, "create");
		front_die(path, ERR_SYS);
	}
}

int
main(int argc, char *argv[])
{
	static uint8_t rgb[SIDE][SIDE][3];
	char path[PATH_MAX];
	int64_t count, seed;

	front_init(argv[0], "pictures folder count seed", "");
	if (argc != 4)
		front_usage();
	count = front_num("count", argv[2], 0, 100000);
	seed = front_num("seed", argv[3], 0, INT64_MAX);
	folder(argv[1]);
	for (size_t k = 0; k < CLASSES; k++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], classes[k].name);
		folder(path);
	}
	for (int64_t i = 0; i < count; i++) {
		const struct class *c = &classes[(size_t)i % CLASSES];
		struct rng r = rng_start((uint64_t)seed, 0, (uint64_t)i);

		paint(c, &r, rgb);
		snprintf(path, sizeof(path), "%s/%s/%05d.png", argv[1], c->name, (int)i);
		write_png(path, rgb);
	}
	return 0;
}
