/* img_jxl - decodes JPEG XL with libjxl, if that is installed.  For img_apart. */
#include "image/loaded/img_apart.h"
#include "base/err.h"
#include "base/so.h"

/* As in jxl/decode.h, jxl/types.h and jxl/codestream_header.h, of libjxl 0.7 to 0.11. */
enum { SUCCESS, FAILURE, NEED_INPUT, NEED_ROOM = 5, BASIC_INFO = 0x40, FULL_IMAGE = 0x1000 };
enum { U8 = 2, NATIVE = 0, BLACK = 4 };

struct basic_info {
	int		 in_container;
	uint32_t	 w, h, bits, exponent_bits;
	float		 unused[2];
	int		 relative;
	float		 linear;
	int		 keeps_profile;	/* else the pixels passed through the colours XYB, with loss */
	int		 preview, animation, orientation;
	uint32_t	 colours, extra;	/* numbers of channels */
	uint8_t		 rest[512];	/* longer than in any version */
};

struct extra_info {
	int		 type;
	uint8_t		 rest[512];
};

struct pixel_format {
	uint32_t	 channels;
	int		 type, endian;
	size_t		 align;
};

/* The library, and a decoder of it. */
struct jxl {
	void	*(*create)(const void *memory);
	int	 (*subscribe)(void *decoder, int events);
	int	 (*set_input)(void *decoder, const uint8_t *p, size_t n);
	void	 (*close_input)(void *decoder);
	int	 (*process)(void *decoder);
	int	 (*info)(const void *decoder, struct basic_info *info);
	int	 (*extra)(const void *decoder, size_t i, struct extra_info *info);
	int	 (*room)(const void *decoder, const struct pixel_format *format, size_t *n);
	int	 (*set_room)(void *decoder, const struct pixel_format *format, void *p, size_t n);
	void	*decoder;
};

_Static_assert(sizeof(struct jxl) <= IMG_APART_LIBRARY, "see img_apart.h");

static int
load_libjxl(void *library)
{
	struct jxl *j = library;
	static const char *const names[] = { "libjxl.so.0.11", "libjxl.so.0.10", "libjxl.so.0.9", "libjxl.so.0.8",
	    "libjxl.so.0.7", NULL };
	const struct so_symbol symbols[] = {
		{ "JxlDecoderCreate", &j->create, false },
		{ "JxlDecoderSubscribeEvents", &j->subscribe, false }, { "JxlDecoderSetInput", &j->set_input, false },
		{ "JxlDecoderCloseInput", &j->close_input, false }, { "JxlDecoderProcessInput", &j->process, false },
		{ "JxlDecoderGetBasicInfo", &j->info, false }, { "JxlDecoderGetExtraChannelInfo", &j->extra, false },
		{ "JxlDecoderImageOutBufferSize", &j->room, false },
		{ "JxlDecoderSetImageOutBuffer", &j->set_room, false },
	};

	if (so_load(names, symbols, sizeof(symbols) / sizeof(*symbols)) == 0)
		return 0;
	return err_wrap(ERR_NOTSUP, "JPEG XL is read where libjxl is installed; install libjxl-tools, or convert the "
	    "image to PNG or JPEG");
}

static int
fail_jxl(void)
{
	return err_fail(ERR_FORMAT, "JPEG XL: damaged, or ends early");
}

/* A JPEG that was packed without loss has a box that restores its bytes. */
static bool
was_jpeg(const uint8_t *data, size_t n)
{
	return memmem(data, n, "jbrd", 4) != NULL;
}

/* Reads the header.  The process that decodes ends with the image, and so frees nothing. */
static int
open_jxl(void *library, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	struct jxl *j = library;
	struct basic_info info;
	struct extra_info extra;

	if ((j->decoder = j->create(NULL)) == NULL)
		return err_nomem();
	if (j->subscribe(j->decoder, BASIC_INFO | FULL_IMAGE) != SUCCESS ||
	    j->set_input(j->decoder, data, n) != SUCCESS)
		return fail_jxl();
	j->close_input(j->decoder);
	if (j->process(j->decoder) != BASIC_INFO || j->info(j->decoder, &info) != SUCCESS)
		return fail_jxl();
	if (info.w == 0 || info.h == 0)
		return err_fail(ERR_FORMAT, "JPEG XL: no size in its header");
	if ((uint64_t)info.w * info.h > pixels)
		return err_fail(ERR_PIXELS, "JPEG XL: %ux%u is more than %u pixels", info.w, info.h, pixels);
	for (uint32_t i = 0; i < info.extra; i++)
		if (j->extra(j->decoder, i, &extra) == SUCCESS && extra.type == BLACK)
			return err_fail(ERR_NOTSUP, "JPEG XL: CMYK is not read; convert it to PNG or JPEG");
	*head = (struct img_head){ .format = IMG_JXL, .c = info.colours == 1 ? 1 : 3, .h = info.h, .w = info.w,
	    .orientation = 1, .odd = info.bits > 8,
	    .lossless = info.keeps_profile && !(info.in_container && was_jpeg(data, n)) };
	return 0;
}

/* Decodes the first frame to its own channels, at p. */
static int
decode_jxl(void *library, const struct img_head *head, uint8_t *p)
{
	struct jxl *j = library;
	struct pixel_format format = { .channels = head->c, .type = U8, .endian = NATIVE };
	size_t n = (size_t)head->h * head->w * head->c, needed;

	if (j->process(j->decoder) != NEED_ROOM || j->room(j->decoder, &format, &needed) != SUCCESS || needed != n ||
	    j->set_room(j->decoder, &format, p, n) != SUCCESS || j->process(j->decoder) != FULL_IMAGE)
		return fail_jxl();
	return 0;
}

const struct img_apart img_jxl = { load_libjxl, open_jxl, decode_jxl, "libjxl" };
