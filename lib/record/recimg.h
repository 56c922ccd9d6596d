/*
 * recimg - decodes the image of a record.
 *
 * Threads: each has its own decoder; they share the records.
 */
#ifndef RECORD_RECIMG_H
#define RECORD_RECIMG_H

#include "image/img.h"
#include "record/imrec.h"
#include "record/recs.h"

struct recimg;

/*
 * Makes a decoder to images of c channels, 1 or 3.  recs must outlive it; NULL: only recimg_head_of() is used.  Returns
 * 0 or ERR_NOMEM.
 */
int	 recimg_new(const struct recs *recs, uint32_t c, struct recimg **r);
void	 recimg_free(struct recimg *r);	/* NULL is fine */
/*
 * Read record i, or decode a record's bytes, without pixels; *size gets the image's size.  Results are valid until the
 * next call and as long as the bytes.  Return as recimg_get().
 */
int	 recimg_head(struct recimg *r, uint64_t i, struct imrec *rec, struct img *size);
int	 recimg_head_of(struct recimg *r, const uint8_t *data, size_t n, struct imrec *rec, struct img *size);
/* Decode that image, or a part of it to p.  Return 0, ERR_ITEM or ERR_NOMEM; the messages do not name the record. */
int	 recimg_pixels(struct recimg *r, const struct imrec *rec, struct img *image);
int	 recimg_part(struct recimg *r, const struct imrec *rec, const struct img *size, const struct img_region *part,
	     uint8_t *p);

/*
 * Reads and decodes record i.  Results are valid until the next call.  Returns 0, ERR_ITEM (the record's image does not
 * decode), or an error of recs->read(); messages name the place and the id.
 */
int	 recimg_get(struct recimg *r, uint64_t i, struct imrec *rec, struct img *image);
/* Puts the record's name, and its id if known, in front of the message. */
void	 recimg_blame(const struct imrec *rec, const char *name);

#endif
