/* recimg - a record's number in, its picture out. */
#include "record/recimg.h"
#include "base/err.h"

#include <stdlib.h>

struct recimg {
	const struct recs	*recs;
	struct img_codec	*codec;
	struct buf		 room;		/* for a record; grows to the longest met */
	uint32_t		 c;
};

int
recimg_new(struct recimg **out, const struct recs *recs, uint32_t c)
{
	struct recimg *r = calloc(1, sizeof(*r));
	int e;

	*out = NULL;
	if (r == NULL)
		return err_nomem();
	r->recs = recs;
	r->c = c;
	if ((e = img_codec_new(&r->codec, IMG_PIXELS)) < 0) {
		recimg_free(r);
		return e;
	}
	*out = r;
	return 0;
}

void
recimg_free(struct recimg *r)
{
	if (r == NULL)
		return;
	img_codec_free(r->codec);
	buf_free(&r->room);
	free(r);
}

int
recimg_decode(struct recimg *r, const uint8_t *data, size_t n, struct imrec *rec, struct img *pic)
{
	int e;

	rec->labels = 0;	/* no header yet */
	if ((e = imrec_decode(rec, data, n)) == 0)
		e = img_decode(r->codec, rec->pic, rec->n, r->c, pic);
	return e < 0 && e != ERR_NOMEM ? ERR_ITEM : e;
}

void
recimg_blame(const struct imrec *rec, const char *name)
{
	if (rec->labels > 0)
		err_within("%s, id %llu", name, (unsigned long long)rec->id);
	else
		err_within("%s", name);
}

int
recimg_get(struct recimg *r, uint64_t i, struct imrec *rec, struct img *pic)
{
	char name[RECS_NAME];
	const uint8_t *data;
	size_t n;
	int e;

	if ((e = r->recs->read(r->recs, i, &r->room, &data, &n)) < 0)
		return e;
	if ((e = recimg_decode(r, data, n, rec, pic)) < 0) {
		r->recs->name(r->recs, i, name, sizeof(name));
		recimg_blame(rec, name);
	}
	return e;
}
