/* odd_test - images that decoders stumble on: EXIF's examples are packed upright,
    and the PNG suite is packed or refused. */
#include "base/err.h"
#include "image/transcode.h"
#include "source/source.h"
#include "photo.h"
#include "tap.h"

static struct img_codec *codec;
static struct transcode *conv;
static uint8_t *upright[2];	/* how the first of each kind looks, at 1/64 of its size */
static int good, bad, refused, taken;

enum { SIDE = 24 };

/* What a file shows: how far it is from the first of its kind, mean over pixels. */
static double
far(struct resize *r, int kind, const struct img *pic)
{
	struct img small;
	double sum = 0;

	if (resize_img(r, RESIZE_AREA, pic, NULL, SIDE, SIDE, &small) < 0)
		return 255;
	if (upright[kind] == NULL) {
		upright[kind] = malloc(SIDE * SIDE * 3);
		memcpy(upright[kind], small.p, SIDE * SIDE * 3);
	}
	for (int i = 0; i < SIDE * SIDE * 3; i++)
		sum += abs(small.p[i] - upright[kind][i]);
	return sum / (SIDE * SIDE * 3);
}

static void
orientation(struct resize *r, const char *name, const uint8_t *p, size_t n)
{
	int kind = strstr(name, "Portrait") != NULL;
	struct img pic;

	if (img_decode(codec, p, n, 3, &pic) < 0 || (pic.h > pic.w) != kind || far(r, kind, &pic) > 6) {
		printf("# %s\n", name);
		bad++;
	} else
		good++;
}

static void
look(struct resize *r, const struct source_item *it)
{
	const char *base = strrchr(it->name, '/') != NULL ? strrchr(it->name, '/') + 1 : it->name;
	const uint8_t *p;
	struct img pic;
	size_t n;
	int e = transcode_encoded(conv, it->data, it->n, &p, &n);

	if (strstr(base, ".jpg") != NULL) {
		if (e == 0)
			orientation(r, base, p, n);
	} else if (strstr(base, ".png") != NULL) {
		if (base[0] == 'x')
			refused += e < 0;
		else
			taken += e == 0 && img_decode(codec, p, n, 0, &pic) == 0;
	}
}

int
main(void)
{
	const char *data = getenv("TALLY_DATA");
	struct source *s;
	struct source_item it;
	struct resize *r;
	char path[500];
	int e;

	snprintf(path, sizeof(path), "%s/odd-images.tar", data != NULL ? data : "../shared/data");
	if (source_open(&(struct source_opt){ .path = path }, &s) < 0) {
		skip("images that decoders stumble on", "no odd-images.tar here");
		return done();
	}
	if (img_codec_new(IMG_PIXELS, &codec) < 0 || transcode_new(&(struct transcode_opt){ 0 }, &conv) < 0 || resize_new(&r) < 0)
		return 1;
	while ((e = source_next(s, &it)) == 1 || e == ERR_ITEM)
		if (e == 1)
			look(r, &it);
	is(e, 0, "the archive is read to its end");
	is(good, 18, "EXIF's orientations 0 to 8 are upright");
	is(bad, 0, "each of them");
	is(refused, 14, "the PNG suite's invalid files are refused");
	is(taken, 161, "the other files of the PNG suite are decoded");
	source_close(s);
	transcode_free(conv);
	resize_free(r);
	img_codec_free(codec);
	free(upright[0]);
	free(upright[1]);
	return done();
}
