/* options_data - the options that say how records are read and what becomes of their pictures. */
#include "pworker/pworker.h"
#include "front.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: pworker ... [options that say how records are read]\n"
    "  --no-shuffle            the records' own order       --shuffle-buffer N  near their own\n"
    "  --cache ram[:MB]|device keep decoded pictures        --prefetch MB (128)  read ahead\n"
    "  --label-at I (0)        which label is the class     --read-threads N\n"
    "options that say what becomes of a picture, in this order; LO,HI is a range of chance\n"
    "  --resize N              the shorter side             --rotate DEGREES,...  one of them\n"
    "  --max-rotate-angle DEGREES                           --max-shear-ratio S\n"
    "  --random-scale LO,HI    --aspect-ratio LO,HI         --img-size LO,HI  bounds of sides\n"
    "  --pad N                 --fill-value V (255)         --rand-crop  not the centre\n"
    "  --crop-size LO,HI       a square, made the sample    --rand-resized-crop\n"
    "  --random-area LO,HI (0.08,1)  of a resized crop\n"
    "  --brightness B          --contrast C                 --saturation S  factors 1-B to 1+B\n"
    "  --random-h N            --random-s N                 --random-l N  hue: 180 go round\n"
    "  --pca-noise SIGMA\n"
    "  --mean-rgb R,G,B        --max-random-contrast C      --max-random-illumination I\n"
    "  --scale S (1)           --std-rgb R,G,B\n"
    "  --mirror                --rand-mirror                --alt-mirror  by turns of epochs\n"
    "  --cutout N              a square of zeros\n"
    "  --mixup ALPHA           with the next sample, classes too: shares by Beta(ALPHA, ALPHA)\n"
    "  --cutmix ALPHA          a rectangle of it instead; with both, one by chance\n";

enum {
	O_ALT, O_AREA, O_ASPECT, O_BRIGHT, O_CACHE, O_CONTRAST, O_CROP, O_CROPSIZE, O_CUTMIX,
	O_CUTOUT, O_FILL, O_H,
	O_HELP, O_IMGSIZE, O_L, O_LABEL, O_MEAN, O_MIRROR, O_MIXUP, O_NOSHUFFLE, O_PAD, O_PCA, O_PREFETCH, O_RANDMIRROR,
	O_RCONTRAST, O_READ, O_RESIZE, O_RESIZED, O_RLIGHT, O_ROTATE, O_S, O_SATURATION, O_SCALE, O_SCALEBY, O_SHEAR,
	O_STD, O_TURN, O_WINDOW
};

static const struct option longs[] = {
	{ "alt-mirror", no_argument, NULL, O_ALT },
	{ "aspect-ratio", required_argument, NULL, O_ASPECT },
	{ "brightness", required_argument, NULL, O_BRIGHT },
	{ "cache", required_argument, NULL, O_CACHE },
	{ "contrast", required_argument, NULL, O_CONTRAST },
	{ "crop-size", required_argument, NULL, O_CROPSIZE },
	{ "cutmix", required_argument, NULL, O_CUTMIX },
	{ "cutout", required_argument, NULL, O_CUTOUT },
	{ "fill-value", required_argument, NULL, O_FILL },
	{ "help-data", no_argument, NULL, O_HELP },
	{ "img-size", required_argument, NULL, O_IMGSIZE },
	{ "label-at", required_argument, NULL, O_LABEL },
	{ "max-random-contrast", required_argument, NULL, O_RCONTRAST },
	{ "max-random-illumination", required_argument, NULL, O_RLIGHT },
	{ "max-rotate-angle", required_argument, NULL, O_TURN },
	{ "max-shear-ratio", required_argument, NULL, O_SHEAR },
	{ "mean-rgb", required_argument, NULL, O_MEAN },
	{ "mirror", no_argument, NULL, O_MIRROR },
	{ "mixup", required_argument, NULL, O_MIXUP },
	{ "no-shuffle", no_argument, NULL, O_NOSHUFFLE },
	{ "pad", required_argument, NULL, O_PAD },
	{ "pca-noise", required_argument, NULL, O_PCA },
	{ "prefetch", required_argument, NULL, O_PREFETCH },
	{ "rand-crop", no_argument, NULL, O_CROP },
	{ "rand-mirror", no_argument, NULL, O_RANDMIRROR },
	{ "rand-resized-crop", no_argument, NULL, O_RESIZED },
	{ "random-area", required_argument, NULL, O_AREA },
	{ "random-h", required_argument, NULL, O_H },
	{ "random-l", required_argument, NULL, O_L },
	{ "random-s", required_argument, NULL, O_S },
	{ "random-scale", required_argument, NULL, O_SCALEBY },
	{ "read-threads", required_argument, NULL, O_READ },
	{ "resize", required_argument, NULL, O_RESIZE },
	{ "rotate", required_argument, NULL, O_ROTATE },
	{ "saturation", required_argument, NULL, O_SATURATION },
	{ "scale", required_argument, NULL, O_SCALE },
	{ "shuffle-buffer", required_argument, NULL, O_WINDOW },
	{ "std-rgb", required_argument, NULL, O_STD },
	{ NULL, 0, NULL, 0 }
};

/* Numbers with commas between: at least one, at most max.  Returns how many. */
static uint32_t
parse_numbers(const char *option, const char *text, double lo, double hi, float *v, uint32_t max)
{
	char *list = strdup(text), *next = list;
	uint32_t n = 0;

	if (list == NULL)
		front_wrong("%s: out of memory", option);
	while (next != NULL) {
		const char *one = strsep(&next, ",");

		if (n == max)
			front_wrong("%s: '%.64s' has more than %u numbers", option, text, max);
		v[n++] = (float)front_real(option, one, lo, hi);
	}
	free(list);
	return n;
}

/* LO,HI; or one number for both. */
static struct aug_range
parse_range(const char *option, const char *text, double lo, double hi)
{
	float v[2];

	if (parse_numbers(option, text, lo, hi, v, 2) == 1)
		v[1] = v[0];
	if (v[0] > v[1])
		front_wrong("%s: '%.64s' is not LO,HI", option, text);
	return (struct aug_range){ v[0], v[1] };
}

static struct aug_range
about_zero(const char *option, const char *text, double hi)
{
	float v = (float)front_real(option, text, 0, hi);

	return (struct aug_range){ -v, v };
}

/* R,G,B; or one number for all. */
static void
parse_channels(const char *option, const char *text, double lo, double hi, float v[3])
{
	uint32_t n = parse_numbers(option, text, lo, hi, v, 3);

	if (n == 2)
		front_wrong("%s: '%.64s' is not R,G,B", option, text);
	if (n == 1)
		v[1] = v[2] = v[0];
}

/* "ram": as much as half of what is free now; "ram:MB". */
static size_t
parse_cache(const char *text)
{
	int64_t free_pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	if (strcmp(text, "device") == 0)
		return 0;
	if (strcmp(text, "ram") == 0 && free_pages > 1 && page > 0)
		return (size_t)(free_pages / 2 * page);
	if (strncmp(text, "ram:", 4) != 0)
		front_wrong("--cache: '%.64s' is not ram, ram:MB or device", text);
	return (size_t)front_num("--cache", text + 4, 1, 1 << 24) << 20;
}

static void
apply_geometry_option(struct aug *a, int c, const char *text)
{
	switch (c) {
	case O_AREA:	a->area = parse_range("--random-area", text, 1e-6, 1); break;
	case O_ASPECT:	a->aspect = parse_range("--aspect-ratio", text, 0.01, 100); break;
	case O_CROP:	a->rand_crop = true; break;
	case O_CROPSIZE: a->crop_size = parse_range("--crop-size", text, 1, 65536); break;
	case O_FILL:	a->fill = (uint8_t)front_num("--fill-value", text, 0, 255); break;
	case O_IMGSIZE:	a->side = parse_range("--img-size", text, 1, 65536); break;
	case O_PAD:	a->pad = (uint32_t)front_num("--pad", text, 0, 4096); break;
	case O_RESIZE:	a->resize = (uint32_t)front_num("--resize", text, 1, 65536); break;
	case O_RESIZED:	a->resized_crop = true; break;
	case O_ROTATE:	a->angles = parse_numbers("--rotate", text, -360, 360, a->angle, AUG_ANGLES); break;
	case O_SCALEBY:	a->scale_by = parse_range("--random-scale", text, 0.01, 100); break;
	case O_SHEAR:	a->shear = about_zero("--max-shear-ratio", text, 10); break;
	case O_TURN:	a->turn = about_zero("--max-rotate-angle", text, 180); break;
	default:	break;
	}
}

static void
apply_colour_option(struct aug *a, int c, const char *text)
{
	switch (c) {
	case O_BRIGHT:	a->brightness = (float)front_real("--brightness", text, 0, 10); break;
	case O_CONTRAST: a->contrast = (float)front_real("--contrast", text, 0, 10); break;
	case O_H:	a->hsl[0] = (float)front_real("--random-h", text, 0, 180); break;
	case O_L:	a->hsl[2] = (float)front_real("--random-l", text, 0, 255); break;
	case O_PCA:	a->pca = (float)front_real("--pca-noise", text, 0, 10); break;
	case O_S:	a->hsl[1] = (float)front_real("--random-s", text, 0, 255); break;
	case O_SATURATION: a->saturation = (float)front_real("--saturation", text, 0, 10); break;
	default:	break;
	}
}

static void
apply_normal_option(struct aug *a, int c, const char *text)
{
	switch (c) {
	case O_ALT:	a->alt_mirror = true; break;
	case O_CUTMIX:	a->cutmix = (float)front_real("--cutmix", text, 0, 100); break;
	case O_CUTOUT:	a->cutout = (uint32_t)front_num("--cutout", text, 0, 65536); break;
	case O_MEAN:	parse_channels("--mean-rgb", text, -1e6, 1e6, a->mean_of); break;
	case O_MIRROR:	a->mirror = true; break;
	case O_MIXUP:	a->mixup = (float)front_real("--mixup", text, 0, 100); break;
	case O_RANDMIRROR: a->rand_mirror = true; break;
	case O_RCONTRAST: a->rand_contrast = (float)front_real("--max-random-contrast", text, 0, 10); break;
	case O_RLIGHT:	a->rand_illumination = (float)front_real("--max-random-illumination", text, 0, 255); break;
	case O_SCALE:	a->scale = (float)front_real("--scale", text, 1e-30, 1e30); break;
	case O_STD:	parse_channels("--std-rgb", text, 1e-6, 1e6, a->std_of); break;
	default:	break;
	}
}

static void
apply_data_option(struct pworker *p, int c, char *text)
{
	struct batch_opt *o = &p->train.data;

	switch (c) {
	case O_CACHE:
		o->cache = parse_cache(text);
		p->train.hold = strcmp(text, "device") == 0;
		break;
	case O_HELP:	worker_help(help);
	case O_LABEL:	o->label_at = (uint32_t)front_num("--label-at", text, 0, 65535); break;
	case O_NOSHUFFLE: o->shuffle = false; break;
	case O_PREFETCH: o->prefetch = (size_t)front_num("--prefetch", text, 1, 1 << 20) << 20; break;
	case O_READ:	o->threads = (unsigned)front_num("--read-threads", text, 1, 256); break;
	case O_WINDOW:	o->window = (uint64_t)front_num("--shuffle-buffer", text, 1, UINT32_MAX); break;
	default:	/* each knows its own */
		apply_geometry_option(&o->aug, c, text);
		apply_colour_option(&o->aug, c, text);
		apply_normal_option(&o->aug, c, text);
	}
}

/* Are they on devices that have a memory of their own, and as they are? */
static void
settle_hold(const struct pworker *p)
{
	const char *list = p->train.devices != NULL ? p->train.devices : p->engine != NULL ? p->engine : "cpu";

	for (const char *one = list; one != NULL; one = strchr(one, ',') != NULL ? strchr(one, ',') + 1 : NULL)
		if (strncmp(one, "gpu", 3) != 0 && strncmp(one, "cuda", 4) != 0)
			front_wrong("--cache device: %.*s computes where the pictures are: take --cache ram",
			    (int)strcspn(one, ","), one);
	if (!aug_cuts(&p->train.data.aug))
		front_wrong("--cache device: goes with --rand-crop, --pad and mirrors, "
		    "not with what makes other pixels of a picture");
}

static void
settle_data_options(struct pworker *p)
{
	const struct aug *a = &p->train.data.aug;

	if (a->resized_crop && (a->rand_crop || a->crop_size.hi > 0 || a->scale_by.hi > 0))
		front_wrong("--rand-resized-crop: does not go with --rand-crop, --crop-size or --random-scale");
	if (p->train.hold)
		settle_hold(p);
	if (a->alt_mirror && a->rand_mirror)
		front_wrong("--alt-mirror: does not go with --rand-mirror");
}

const struct worker_theme worker_data_theme = { longs, apply_data_option, settle_data_options };
