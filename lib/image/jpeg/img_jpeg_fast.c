/* img_jpeg_fast - decodes undamaged baseline JPEGs to pixels or planes.  For img_jpeg. */
#include "image/jpeg/img_jpeg_fast.h"
#include "image/jpeg/huff.h"
#include "base/err.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#define JPEG_INTERNALS
#include <jpegint.h>

#define GROUP	4	/* rows of pixels per read: at least those of one row of chroma */
#define LUMA_ROWS	(2 * DCTSIZE)	/* most rows of luma per read */

struct img_jpeg_fast {
	struct jpeg_decompress_struct	 d;		/* first, because callbacks get its address */
	struct jpeg_error_mgr		 err;
	struct huff			*huff;
	struct buf			 spare;		/* receives rows that are not needed */
	jmp_buf				 out;
};

static void
on_fast_error(j_common_ptr d)
{
	struct img_jpeg_fast *f = (struct img_jpeg_fast *)d;

	longjmp(f->out, 1);
}

/* Refuses on any warning: img_jpeg decides which ones matter. */
static void
on_fast_message(j_common_ptr d, int level)
{
	if (level < 0)
		on_fast_error(d);
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
	f->err.error_exit = on_fast_error;
	f->err.emit_message = on_fast_message;
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

static bool
start_decoder(struct img_jpeg_fast *f)
{
	return !jpeg_has_multiple_scans(&f->d) && jpeg_start_decompress(&f->d) && huff_attach(f->huff, &f->d);
}

/* Makes a decoder for each image: an old one would fill in the previous image's tables where the image has none. */
static void
open_decoder(struct img_jpeg_fast *f, const uint8_t *data, size_t n)
{
	jpeg_create_decompress(&f->d);
	jpeg_mem_src(&f->d, data, (unsigned long)n);
	jpeg_read_header(&f->d, TRUE);
}

static int
close_decoder(struct img_jpeg_fast *f, int result)
{
	jpeg_destroy_decompress(&f->d);
	return result;
}

/*
 * Crops the rows that d returns to the region and a margin of one MCU, because chroma samples next to the region
 * count for its pixels.  libjpeg crops at the edges of MCUs.  Returns the first column.
 */
static uint32_t
crop_columns(struct jpeg_decompress_struct *d, const struct img_region *region)
{
	uint32_t mcu = DCTSIZE * (uint32_t)d->max_h_samp_factor;
	JDIMENSION x = region->x > mcu ? region->x - mcu : 0, end = region->x + region->w + mcu;
	JDIMENSION w = (end < d->output_width ? end : d->output_width) - x;

	if (d->output_width - w < mcu)
		return 0;
	jpeg_crop_scanline(d, &x, &w);
	return x;
}

/* libjpeg-turbo writes aligned rows with stores that bypass the cache, which makes reading them slow. */
static bool
bypasses_cache(const uint8_t *row)
{
	return (uintptr_t)row % 32 == 0;
}

static void
read_region(struct img_jpeg_fast *f, const struct img_region *region, uint8_t *p)
{
	struct jpeg_decompress_struct *d = &f->d;
	uint32_t c = (uint32_t)d->output_components, x = crop_columns(d, region), end = region->y + region->h, n;
	uint8_t *spare = f->spare.p + (bypasses_cache(f->spare.p) ? 16 : 0);
	size_t bytes = (size_t)region->w * c, stride = (size_t)d->output_width * c;
	bool direct = d->output_width == region->w && !bypasses_cache(p);
	JSAMPROW row[GROUP];

	if (region->y > 0)
		jpeg_skip_scanlines(d, region->y);
	for (; d->output_scanline < end; p += n * bytes) {
		uint32_t count = end - d->output_scanline < GROUP ? end - d->output_scanline : GROUP;

		for (uint32_t i = 0; i < count; i++)
			row[i] = direct ? p + i * bytes : spare + i * stride;
		n = jpeg_read_scanlines(d, row, count);
		for (uint32_t i = 0; !direct && i < n; i++)
			memcpy(p + i * bytes, row[i] + (size_t)(region->x - x) * c, bytes);
	}
}

int
img_jpeg_fast_region(struct img_jpeg_fast *f, const uint8_t *data, size_t n, uint32_t h, uint32_t w,
    const struct img_region *region, uint32_t c, uint8_t *p)
{
	struct jpeg_decompress_struct *d = &f->d;

	f->spare.n = 0;
	if (buf_room(&f->spare, (size_t)w * c * GROUP + 16) < 0 || setjmp(f->out) != 0)
		return close_decoder(f, 0);
	open_decoder(f, data, n);
	if (d->image_height != h || d->image_width != w ||
	    (d->jpeg_color_space != JCS_GRAYSCALE && d->jpeg_color_space != JCS_YCbCr))
		return close_decoder(f, 0);
	d->out_color_space = c == 1 ? JCS_GRAYSCALE : JCS_RGB;
	if (!start_decoder(f))
		return close_decoder(f, 0);
	read_region(f, region, p);
	huff_drain(f->huff, d);
	return close_decoder(f, 1);
}

/* The memory of row y of a plane; a spare row beyond the end. */
static JSAMPROW
get_plane_row(const struct img_jpeg_fast *f, const struct resize_plane *plane, uint32_t y)
{
	return y <= plane->h ? plane->p + y * plane->stride : f->spare.p;
}

/*
 * Sets the size that an 8 by 8 block of the component becomes, because libjpeg itself never shrinks chroma more than
 * luma.  The field is one number or, from version 7 of the interface on, two; their place is found by its neighbours.
 */
static void
shrink_component(jpeg_component_info *c, int size)
{
	size_t at = offsetof(jpeg_component_info, height_in_blocks) + sizeof(c->height_in_blocks);

	for (; at < offsetof(jpeg_component_info, downsampled_width); at += sizeof(size))
		memcpy((char *)c + at, &size, sizeof(size));
	c->MCU_sample_width = c->MCU_width * size;
}

/* Call it after start_decoder(), which sets libjpeg's own sizes. */
static void
shrink_all(struct jpeg_decompress_struct *d, const unsigned shrink[3])
{
	for (int i = 0; i < d->num_components; i++)
		shrink_component(&d->comp_info[i], DCTSIZE / (int)shrink[i]);
	d->idct->start_pass(d);
}

static void
read_plane_rows(struct img_jpeg_fast *f, const unsigned shrink[3], const struct resize_plane *plane)
{
	struct jpeg_decompress_struct *d = &f->d;
	uint32_t lines = (uint32_t)d->max_v_samp_factor * DCTSIZE / shrink[0], at = d->output_scanline / lines;
	JSAMPROW row[3][LUMA_ROWS];
	JSAMPARRAY rows[3] = { row[0], row[1], row[2] };

	for (int i = 0; i < d->num_components; i++) {
		uint32_t of = (uint32_t)d->comp_info[i].v_samp_factor * DCTSIZE / shrink[i];

		for (uint32_t y = 0; y < of; y++)
			row[i][y] = get_plane_row(f, &plane[i], at * of + y);
	}
	jpeg_read_raw_data(d, rows, lines);
}

int
img_jpeg_fast_planes(struct img_jpeg_fast *f, const uint8_t *data, size_t n, const struct img_jpeg_head *head,
    const unsigned shrink[3], const struct resize_plane plane[3])
{
	struct jpeg_decompress_struct *d = &f->d;

	f->spare.n = 0;
	if (!head->ycc || buf_room(&f->spare, plane[0].stride + LUMA_ROWS) < 0)
		return 0;
	if (setjmp(f->out) != 0)
		return close_decoder(f, 0);
	open_decoder(f, data, n);
	/* A grey image may have any sampling factor up to 4, without effect. */
	if (d->comp_info->v_samp_factor > LUMA_ROWS / DCTSIZE)
		return close_decoder(f, 0);
	d->raw_data_out = TRUE;
	d->do_fancy_upsampling = FALSE;
	d->scale_num = 1;
	d->scale_denom = shrink[0];
	if (!start_decoder(f))
		return close_decoder(f, 0);
	shrink_all(d, shrink);
	while (d->output_scanline < d->output_height)
		read_plane_rows(f, shrink, plane);
	return close_decoder(f, 1);
}
