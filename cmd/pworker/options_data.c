/* options_data - how records are read, and how their images become samples. */
#include "pworker/pworker.h"
#include "front.h"

#include <string.h>
#include <unistd.h>

static const char data_help[] =
    "usage: pworker ... [options that say how records are read]\n"
    "  --no-shuffle         keep the stored order    --shuffle-buffer N\n"
    "  --cache ram[:MB]|device  keep decoded images  --prefetch MB (128)  read ahead\n"
    "  --label-at I (0)     index of the class label --read-threads N\n"
    "  --drop-last          leave out what does not fill a step\n"
    "  --weight-at I        index of a label that multiplies the loss of its sample\n"
    "options that turn an image into a sample, in this order; LO,HI is a random range\n"
    "  --resize N           the shorter side         --rotate DEGREES,...  by one\n"
    "  --max-rotate-angle DEGREES                    --max-shear-ratio S\n"
    "  --random-scale LO,HI --aspect-ratio LO,HI     --img-size LO,HI  limit sides\n"
    "  --pad N              --fill-value V (255)     --pad-reflect  mirrored edges\n"
    "  --rand-crop          at random\n"
    "  --crop-size LO,HI    a square, resized        --rand-resized-crop\n"
    "  --random-area LO,HI (0.08,1)  area of a resized crop\n"
    "  --brightness B       --contrast B             --saturation B  1-B to 1+B\n"
    "  --random-h N         --random-s N             --random-l N  hue: 180 is full\n"
    "  --pca-noise SIGMA\n"
    "  --mean-rgb R,G,B     --max-random-contrast C  --max-random-illumination I\n"
    "  --scale S (1)        --std-rgb R,G,B\n"
    "  --mirror             --rand-mirror            --alt-mirror  every other epoch\n"
    "  --cutout N           a square of zeros\n"
    "  --mixup ALPHA        with the next sample, in shares of Beta(ALPHA, ALPHA)\n"
    "  --cutmix ALPHA       replace a rectangle by one of it; both: a random choice\n";

/* ram is half of the memory that is free; ram:MB; device. */
static void
parse_cache(struct pworker *p, const char *option, char *text)
{
	int64_t free_pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	size_t *cache = &p->train.data.cache;

	*cache = 0;
	if ((p->train.device_cache = strcmp(text, "device") == 0))
		return;
	if (strcmp(text, "ram") == 0 && free_pages > 1 && page > 0)
		*cache = (size_t)(free_pages / 2 * page);
	else if (strncmp(text, "ram:", 4) == 0)
		*cache = (size_t)front_num(option, text + 4, 1, 1 << 24) << 20;
	else
		front_wrong("%s: '%.64s' is not ram, ram:MB or device", option, text);
}

static void
parse_prefetch(struct pworker *p, const char *option, char *text)
{
	p->train.data.prefetch = (size_t)front_num(option, text, 1, 1 << 20) << 20;
}

static void
parse_angles(struct pworker *p, const char *option, char *text)
{
	struct aug *a = &p->train.data.aug;
	char *one;

	for (a->angles = 0; (one = strsep(&text, ",")) != NULL; a->angles++) {
		if (a->angles == AUG_ANGLES)
			front_wrong("%s: has more than %u numbers", option, AUG_ANGLES);
		a->angle[a->angles] = (float)front_real(option, one, -360, 360);
	}
}

static void
parse_weight_at(struct pworker *p, const char *option, char *text)
{
	p->train.data.weight_at = (uint32_t)front_num(option, text, 0, 65535);
	p->train.data.weighted = true;
}

#define DATA(m)	PWORKER_MEMBER(train.data.m)
#define AUG(m)	PWORKER_MEMBER(train.data.aug.m)

static const struct pworker_option data_options[] = {
	{ "alt-mirror", PWORKER_FLAG, AUG(alt_mirror) },
	{ "aspect-ratio", PWORKER_RANGE, AUG(aspect), 0.01, 100 },
	{ "brightness", PWORKER_REAL, AUG(brightness), 0, 10 },
	{ "cache", PWORKER_VALUE, .apply = parse_cache, .needs = NEED_TRAINING | NEED_FILE },
	{ "contrast", PWORKER_REAL, AUG(contrast), 0, 10 },
	{ "crop-size", PWORKER_RANGE, AUG(crop_size), 1, 65536 },
	{ "cutmix", PWORKER_REAL, AUG(cutmix), 0, 100 },
	{ "cutout", PWORKER_WHOLE, AUG(cutout), 0, 65536 },
	{ "drop-last", PWORKER_FLAG, DATA(drop_last), .needs = NEED_TRAINING | NEED_FILE },
	{ "fill-value", PWORKER_WHOLE, AUG(fill), 0, 255, .needs = NEED_BORDER },
	{ "help-data", PWORKER_HELP, .text = data_help },
	{ "img-size", PWORKER_RANGE, AUG(side), 1, 65536 },
	{ "label-at", PWORKER_WHOLE, DATA(label_at), 0, 65535, .needs = NEED_LABELS },
	{ "max-random-contrast", PWORKER_REAL, AUG(rand_contrast), 0, 10 },
	{ "max-random-illumination", PWORKER_REAL, AUG(rand_illumination), 0, 255 },
	{ "max-rotate-angle", PWORKER_SYMMETRIC, AUG(turn), 0, 180, .needs = NEED_NO_ROTATE },
	{ "max-shear-ratio", PWORKER_SYMMETRIC, AUG(shear), 0, 10 },
	{ "mean-rgb", PWORKER_CHANNELS, AUG(mean_of), -1e6, 1e6 },
	{ "mirror", PWORKER_FLAG, AUG(mirror) },
	{ "mixup", PWORKER_REAL, AUG(mixup), 0, 100 },
	{ "no-shuffle", PWORKER_SET, DATA(shuffle), false, .needs = NEED_EPOCH },
	{ "pad", PWORKER_WHOLE, AUG(pad), 0, 4096 },
	{ "pad-reflect", PWORKER_FLAG, AUG(pad_reflect), .needs = NEED_PAD },
	{ "pca-noise", PWORKER_REAL, AUG(pca), 0, 10 },
	{ "prefetch", PWORKER_VALUE, .apply = parse_prefetch },
	{ "rand-crop", PWORKER_FLAG, AUG(rand_crop) },
	{ "rand-mirror", PWORKER_FLAG, AUG(rand_mirror) },
	{ "rand-resized-crop", PWORKER_FLAG, AUG(resized_crop) },
	{ "random-area", PWORKER_RANGE, AUG(area), 1e-6, 1, .needs = NEED_RESIZED_CROP },
	{ "random-h", PWORKER_REAL, AUG(hsl[0]), 0, 180 },
	{ "random-l", PWORKER_REAL, AUG(hsl[2]), 0, 255 },
	{ "random-s", PWORKER_REAL, AUG(hsl[1]), 0, 255 },
	{ "random-scale", PWORKER_RANGE, AUG(scale_by), 0.01, 100 },
	{ "read-threads", PWORKER_WHOLE, DATA(threads), 1, 256 },
	{ "resize", PWORKER_WHOLE, AUG(resize), 1, 65536 },
	{ "rotate", PWORKER_VALUE, .apply = parse_angles },
	{ "saturation", PWORKER_REAL, AUG(saturation), 0, 10 },
	{ "scale", PWORKER_REAL, AUG(scale), 1e-30, 1e30 },
	{ "shuffle-buffer", PWORKER_WHOLE, DATA(window), 1, UINT32_MAX, .needs = NEED_EPOCH | NEED_SHUFFLE },
	{ "std-rgb", PWORKER_CHANNELS, AUG(std_of), 1e-6, 1e6 },
	{ "weight-at", PWORKER_VALUE, .apply = parse_weight_at, .needs = NEED_TRAINING },
	{ 0 }
};

/* Only devices with memory of their own have a cache, and only of images that are used as they are. */
static void
check_device_cache(const struct pworker *p)
{
	const char *list = p->train.devices != NULL ? p->train.devices : p->engine != NULL ? p->engine : "cpu";

	for (const char *one = list; one != NULL; one = strchr(one, ',') != NULL ? strchr(one, ',') + 1 : NULL)
		if (strncmp(one, "gpu", 3) != 0 && strncmp(one, "cuda", 4) != 0)
			front_wrong("--cache device: %.*s has no memory of its own; use --cache ram",
			    (int)strcspn(one, ","), one);
	if (!aug_cuts(&p->train.data.aug))
		front_wrong("--cache device: goes only with --rand-crop, --pad and mirrors");
}

static void
settle_data_options(struct pworker *p)
{
	const struct aug *a = &p->train.data.aug;

	if (a->resized_crop && (a->rand_crop || a->crop_size.hi > 0 || a->scale_by.hi > 0))
		front_wrong("--rand-resized-crop: does not go with --rand-crop, --crop-size or --random-scale");
	if (pworker_given(p, "mean") == PWORKER_GIVEN && pworker_given(p, "mean-rgb") == PWORKER_GIVEN)
		front_wrong("--mean-rgb: has no effect with --mean, which subtracts an image");
	if (pworker_given(p, "mean") == PWORKER_BY_RECIPE && pworker_given(p, "mean-rgb") == PWORKER_GIVEN)
		p->mean = NULL;
	if (p->train.device_cache)
		check_device_cache(p);
	if (a->alt_mirror && a->rand_mirror)
		front_wrong("--alt-mirror: does not go with --rand-mirror");
}

const struct pworker_theme pworker_data_theme = { data_options, settle_data_options };
