/* conv - a picture as it came in, out as it is packed. */
#include "data/conv.h"
#include "base/err.h"

#include <stdlib.h>

struct conv {
	struct conv_opt		 opt;
	struct img_codec	*codec;
};

int
conv_new(struct conv **out, const struct conv_opt *opt)
{
	struct conv *k = calloc(1, sizeof(*k));
	int e;

	*out = NULL;
	if (k == NULL)
		return err_nomem();
	k->opt = *opt;
	if ((e = img_codec_new(&k->codec, opt->pixels > 0 ? opt->pixels : IMG_PIXELS)) < 0) {
		free(k);
		return e;
	}
	*out = k;
	return 0;
}

void
conv_free(struct conv *k)
{
	if (k == NULL)
		return;
	img_codec_free(k->codec);
	free(k);
}

int
conv_encoded(struct conv *k, const uint8_t *data, size_t n, struct buf *out)
{
	struct img pic;
	int e;

	if ((e = img_decode(k->codec, data, n, 0, &pic)) < 0)
		return e;
	return buf_put(out, data, n);
}

int
conv_raw(struct conv *k, const struct img *in, struct buf *out)
{
	(void)k;
	return img_encode_png(in, out);
}
