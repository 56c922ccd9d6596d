/* img_jpeg_fast - JPEG bytes in, pixels or planes out, of the pictures that nothing is wrong with: serves img_jpeg. */
#include "image/img_jpeg_fast.h"
#include "image/huff.h"
#include "base/err.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#define JPEG_INTERNALS
#include <jpegint.h>

#define FEW	4	/* rows of pixels at a time: as many as come out of a row of chroma's samples, or more */
#define ROWS	(2 * DCTSIZE)	/* of luma, that planes come in at a time */

struct img_jpeg_fast {
	struct jpeg_decompress_struct	 d;		/* first: libjpeg gives it back */
	struct jpeg_error_mgr		 err;
	struct huff			*huff;
	struct buf			 spare;		/* for rows that are not wanted */
	jmp_buf				 out;
};

static void
on_error(j_common_ptr d)
{
	struct img_jpeg_fast *f = (struct img_jpeg_fast *)d;

	longjmp(f->out, 1);
}

/* turbojpeg and the scan behind it know which warnings matter. */
static void
on_message(j_common_ptr d, int level)
{
	if (level < 0)
		on_error(d);
}

int
img_jpeg_fast_new(struct img_jpeg_fast **out)
{
	struct img_jpeg_fast *f = calloc(1, sizeof(*f));
	int e;

	*out = NULL;
	if (f == NULL)
		return err_nomem();
	if ((e = huff_new(&f->huff)) < 0) {
		free(f);
		return e;
	}
	f->d.err = jpeg_std_error(&f->err);
	f->err.error_exit = on_error;
	f->err.emit_message = on_message;
	*out = f;
	return 0;
}

void
img_jpeg_fast_free(struct img_jpeg_fast *f)
{
	if (f == NULL)
		return;
	huff_free(f->huff);
	buf_free(&f->spare);
	free(f);
}

/* Returns whether it goes on from here. */
static bool
start(struct img_jpeg_fast *f)
{
	return !jpeg_has_multiple_scans(&f->d) && jpeg_start_decompress(&f->d) && huff_attach(f->huff, &f->d);
}

/* Each picture has a decoder of its own: one that went on would give it the tables of the last where its own are missing. */
static void
enter(struct img_jpeg_fast *f, const uint8_t *data, size_t n)
{
	jpeg_create_decompress(&f->d);
	jpeg_mem_src(&f->d, data, (unsigned long)n);
	jpeg_read_header(&f->d, TRUE);
}

static int
leave(struct img_jpeg_fast *f, int taken)
{
	jpeg_destroy_decompress(&f->d);
	return taken;
}

/*
 * Narrows the rows that d gives to the part and what chroma needs of its neighbours: edges stand where those of an MCU do,
 * and the chroma beyond one takes part in what is this side of it.  Returns where the rows begin.
 */
static uint32_t
narrow(struct jpeg_decompress_struct *d, const struct img_region *part)
{
	uint32_t mcu = DCTSIZE * (uint32_t)d->max_h_samp_factor;
	JDIMENSION x = part->x > mcu ? part->x - mcu : 0, end = part->x + part->w + mcu;
	JDIMENSION w = (end < d->output_width ? end : d->output_width) - x;

	if (d->output_width - w < mcu)
		return 0;
	jpeg_crop_scanline(d, &x, &w);
	return x;
}

/* libjpeg-turbo writes such a row past the caches, for whoever reads it to wait. */
static bool
past_cache(const uint8_t *row)
{
	return (uintptr_t)row % 32 == 0;
}

/* Reads the part's rows, a few at a time. */
static void
read_part(struct img_jpeg_fast *f, const struct img_region *part, uint8_t *p)
{
	struct jpeg_decompress_struct *d = &f->d;
	uint32_t c = (uint32_t)d->output_components, x = narrow(d, part), end = part->y + part->h, n;
	uint8_t *spare = f->spare.p + (past_cache(f->spare.p) ? 16 : 0);
	size_t bytes = (size_t)part->w * c, stride = (size_t)d->output_width * c;
	bool straight = d->output_width == part->w && !past_cache(p);
	JSAMPROW row[FEW];

	if (part->y > 0)
		jpeg_skip_scanlines(d, part->y);
	for (; d->output_scanline < end; p += n * bytes) {
		uint32_t most = end - d->output_scanline < FEW ? end - d->output_scanline : FEW;

		for (uint32_t i = 0; i < most; i++)
			row[i] = straight ? p + i * bytes : spare + i * stride;
		n = jpeg_read_scanlines(d, row, most);
		for (uint32_t i = 0; !straight && i < n; i++)
			memcpy(p + i * bytes, row[i] + (size_t)(part->x - x) * c, bytes);
	}
}

int
img_jpeg_fast_region(struct img_jpeg_fast *f, const uint8_t *data, size_t n, uint32_t h, uint32_t w,
    const struct img_region *part, uint32_t c, uint8_t *p)
{
	struct jpeg_decompress_struct *d = &f->d;

	f->spare.n = 0;
	if (buf_room(&f->spare, (size_t)w * c * FEW + 16) < 0 || setjmp(f->out) != 0)
		return leave(f, 0);
	enter(f, data, n);
	if (d->image_height != h || d->image_width != w ||
	    (d->jpeg_color_space != JCS_GRAYSCALE && d->jpeg_color_space != JCS_YCbCr))
		return leave(f, 0);
	d->out_color_space = c == 1 ? JCS_GRAYSCALE : JCS_RGB;
	if (!start(f))
		return leave(f, 0);
	read_part(f, part, p);
	huff_drain(f->huff, d);
	return leave(f, 1);
}

/* Where row y of a plane goes; beyond what there is room for, nowhere. */
static JSAMPROW
row_at(const struct img_jpeg_fast *f, const struct resize_plane *plane, uint32_t y)
{
	return y <= plane->h ? plane->p + y * plane->stride : f->spare.p;
}

/*
 * What an 8 by 8 block of it becomes: one number or, from version 7 of the interface on, two, that lie between others.
 * libjpeg by itself shrinks chroma no more than luma.
 */
static void
shrink_component(jpeg_component_info *c, int size)
{
	size_t at = offsetof(jpeg_component_info, height_in_blocks) + sizeof(c->height_in_blocks);

	for (; at < offsetof(jpeg_component_info, downsampled_width); at += sizeof(size))
		memcpy((char *)c + at, &size, sizeof(size));
	c->MCU_sample_width = c->MCU_width * size;
}

/* Behind the start, which set all up for sizes of libjpeg's own. */
static void
shrink_all(struct jpeg_decompress_struct *d, const unsigned shrink[3])
{
	for (int i = 0; i < d->num_components; i++)
		shrink_component(&d->comp_info[i], DCTSIZE / (int)shrink[i]);
	d->idct->start_pass(d);
}

static void
read_rows(struct img_jpeg_fast *f, const unsigned shrink[3], const struct resize_plane *plane)
{
	struct jpeg_decompress_struct *d = &f->d;
	uint32_t lines = (uint32_t)d->max_v_samp_factor * DCTSIZE / shrink[0], at = d->output_scanline / lines;
	JSAMPROW row[3][ROWS];
	JSAMPARRAY rows[3] = { row[0], row[1], row[2] };

	for (int i = 0; i < d->num_components; i++) {
		uint32_t of = (uint32_t)d->comp_info[i].v_samp_factor * DCTSIZE / shrink[i];

		for (uint32_t y = 0; y < of; y++)
			row[i][y] = row_at(f, &plane[i], at * of + y);
	}
	jpeg_read_raw_data(d, rows, lines);
}

int
img_jpeg_fast_planes(struct img_jpeg_fast *f, const uint8_t *data, size_t n, const struct img_jpeg_head *head,
    const unsigned shrink[3], const struct resize_plane plane[3])
{
	struct jpeg_decompress_struct *d = &f->d;

	f->spare.n = 0;
	if (!head->ycc || buf_room(&f->spare, plane[0].stride + ROWS) < 0)
		return 0;
	if (setjmp(f->out) != 0)
		return leave(f, 0);
	enter(f, data, n);
	/* A grey picture may have factors that say nothing, up to 4. */
	if (d->comp_info->v_samp_factor > ROWS / DCTSIZE)
		return leave(f, 0);
	d->raw_data_out = TRUE;
	d->do_fancy_upsampling = FALSE;
	d->scale_num = 1;
	d->scale_denom = shrink[0];
	if (!start(f))
		return leave(f, 0);
	shrink_all(d, shrink);
	while (d->output_scanline < d->output_height)
		read_rows(f, shrink, plane);
	return leave(f, 1);
}
