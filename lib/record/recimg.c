/* recimg - decodes the image of a record. */
#include "record/recimg.h"
#include "base/err.h"

#include <stdlib.h>

struct recimg {
	const struct recs	*recs;
	struct img_codec	*codec;
	struct buf		 room;		/* the record's bytes */
	uint32_t		 c;
};

int
recimg_new(const struct recs *recs, uint32_t c, struct recimg **out)
{
	struct recimg *r = calloc(1, sizeof(*r));
	int e;

	*out = NULL;
	if (r == NULL)
		return err_nomem();
	r->recs = recs;
	r->c = c;
	if ((e = img_codec_new(IMG_PIXELS, &r->codec)) < 0) {
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

/* Every error but a lack of memory is the image's. */
static int
convert_item_error(int e)
{
	return e < 0 && e != ERR_NOMEM ? ERR_ITEM : e;
}

int
recimg_head_of(struct recimg *r, const uint8_t *data, size_t n, struct imrec *rec, struct img *size)
{
	struct img_head head;
	int e;

	rec->labels = 0;	/* the header is not yet known: recimg_blame() names no id */
	if ((e = imrec_decode(rec, data, n)) < 0 || (e = img_head(r->codec, rec->image, rec->n, &head)) < 0)
		return convert_item_error(e);
	*size = (struct img){ .c = r->c, .h = head.h, .w = head.w };
	return 0;
}

int
recimg_pixels(struct recimg *r, const struct imrec *rec, struct img *image)
{
	return convert_item_error(img_decode(r->codec, rec->image, rec->n, r->c, image));
}

int
recimg_part(struct recimg *r, const struct imrec *rec, const struct img *size, const struct img_region *part,
    uint8_t *p)
{
	return convert_item_error(img_decode_region(r->codec, rec->image, rec->n, size->h, size->w, part, r->c, p));
}

void
recimg_blame(const struct imrec *rec, const char *name)
{
	if (rec->labels > 0)
		err_within("%s, id %llu", name, (unsigned long long)rec->id);
	else
		err_within("%s", name);
}

static int
name_record(const struct recimg *r, uint64_t i, const struct imrec *rec, int e)
{
	char name[RECS_NAME];

	if (e < 0) {
		r->recs->name(r->recs, i, name, sizeof(name));
		recimg_blame(rec, name);
	}
	return e;
}

int
recimg_head(struct recimg *r, uint64_t i, struct imrec *rec, struct img *size)
{
	const uint8_t *data;
	size_t n;

	ERR_TRY(r->recs->read(r->recs, i, &r->room, &data, &n));
	return name_record(r, i, rec, recimg_head_of(r, data, n, rec, size));
}

int
recimg_get(struct recimg *r, uint64_t i, struct imrec *rec, struct img *image)
{
	ERR_TRY(recimg_head(r, i, rec, image));
	return name_record(r, i, rec, recimg_pixels(r, rec, image));
}
