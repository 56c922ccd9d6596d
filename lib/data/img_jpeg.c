/* img_jpeg - JPEG bytes in, pixels out, and the reverse: serves img. */
#include "data/img_jpeg.h"
#include "base/err.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <turbojpeg.h>

struct img_jpeg {
	tjhandle in, out;	/* NULL until needed */
};

int
img_jpeg_new(struct img_jpeg **j)
{
	*j = calloc(1, sizeof(**j));
	return *j != NULL ? 0 : err_nomem();
}

void
img_jpeg_free(struct img_jpeg *j)
{
	if (j == NULL)
		return;
	if (j->in != NULL)
		tjDestroy(j->in);
	if (j->out != NULL)
		tjDestroy(j->out);
	free(j);
}

/* A handle that met an error in a header goes on inside that header with the next picture: it is given up. */
static int
fault(tjhandle *t)
{
	err_note(0, "JPEG: %s", tjGetErrorStr2(*t));
	tjDestroy(*t);
	*t = NULL;
	return ERR_FORMAT;
}

/*
 * libjpeg warns of lost pixels (a file cut short, bad codes) and of trifles
 * alike.  The trifles stand in many photographs of ImageNet; turbojpeg tells
 * them apart by nothing but the text.
 */
static bool
harmless(tjhandle t)
{
	static const char *const text[] = { "extraneous bytes before marker", "unknown JFIF", "Adobe color transform" };

	if (tjGetErrorCode(t) != TJERR_WARNING)
		return false;
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		if (strstr(tjGetErrorStr2(t), text[i]) != NULL)
			return true;
	return false;
}

static int
decode_as(struct img_jpeg *j, const uint8_t *data, size_t n, int format, const struct img *size, struct buf *room)
{
	int e;

	room->n = 0;
	if ((e = buf_room(room, (size_t)size->h * size->w * (size_t)tjPixelSize[format])) < 0)
		return e;
	if (tjDecompress2(j->in, data, (unsigned long)n, room->p, (int)size->w, 0, (int)size->h, format,
	    TJFLAG_LIMITSCANS) < 0 && !harmless(j->in))
		return fault(&j->in);
	return 0;
}

/* In place, as the result is the shorter.  Adobe stores 255 - ink. */
static void
from_cmyk(uint8_t *p, size_t pixels, uint32_t c)
{
	for (size_t i = 0; i < pixels; i++) {
		unsigned k = p[i * 4 + 3];
		unsigned r = p[i * 4] * k / 255, g = p[i * 4 + 1] * k / 255, b = p[i * 4 + 2] * k / 255;

		if (c == 1) {
			p[i] = (uint8_t)((r * 299 + g * 587 + b * 114 + 500) / 1000);
		} else {
			p[i * 3] = (uint8_t)r;
			p[i * 3 + 1] = (uint8_t)g;
			p[i * 3 + 2] = (uint8_t)b;
		}
	}
}

int
img_jpeg_decode(struct img_jpeg *j, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
    struct buf *room, struct img *out)
{
	int w = 0, h = 0, sampling, space, e;
	bool cmyk;

	if (j->in == NULL && (j->in = tjInitDecompress()) == NULL)
		return err_nomem();
	if (tjDecompressHeader3(j->in, data, (unsigned long)n, &w, &h, &sampling, &space) < 0 && !harmless(j->in))
		return fault(&j->in);
	if (w <= 0 || h <= 0)
		return err_fail(ERR_FORMAT, "JPEG: no size in its header");
	if ((uint64_t)w * (uint64_t)h > pixels)
		return err_fail(ERR_LIMIT, "JPEG: %dx%d is more than %u pixels", w, h, pixels);
	cmyk = space == TJCS_CMYK || space == TJCS_YCCK;
	if (c == 0)
		c = space == TJCS_GRAY ? 1 : 3;
	*out = (struct img){ .c = c, .h = (uint32_t)h, .w = (uint32_t)w };
	if ((e = decode_as(j, data, n, cmyk ? TJPF_CMYK : c == 1 ? TJPF_GRAY : TJPF_RGB, out, room)) < 0)
		return e;
	if (cmyk)
		from_cmyk(room->p, (size_t)w * (size_t)h, c);
	out->p = room->p;
	return 0;
}

int
img_jpeg_encode(struct img_jpeg *j, const struct img *in, int quality, struct buf *out)
{
	int sampling = in->c == 1 ? TJSAMP_GRAY : TJSAMP_420, e;
	unsigned long n;
	unsigned char *p;

	assert(in->c == 1 || in->c == 3);
	if (j->out == NULL && (j->out = tjInitCompress()) == NULL)
		return err_nomem();
	if (in->w > 65500 || in->h > 65500 || (n = tjBufSize((int)in->w, (int)in->h, sampling)) == (unsigned long)-1)
		return err_fail(ERR_LIMIT, "JPEG: %ux%u is too large", in->w, in->h);
	if ((e = buf_room(out, n)) < 0)
		return e;
	p = out->p + out->n;
	if (tjCompress2(j->out, in->p, (int)in->w, 0, (int)in->h, in->c == 1 ? TJPF_GRAY : TJPF_RGB, &p, &n,
	    sampling, quality, TJFLAG_NOREALLOC) < 0)
		return fault(&j->out);
	out->n += n;
	return 0;
}
