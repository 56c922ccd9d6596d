/* img_tiff - decodes the first page of a TIFF.  For img. */
#include "image/img_formats.h"
#include "base/err.h"
#include "image/jpeg/img_jpeg_scan.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <tiffio.h>

#define JPEG_ROWS	65535u
#define SHARED		((uint64_t)1 << 28)	/* bytes that a page's parts may have in common, such as blank tiles */

struct input {
	const uint8_t	*p;
	uint64_t	 n, at;
};

/* Whether libtiff has reported damage to this thread, which it need not return as an error. */
static _Thread_local bool damaged;

/* Notes libtiff's message as this thread's line, instead of printing it. */
static void
note_tiff_error(const char *module, const char *fmt, va_list ap)
{
	char text[256];

	(void)module;
	vsnprintf(text, sizeof(text), fmt, ap);
	err_note(0, "TIFF: %s", text);
	damaged = true;
}

/* Warnings of libjpeg and of the decoders of fax are about lost pixels, apart from a few; others are about metadata. */
static void
note_tiff_warning(const char *module, const char *fmt, va_list ap)
{
	static const char *const harmless[] = { "extraneous bytes", "unknown JFIF", "Unknown Adobe", "Invalid SOS" };
	char text[256];

	if (module == NULL ||
	    (strcmp(module, "JPEGLib") != 0 && strcmp(module, "LibJpeg") != 0 && strncmp(module, "Fax", 3) != 0))
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (strstr(text, harmless[i]) != NULL)
			return;
	err_note(0, "TIFF: %s", text);
	damaged = true;
}

/* libtiff keeps them for the process. */
static void
set_handlers(void)
{
	TIFFSetErrorHandler(note_tiff_error);
	TIFFSetWarningHandler(note_tiff_warning);
}

static tmsize_t
read_input(thandle_t ctx, void *to, tmsize_t n)
{
	struct input *in = ctx;
	uint64_t left = in->at < in->n ? in->n - in->at : 0, k = (uint64_t)n < left ? (uint64_t)n : left;

	if (k > 0)
		memcpy(to, in->p + in->at, k);
	in->at += k;
	return (tmsize_t)k;
}

static tmsize_t
refuse_write(thandle_t ctx, void *from, tmsize_t n)
{
	(void)ctx, (void)from, (void)n;
	return 0;
}

static toff_t
seek_input(thandle_t ctx, toff_t to, int whence)
{
	struct input *in = ctx;

	in->at = to + (whence == SEEK_CUR ? in->at : whence == SEEK_END ? in->n : 0);
	return in->at;
}

static int
close_input(thandle_t ctx)
{
	(void)ctx;
	return 0;
}

static toff_t
get_input_size(thandle_t ctx)
{
	return ((struct input *)ctx)->n;
}

/* Of a file that is not mapped, libtiff reads plain tiles only if their bytes are a multiple of 1024. */
static int
map_input(thandle_t ctx, void **p, toff_t *n)
{
	const struct input *in = ctx;

	*p = (void *)(uintptr_t)in->p;
	*n = in->n;
	return 1;
}

static void
unmap_input(thandle_t ctx, void *p, toff_t n)
{
	(void)ctx, (void)p, (void)n;
}

/* The pixels of all scans of JPEG in the page, as many as are decoded or more; UINT64_MAX: its parts share bytes. */
static uint64_t
find_work(TIFF *t, const struct input *in, uint32_t w, uint64_t most)
{
	uint32_t parts = TIFFIsTiled(t) ? TIFFNumberOfTiles(t) : TIFFNumberOfStrips(t);
	uint64_t work = 0, seen = 0, scans;
	uint16_t compression = COMPRESSION_NONE;

	TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
	/* Its only JPEG may be spread over the file, and be taller than the image. */
	if (compression == COMPRESSION_OJPEG)
		return (scans = img_jpeg_scan_count(in->p, in->n)) > 1 ? scans * w * JPEG_ROWS : 0;
	for (uint32_t i = 0; compression == COMPRESSION_JPEG && i < parts && work <= most; i++) {
		uint64_t at = TIFFGetStrileOffset(t, i), n = TIFFGetStrileByteCount(t, i), more;

		if (at >= in->n)
			continue;
		n = n < in->n - at ? n : in->n - at;
		seen += n;
		more = seen > in->n + SHARED ? UINT64_MAX : img_jpeg_scan_work(in->p + at, n);
		work = more < UINT64_MAX - work ? work + more : UINT64_MAX;
	}
	return work;
}

/* libtiff bounds the number of scans alone, and each costs a pass over all pixels of its part. */
static int
check_work(TIFF *t, const struct input *in, uint32_t w, uint32_t pixels)
{
	uint64_t most = img_jpeg_scan_most(pixels);

	if (find_work(t, in, w, most) <= most)
		return 0;
	return err_fail(ERR_LIMIT, "TIFF: its JPEG scans have more than %llu pixels together, %u times --max-pixels "
	    "or its default", (unsigned long long)most, IMG_JPEG_SCAN_SHARE);
}

/* Opens the file and reads the first page's header. */
static int
open_tiff(struct input *in, uint32_t pixels, struct img_head *head, TIFF **t)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint16_t turn = 1, samples = 1, photometric = 0;
	char why[ERR_LINE];

	pthread_once(&once, set_handlers);
	err_note(0, "TIFF: damaged");
	if ((*t = TIFFClientOpen("", "r", in, read_input, refuse_write, seek_input, close_input, get_input_size,
	    map_input, unmap_input)) == NULL)
		return ERR_FORMAT;
	*head = (struct img_head){ .format = IMG_TIFF, .lossless = true };
	TIFFGetField(*t, TIFFTAG_IMAGEWIDTH, &head->w);
	TIFFGetField(*t, TIFFTAG_IMAGELENGTH, &head->h);
	TIFFGetFieldDefaulted(*t, TIFFTAG_ORIENTATION, &turn);
	TIFFGetFieldDefaulted(*t, TIFFTAG_SAMPLESPERPIXEL, &samples);
	TIFFGetField(*t, TIFFTAG_PHOTOMETRIC, &photometric);
	head->orientation = turn >= 1 && turn <= 8 ? turn : 1;
	head->c = samples <= 2 && photometric <= PHOTOMETRIC_MINISBLACK ? 1 : 3;
	if (head->w == 0 || head->h == 0)
		return err_fail(ERR_FORMAT, "TIFF: no size in its header");
	if ((uint64_t)head->w * head->h > pixels)
		return err_fail(ERR_PIXELS, "TIFF: %ux%u is more than %u pixels", head->w, head->h, pixels);
	/* Memory of a part is allocated before its bytes are read: 16 bytes a pixel are the most of any kind. */
	if ((TIFFIsTiled(*t) ? TIFFTileSize64(*t) : TIFFStripSize64(*t)) / 16 > pixels)
		return err_fail(ERR_LIMIT, "TIFF: parts of more than %u pixels", pixels);
	if (!TIFFRGBAImageOK(*t, why))
		return err_fail(ERR_NOTSUP, "TIFF: %s", why);
	return check_work(*t, in, head->w, pixels);
}

int
img_tiff_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	struct input in = { data, n, 0 };
	TIFF *t;
	int e = open_tiff(&in, pixels, head, &t);

	if (t != NULL)
		TIFFClose(t);
	return e;
}

/* The ratio to white that CIELab's function of lightness stands for. */
static double
invert_lightness(double f)
{
	return f > 6. / 29 ? f * f * f : (f - 4. / 29) * 108 / 841;
}

static uint8_t
encode_srgb(double v)
{
	v = v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
	return (uint8_t)(fmin(fmax(v, 0), 1) * 255 + 0.5);
}

/*
 * Converts the bytes of L*, a* and b* to sRGB, with white for white, as colour profiles do: the matrix is that of IEC
 * 61966-2-1, adapted to D50 by Bradford's method.  libtiff shows white yellowish, with another gamma.
 */
static void
convert_lab(uint8_t *p, size_t pixels, bool wide)
{
	static const double rgb[3][3] = { { 3.02173, -1.61687, -0.40486 }, { -0.94375, 1.91614, 0.02761 },
	    { 0.06937, -0.22899, 1.15962 } };

	for (; pixels-- > 0; p += 4) {
		/* a* and b* are signed.  libtiff divided numbers of 16 bits by 257, as if they were not. */
		double y = (p[0] * 100. / 255 + 16) / 116;
		double a = wide ? (int16_t)(p[1] * 257) / 256. : (int8_t)p[1];
		double b = wide ? (int16_t)(p[2] * 257) / 256. : (int8_t)p[2];
		double xyz[3] = { invert_lightness(y + a / 500), invert_lightness(y), invert_lightness(y - b / 200) };

		for (int i = 0; i < 3; i++)
			p[i] = encode_srgb(rgb[i][0] * xyz[0] + rgb[i][1] * xyz[1] + rgb[i][2] * xyz[2]);
	}
}

/*
 * Has libtiff leave the colours as they are stored: as in other formats, alpha is dropped.  Returns whether they are
 * stored multiplied by it.
 */
static bool
keep_colours(TIFF *t)
{
	uint16_t n = 0, multiplied = EXTRASAMPLE_ASSOCALPHA, *kinds = NULL, kind;

	TIFFGetFieldDefaulted(t, TIFFTAG_EXTRASAMPLES, &n, &kinds);
	kind = n > 0 ? kinds[0] : EXTRASAMPLE_UNSPECIFIED;
	if (kind == EXTRASAMPLE_UNASSALPHA)
		TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, &multiplied);
	return kind == EXTRASAMPLE_ASSOCALPHA;
}

/* Divides RGBA by its alpha, as Pillow does. */
static void
divide_by_alpha(uint8_t *p, size_t pixels)
{
	for (; pixels-- > 0; p += 4)
		for (int i = 0; i < 3 && p[3] > 0; i++)
			p[i] = p[i] < p[3] ? (uint8_t)(p[i] * 255u / p[3]) : 255;
}

int
img_tiff_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out)
{
	struct input in = { data, n, 0 };
	struct img_head head;
	uint16_t photometric = 0, bits = 1;
	bool multiplied = false;
	TIFF *t;
	int e = open_tiff(&in, pixels, &head, &t);

	room->n = 0;
	if (e == 0 && (e = buf_room(room, (size_t)head.h * head.w * 4)) == 0) {
		TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &photometric);
		TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &bits);
		/* Taken for RGB, the numbers stay as they are. */
		if (photometric == PHOTOMETRIC_CIELAB)
			TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
		multiplied = keep_colours(t);
		err_note(0, "TIFF: damaged");
		damaged = false;
		/* In the stored orientation, which the caller undoes. */
		if (!TIFFReadRGBAImageOriented(t, head.w, head.h, (uint32_t *)(void *)room->p,
		    (int)head.orientation, 1) || damaged)
			e = ERR_FORMAT;
	}
	if (t != NULL)
		TIFFClose(t);
	if (e < 0)
		return e;
	if (multiplied)
		divide_by_alpha(room->p, (size_t)head.h * head.w);
	if (photometric == PHOTOMETRIC_CIELAB)
		convert_lab(room->p, (size_t)head.h * head.w, bits == 16);
	*out = (struct img){ .p = room->p, .c = c > 0 ? c : head.c, .h = head.h, .w = head.w };
	img_convert_channels(room->p, 4, (size_t)head.h * head.w, out->c, room->p);
	return 0;
}
