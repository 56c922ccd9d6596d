/* img_jpeg_scan - reads the header of a JPEG and checks all of it, without making pixels. */
#include "image/jpeg/img_jpeg_scan.h"
#include "base/err.h"
#include "image/img.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#define SCANS		500	/* most scans of an image */

struct img_jpeg_scan {
	struct jpeg_decompress_struct	 d;
	struct jpeg_error_mgr		 err;
	jmp_buf				 out;
	int				 e;	/* the error that longjmp() reports */
	bool				 bad;	/* a warning reported lost data */
};

static struct img_jpeg_scan *
get_scan(j_common_ptr d)
{
	return d->client_data;
}

static void
record_message(j_common_ptr d)
{
	char text[JMSG_LENGTH_MAX];

	d->err->format_message(d, text);
	err_note(0, "JPEG: %s", text);
}

static void
on_scan_error(j_common_ptr d)
{
	record_message(d);
	get_scan(d)->e = d->err->msg_code == JERR_OUT_OF_MEMORY ? ERR_NOMEM : ERR_FORMAT;
	longjmp(get_scan(d)->out, 1);
}

static bool
is_harmless(int code)
{
	return code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM ||
	    code == JWRN_NOT_SEQUENTIAL;
}

static void
on_scan_message(j_common_ptr d, int level)
{
	if (level >= 0 || is_harmless(d->err->msg_code) || get_scan(d)->bad)
		return;
	record_message(d);
	get_scan(d)->bad = true;
}

int
img_jpeg_scan_new(struct img_jpeg_scan **out)
{
	struct img_jpeg_scan *s = calloc(1, sizeof(*s));
	int e;

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	s->d.err = jpeg_std_error(&s->err);
	s->err.error_exit = on_scan_error;
	s->err.emit_message = on_scan_message;
	s->d.client_data = s;
	if (setjmp(s->out) != 0) {
		e = s->e == ERR_NOMEM ? ERR_NOMEM : ERR_NOTSUP;
		img_jpeg_scan_free(s);
		return e;
	}
	/* libjpeg checks its version and the size of the struct here. */
	jpeg_create_decompress(&s->d);
	jpeg_destroy_decompress(&s->d);
	*out = s;
	return 0;
}

void
img_jpeg_scan_free(struct img_jpeg_scan *s)
{
	free(s);
}

/* The EXIF orientation in the first segment that holds EXIF. */
static struct exif
find_exif(const uint8_t *p, size_t n)
{
	struct exif x = { .orientation = 1 };

	for (size_t at = 2; at + 4 <= n && p[at] == 0xff;) {
		size_t len = (size_t)(p[at + 2] << 8 | p[at + 3]);

		if (p[at + 1] == 0xff) {	/* padding */
			at++;
			continue;
		}
		if (p[at + 1] == 0xda || len < 2 || len > n - at - 2)
			break;
		if (p[at + 1] == 0xe1 && len >= 8 && memcmp(p + at + 4, "Exif\0\0", 6) == 0) {
			x = exif_read(p + at + 4, len - 2);
			if (x.at > 0)
				x.at += at + 4;
			break;
		}
		at += 2 + len;
	}
	return x;
}

/* Whether chroma has the density of the output's or twice that, so that planes can be used without conversion. */
static bool
are_planes_usable(const struct jpeg_decompress_struct *d)
{
	const jpeg_component_info *c = d->comp_info;

	if (d->data_precision != 8)
		return false;
	if (d->jpeg_color_space == JCS_GRAYSCALE)
		return d->num_components == 1;
	return d->jpeg_color_space == JCS_YCbCr && d->num_components == 3 &&
	    c[0].h_samp_factor <= 2 && c[0].v_samp_factor <= 2 &&
	    c[1].h_samp_factor == 1 && c[1].v_samp_factor == 1 && c[2].h_samp_factor == 1 && c[2].v_samp_factor == 1;
}

/* Makes a decoder for each image: an old one would fill in the previous image's tables where the image has none. */
static int
read_scan_header(struct img_jpeg_scan *s, const uint8_t *data, size_t n)
{
	s->bad = false;
	jpeg_create_decompress(&s->d);
	jpeg_mem_src(&s->d, data, (unsigned long)n);
	if (jpeg_read_header(&s->d, TRUE) != JPEG_HEADER_OK || s->d.image_width == 0 || s->d.image_height == 0)
		return err_fail(ERR_FORMAT, "JPEG: no size in its header");
	return 0;
}

static int
close_scan(struct img_jpeg_scan *s, int e)
{
	jpeg_destroy_decompress(&s->d);
	return e;
}

uint64_t
img_jpeg_scan_most(uint32_t pixels)
{
	return (uint64_t)IMG_JPEG_SCAN_SHARE * (pixels > IMG_PIXELS ? pixels : IMG_PIXELS);
}

/*
 * Every scan starts with these two bytes, which are no code, so that a metadatum may add to their number and nothing
 * hides a scan.
 */
uint64_t
img_jpeg_scan_count(const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n;
	uint64_t scans = 0;

	for (; (p = memmem(p, (size_t)(end - p), "\xff\xda", 2)) != NULL; p += 2)
		scans++;
	return scans;
}

/* The width times the height in the header, or 0 where libjpeg might read other segments than this does. */
static uint64_t
find_area(const uint8_t *p, size_t n)
{
	for (size_t at = 2; at + 9 <= n && p[at] == 0xff;) {
		uint8_t mark = p[at + 1];
		size_t len = (size_t)(p[at + 2] << 8 | p[at + 3]);

		if (mark >= 0xc0 && mark <= 0xcf && mark != 0xc4 && mark != 0xc8 && mark != 0xcc)
			return (uint64_t)(p[at + 5] << 8 | p[at + 6]) * (uint64_t)(p[at + 7] << 8 | p[at + 8]);
		/* Those have no length, or end the header. */
		if (mark < 0xc0 || (mark >= 0xd0 && mark <= 0xda) || mark == 0xff || len < 2)
			return 0;
		at += 2 + len;
	}
	return 0;
}

uint64_t
img_jpeg_scan_work(const uint8_t *data, size_t n)
{
	uint64_t scans = img_jpeg_scan_count(data, n), area;

	if (scans < 2)
		return 0;
	area = find_area(data, n);
	return area == 0 ? UINT64_MAX : scans * area;
}

/* Bounds the work: each scan costs a pass over all pixels, even one of few bytes. */
static int
check_scans(struct jpeg_decompress_struct *d, const uint8_t *p, size_t n, uint32_t pixels)
{
	uint64_t scans, most = img_jpeg_scan_most(pixels);

	if (!jpeg_has_multiple_scans(d))
		return 0;
	scans = img_jpeg_scan_count(p, n);
	if (scans > SCANS)
		return err_fail(ERR_LIMIT, "JPEG: %llu scans are more than %u", (unsigned long long)scans, SCANS);
	if (scans * d->image_width * d->image_height > most)
		return err_fail(ERR_LIMIT, "JPEG: %llu scans of %ux%u have more than %llu pixels together, "
		    "%u times --max-pixels or its default", (unsigned long long)scans, d->image_width,
		    d->image_height, (unsigned long long)most, IMG_JPEG_SCAN_SHARE);
	return 0;
}

int
img_jpeg_scan_head(struct img_jpeg_scan *s, const uint8_t *data, size_t n, uint32_t pixels,
    struct img_jpeg_head *head)
{
	struct jpeg_decompress_struct *d = &s->d;
	int e;

	if (setjmp(s->out) != 0)
		return close_scan(s, s->e);
	if ((e = read_scan_header(s, data, n)) < 0)
		return close_scan(s, e);
	*head = (struct img_jpeg_head){
		.h = d->image_height, .w = d->image_width, .c = (uint32_t)d->num_components,
		.inverted = d->saw_Adobe_marker, .ycc = are_planes_usable(d), .exif = find_exif(data, n),
		.sub_h = d->num_components == 1 ? 1 : (uint32_t)d->comp_info[0].v_samp_factor,
		.sub_w = d->num_components == 1 ? 1 : (uint32_t)d->comp_info[0].h_samp_factor,
	};
	if ((uint64_t)head->w * head->h > pixels)
		e = err_fail(ERR_PIXELS, "JPEG: %ux%u is more than %u pixels", head->w, head->h, pixels);
	else if (head->c != 1 && head->c != 3 && head->c != 4)
		e = err_fail(ERR_NOTSUP, "JPEG: %u channels", head->c);
	else
		e = check_scans(d, data, n, pixels);
	return close_scan(s, e);
}

int
img_jpeg_scan_rows(struct img_jpeg_scan *s, const uint8_t *data, size_t n, uint32_t c, uint8_t *row, img_row *fn,
    void *ctx)
{
	struct jpeg_decompress_struct *d = &s->d;
	int e;

	if (setjmp(s->out) != 0)
		return close_scan(s, s->e);
	if ((e = read_scan_header(s, data, n)) < 0)
		return close_scan(s, e);
	d->out_color_space = c == 1 ? JCS_GRAYSCALE : c == 3 ? JCS_RGB : JCS_CMYK;
	jpeg_start_decompress(d);
	while (e == 0 && d->output_scanline < d->output_height) {
		jpeg_read_scanlines(d, &row, 1);
		e = fn(ctx, row);
	}
	if (e < 0)
		return close_scan(s, e);
	jpeg_finish_decompress(d);
	return close_scan(s, s->bad ? ERR_FORMAT : 0);
}

int
img_jpeg_scan_check(struct img_jpeg_scan *s, const uint8_t *data, size_t n)
{
	int e;

	if (setjmp(s->out) != 0)
		return close_scan(s, s->e);
	if ((e = read_scan_header(s, data, n)) < 0)
		return close_scan(s, e);
	jpeg_read_coefficients(&s->d);
	jpeg_finish_decompress(&s->d);
	return close_scan(s, s->bad ? ERR_FORMAT : 0);
}
