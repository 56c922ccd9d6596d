/* img_heif - decodes HEIC and AVIF with libheif, if that is installed.  For img_apart. */
#include "image/loaded/img_apart.h"
#include "base/err.h"
#include "base/so.h"

/* As in heif.h, of libheif.so.1. */
enum { UNSUPPORTED_FILE = 3, UNSUPPORTED = 4, NO_MEMORY = 6 };
enum { OVER_LIMIT = 1000, NO_CODEC = 3000 };
enum { COLOURS_RGB = 1, CHROMA_RGB = 10, CHANNEL_RGB = 10 };

struct heif_error {
	int		 code, sub;
	const char	*text;
};

struct heif_options {
	uint8_t		 version, keep_turned;
	void		*progress[4];
	uint8_t		 to_8_bits;
};

/* The library, and an image in it. */
struct heif {
	struct heif_error	 (*init)(void *);
	void			*(*context_alloc)(void);
	struct heif_error	 (*read)(void *context, const void *p, size_t n, const void *options);
	struct heif_error	 (*primary)(void *context, void **handle);
	int			 (*handle_width)(const void *handle);
	int			 (*handle_height)(const void *handle);
	int			 (*handle_bits)(const void *handle);
	struct heif_options	*(*options_alloc)(void);
	struct heif_error	 (*decode)(const void *handle, void **image, int colours, int chroma,
				    const struct heif_options *options);
	int			 (*image_width)(const void *image, int channel);
	int			 (*image_height)(const void *image, int channel);
	const uint8_t		*(*plane)(const void *image, int channel, int *stride);
	void			*context, *handle, *image;
};

_Static_assert(sizeof(struct heif) <= IMG_APART_LIBRARY, "see img_apart.h");

static int
load_libheif(void *library)
{
	struct heif *h = library;
	static const char *const names[] = { "libheif.so.1", NULL };
	const struct so_symbol symbols[] = {
		{ "heif_init", &h->init, true }, { "heif_context_alloc", &h->context_alloc, false },
		{ "heif_context_read_from_memory_without_copy", &h->read, false },
		{ "heif_context_get_primary_image_handle", &h->primary, false },
		{ "heif_image_handle_get_width", &h->handle_width, false },
		{ "heif_image_handle_get_height", &h->handle_height, false },
		{ "heif_image_handle_get_luma_bits_per_pixel", &h->handle_bits, false },
		{ "heif_decoding_options_alloc", &h->options_alloc, false },
		{ "heif_decode_image", &h->decode, false },
		{ "heif_image_get_width", &h->image_width, false },
		{ "heif_image_get_height", &h->image_height, false },
		{ "heif_image_get_plane_readonly", &h->plane, false },
	};

	if (so_load(names, symbols, sizeof(symbols) / sizeof(*symbols)) == 0) {
		/* It loads its decoders, which are files, while it may open some. */
		if (h->init != NULL)
			h->init(NULL);
		return 0;
	}
	return err_wrap(ERR_NOTSUP, "HEIC and AVIF are read where libheif is installed; install libheif1, or convert "
	    "the image to PNG or JPEG");
}

static int
fail_heif(const struct heif_error *e)
{
	if (e->code == NO_MEMORY && e->sub != OVER_LIMIT)
		return err_nomem();
	if (e->code == UNSUPPORTED && e->sub == NO_CODEC)
		return err_fail(ERR_NOTSUP, "HEIF: libheif has no decoder for it; install libheif-plugin-libde265 "
		    "(HEIC) or libheif-plugin-dav1d (AVIF)");
	return err_fail(e->sub == OVER_LIMIT ? ERR_LIMIT :
	    e->code == UNSUPPORTED || e->code == UNSUPPORTED_FILE ? ERR_NOTSUP : ERR_FORMAT, "HEIF: %s", e->text);
}

/* Reads the header of the primary image.  The process that decodes ends with the image, and so frees nothing. */
static int
open_heif(void *library, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	struct heif *h = library;
	struct heif_error no;
	int width, height;

	if ((h->context = h->context_alloc()) == NULL)
		return err_nomem();
	no = h->read(h->context, data, n, NULL);
	if (no.code == 0)
		no = h->primary(h->context, &h->handle);
	if (no.code != 0)
		return fail_heif(&no);
	width = h->handle_width(h->handle);
	height = h->handle_height(h->handle);
	if (width <= 0 || height <= 0)
		return err_fail(ERR_FORMAT, "HEIF: no size in its header");
	if ((uint64_t)width * (uint64_t)height > pixels)
		return err_fail(ERR_PIXELS, "HEIF: %dx%d is more than %u pixels", width, height, pixels);
	*head = (struct img_head){ .format = IMG_HEIF, .c = 3, .h = (uint32_t)height, .w = (uint32_t)width,
	    .orientation = 1, .odd = h->handle_bits(h->handle) > 8 };
	return 0;
}

/* Decodes the image to RGB of 8 bits. */
static int
decode_heif(void *library, const struct img_head *head, uint8_t *p)
{
	struct heif *h = library;
	struct heif_options *options = h->options_alloc();
	size_t row = (size_t)head->w * 3;
	const uint8_t *plane;
	struct heif_error no;
	int stride = 0;

	if (options == NULL)
		return err_nomem();
	if (options->version >= 2)
		options->to_8_bits = 1;
	no = h->decode(h->handle, &h->image, COLOURS_RGB, CHROMA_RGB, options);
	if (no.code != 0)
		return fail_heif(&no);
	plane = h->plane(h->image, CHANNEL_RGB, &stride);
	if (plane == NULL || h->image_width(h->image, CHANNEL_RGB) != (int)head->w ||
	    h->image_height(h->image, CHANNEL_RGB) != (int)head->h)
		return err_fail(ERR_FORMAT, "HEIF: a size that differs from its header");
	for (uint32_t y = 0; y < head->h; y++)
		memcpy(p + y * row, plane + (size_t)y * (size_t)stride, row);
	return 0;
}

const struct img_apart img_heif = { load_libheif, open_heif, decode_heif, "libheif" };
