/* img_gif - decodes the first image of a GIF.  For img. */
#include "image/img_formats.h"
#include "base/err.h"

#include <gif_lib.h>

#define WIDEST	65536u	/* pixels of a row: GIF counts in 16 bits */

struct input {
	const uint8_t	*p;
	size_t		 n;
};

static int
fail_gif(int code)
{
	const char *text = GifErrorString(code);

	return code == D_GIF_ERR_NOT_ENOUGH_MEM ? err_nomem() :
	    err_fail(ERR_FORMAT, "GIF: %s", text != NULL ? text : "damaged");
}

static int
read_input(GifFileType *f, GifByteType *to, int n)
{
	struct input *in = f->UserData;
	size_t k = (size_t)n < in->n ? (size_t)n : in->n;

	if (k > 0)
		memcpy(to, in->p, k);
	in->p += k;
	in->n -= k;
	return (int)k;
}

/* Reads up to the first image. */
static int
find_image(GifFileType *f)
{
	GifRecordType type;
	GifByteType *block;
	int code;

	for (;;) {
		if (DGifGetRecordType(f, &type) == GIF_ERROR)
			return fail_gif(f->Error);
		if (type == TERMINATE_RECORD_TYPE)
			return err_fail(ERR_FORMAT, "GIF: no image");
		if (type == IMAGE_DESC_RECORD_TYPE)
			return DGifGetImageDesc(f) == GIF_ERROR ? fail_gif(f->Error) : 0;
		if (type != EXTENSION_RECORD_TYPE)
			continue;
		for (int e = DGifGetExtension(f, &code, &block); e == GIF_ERROR || block != NULL;
		    e = DGifGetExtensionNext(f, &block))
			if (e == GIF_ERROR)
				return fail_gif(f->Error);
	}
}

/*
 * Opens the file and reads up to the first image.  The size is that of the screen, or more if the image reaches beyond,
 * as in Pillow.
 */
static int
open_gif(struct input *in, uint32_t pixels, struct img_head *head, GifFileType **f)
{
	const GifImageDesc *d;
	int code;

	if ((*f = DGifOpen(in, read_input, &code)) == NULL)
		return fail_gif(code);
	ERR_TRY(find_image(*f));
	d = &(*f)->Image;
	if (d->Width <= 0 || d->Height <= 0 || d->Left < 0 || d->Top < 0)
		return err_fail(ERR_FORMAT, "GIF: an image without a size");
	*head = (struct img_head){ .format = IMG_GIF, .c = 3, .h = (uint32_t)(d->Top + d->Height),
	    .w = (uint32_t)(d->Left + d->Width), .orientation = 1, .lossless = true };
	if ((*f)->SHeight > (int)head->h)
		head->h = (uint32_t)(*f)->SHeight;
	if ((*f)->SWidth > (int)head->w)
		head->w = (uint32_t)(*f)->SWidth;
	if ((uint64_t)head->w * head->h > pixels)
		return err_fail(ERR_PIXELS, "GIF: %ux%u is more than %u pixels", head->w, head->h, pixels);
	return 0;
}

static void
put_colour(const ColorMapObject *map, unsigned index, uint8_t *to)
{
	static const GifColorType black;
	const GifColorType *colour = map != NULL && index < (unsigned)map->ColorCount ? &map->Colors[index] : &black;

	to[0] = colour->Red;
	to[1] = colour->Green;
	to[2] = colour->Blue;
}

/* Reads rows y, y + step ... of the image into p [h,w,3], which holds it. */
static int
read_rows(GifFileType *f, uint32_t y, uint32_t step, uint32_t w, uint8_t *p)
{
	const GifImageDesc *d = &f->Image;
	const ColorMapObject *map = d->ColorMap != NULL ? d->ColorMap : f->SColorMap;
	GifPixelType row[WIDEST];

	for (; y < (uint32_t)d->Height; y += step) {
		uint8_t *to = p + ((size_t)((uint32_t)d->Top + y) * w + (uint32_t)d->Left) * 3;

		if (DGifGetLine(f, row, d->Width) == GIF_ERROR)
			return fail_gif(f->Error);
		for (uint32_t x = 0; x < (uint32_t)d->Width; x++)
			put_colour(map, row[x], to + x * 3);
	}
	return 0;
}

static int
read_image(GifFileType *f, uint32_t w, uint8_t *p)
{
	static const uint8_t first[] = { 0, 4, 2, 1 }, step[] = { 8, 8, 4, 2 };
	int e = 0;

	if (!f->Image.Interlace)
		return read_rows(f, 0, 1, w, p);
	for (size_t pass = 0; e == 0 && pass < sizeof(step); pass++)
		e = read_rows(f, first[pass], step[pass], w, p);
	return e;
}

int
img_gif_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	struct input in = { data, n };
	GifFileType *f;
	int e = open_gif(&in, pixels, head, &f);

	if (f != NULL)
		DGifCloseFile(f, NULL);
	return e;
}

int
img_gif_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out)
{
	struct input in = { data, n };
	struct img_head head;
	GifFileType *f;
	size_t area;
	int e = open_gif(&in, pixels, &head, &f);

	room->n = 0;
	area = e == 0 ? (size_t)head.h * head.w : 0;
	if (e == 0 && (e = buf_room(room, area * 3)) == 0) {
		for (size_t i = 0; i < area; i++)
			put_colour(f->SColorMap, (unsigned)f->SBackGroundColor, room->p + i * 3);
		e = read_image(f, head.w, room->p);
	}
	if (f != NULL)
		DGifCloseFile(f, NULL);
	if (e < 0)
		return e;
	if (c == 1)
		img_convert_channels(room->p, 3, area, 1, room->p);
	*out = (struct img){ .p = room->p, .c = c == 1 ? 1 : 3, .h = head.h, .w = head.w };
	return 0;
}
