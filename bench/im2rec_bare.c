/*
 * im2rec_bare - photographs decoded, resized and encoded in memory, and nothing else, into images/s.
 *
 * The sum of the three libraries' work, by bare calls of turbojpeg and the resizer's: what im2rec --resize is measured
 * against.  Planes where turbojpeg gives them, RGB for the rest, 4:2:0 out, no check, no record, no file.
 */
#include "front.h"

#include "base/clk.h"
#include "base/io.h"
#include "image/resize.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <turbojpeg.h>

#define PLANES 3

static const char usage[] = "im2rec_bare [--quality N] [--resize N] [--threads N] file ...";
static const char help[] =
    "  --quality N  of the JPEG made (95)\n"
    "  --resize N   the shorter side (256)\n"
    "  --threads N  (2)\n";

/* What a thread has. */
struct bench {
	tjhandle	 in, out;
	struct resize	*resize;
	struct buf	 room[2 * PLANES], rgb;
	unsigned char	*jpeg;
	int		 side, quality;
	size_t		 bytes;		/* encoded, so that nobody may leave it out */
};

static void
by_planes(struct bench *b, const struct buf *f, int w, int h, int ow, int oh, int sampling)
{
	struct resize_plane from[PLANES], to[PLANES];
	int n = sampling == TJSAMP_GRAY ? 1 : PLANES, out = n == 1 ? TJSAMP_GRAY : TJSAMP_420;
	int fs[PLANES], ts[PLANES];
	unsigned char *fp[PLANES], *tp[PLANES];
	unsigned long got = tjBufSize(ow, oh, out);

	for (int i = 0; i < n; i++) {
		from[i].h = (uint32_t)tjPlaneHeight(i, h, sampling);
		from[i].w = (uint32_t)tjPlaneWidth(i, w, sampling);
		to[i].h = (uint32_t)tjPlaneHeight(i, oh, out);
		to[i].w = (uint32_t)tjPlaneWidth(i, ow, out);
		if (resize_room(&b->room[i], &from[i]) < 0 || resize_room(&b->room[PLANES + i], &to[i]) < 0)
			abort();
		fp[i] = from[i].p;
		fs[i] = (int)from[i].stride;
		tp[i] = to[i].p;
		ts[i] = (int)to[i].stride;
	}
	tjDecompressToYUVPlanes(b->in, f->p, f->n, fp, w, fs, h, 0);
	for (int i = 0; i < n; i++)
		resize_plane(b->resize, RESIZE_CUBIC, &from[i], NULL, &to[i]);
	tjCompressFromYUVPlanes(b->out, (const unsigned char **)tp, ow, ts, oh, out, &b->jpeg, &got, b->quality,
	    TJFLAG_NOREALLOC);
	b->bytes += got;
}

static void
by_rgb(struct bench *b, const struct buf *f, int w, int h, int ow, int oh)
{
	struct img pic = { .c = 3, .h = (uint32_t)h, .w = (uint32_t)w }, sized;
	unsigned long got = tjBufSize(ow, oh, TJSAMP_420);

	b->rgb.n = 0;
	if (buf_room(&b->rgb, (size_t)w * (size_t)h * 4) < 0)
		abort();
	pic.p = b->rgb.p;
	if (tjDecompress2(b->in, f->p, f->n, b->rgb.p, w, 0, h, TJPF_RGB, 0) < 0)
		tjDecompress2(b->in, f->p, f->n, b->rgb.p, w, 0, h, TJPF_CMYK, 0);
	if (resize_img(b->resize, RESIZE_CUBIC, &pic, NULL, (uint32_t)oh, (uint32_t)ow, &sized) < 0)
		abort();
	tjCompress2(b->out, sized.p, ow, 0, oh, TJPF_RGB, &b->jpeg, &got, TJSAMP_420, b->quality, TJFLAG_NOREALLOC);
	b->bytes += got;
}

static void
one(struct bench *b, const struct buf *f)
{
	int w, h, sampling, space, ow = b->side, oh = b->side;

	if (tjDecompressHeader3(b->in, f->p, f->n, &w, &h, &sampling, &space) < 0)
		return;
	if (h > w)
		oh = b->side * h / w;
	else
		ow = b->side * w / h;
	if (tjBufSize(ow, oh, TJSAMP_444) > 1u << 26)
		return;
	if (sampling >= 0 && sampling != TJSAMP_411 && (space == TJCS_YCbCr || space == TJCS_GRAY))
		by_planes(b, f, w, h, ow, oh, sampling);
	else
		by_rgb(b, f, w, h, ow, oh);
}

int
main(int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "quality", required_argument, NULL, 'q' },
		{ "resize", required_argument, NULL, 'r' },
		{ "threads", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 }
	};
	int side = 256, quality = 95, threads = 2, c;
	struct buf *file;
	size_t bytes = 0;
	double start;

	front_init(argv[0], usage, help);
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case 'h': front_help();
		case 'q': quality = (int)front_num("quality", optarg, 1, 100); break;
		case 'r': side = (int)front_num("resize", optarg, 1, 4096); break;
		case 't': threads = (int)front_num("threads", optarg, 1, 256); break;
		default: front_usage();
		}
	argv += optind;
	argc -= optind;
	if (argc == 0 || (file = calloc((size_t)argc, sizeof(*file))) == NULL)
		front_usage();
	for (int i = 0; i < argc; i++)
		front_must(argv[i], io_slurp(argv[i], 1u << 26, &file[i]));
	start = clk_s();
#pragma omp parallel num_threads(threads) reduction(+ : bytes)
	{
		struct bench b = { .in = tjInitDecompress(), .out = tjInitCompress(), .jpeg = tjAlloc(1 << 26),
		    .side = side, .quality = quality };

		if (b.in == NULL || b.out == NULL || b.jpeg == NULL || resize_new(&b.resize) < 0)
			abort();
#pragma omp for schedule(dynamic, 8)
		for (int i = 0; i < argc; i++)
			one(&b, &file[i]);
		bytes += b.bytes;
		resize_free(b.resize);
	}
	start = clk_s() - start;
	printf("%d images, %.1f MB, %.1f s, %.0f images/s\n", argc, (double)bytes * 1e-6, start, argc / start);
	return 0;
}
