/*
 * recimg - a record's number in, its picture out.
 *
 * Threads: each its own; the records are shared.
 */
#ifndef RECORD_RECIMG_H
#define RECORD_RECIMG_H

#include "image/img.h"
#include "record/imrec.h"
#include "record/recs.h"

struct recimg;

/*
 * Pictures will have c channels, 1 or 3.  The records are lent until recimg_free(); NULL: bytes alone will be given.
 * Returns 0 or ERR_NOMEM.
 */
int	 recimg_new(struct recimg **r, const struct recs *recs, uint32_t c);
void	 recimg_free(struct recimg *r);	/* NULL is fine */
/*
 * Reads record i, or takes its bytes, up to the picture's size, which is told in *size, without pixels.  What they give is
 * lent until the next call, or as long as the bytes.  Return what recimg_get() returns.
 */
int	 recimg_head(struct recimg *r, uint64_t i, struct imrec *rec, struct img *size);
int	 recimg_head_of(struct recimg *r, const uint8_t *data, size_t n, struct imrec *rec, struct img *size);
/* Decodes it, or a part of it to p.  Return 0, ERR_ITEM or ERR_NOMEM; names are not put in front of the line. */
int	 recimg_pixels(struct recimg *r, const struct imrec *rec, struct img *pic);
int	 recimg_part(struct recimg *r, const struct imrec *rec, const struct img *size, const struct img_region *part, uint8_t *p);

/*
 * Reads and decodes record i.  What it gives is lent until the next call.
 * Returns 0, ERR_ITEM (the record holds no picture that decodes), or what
 * recs->read() returns; lines name the place and the id.
 */
int	 recimg_get(struct recimg *r, uint64_t i, struct imrec *rec, struct img *pic);
/* Puts the record's name in front of the line, with its id where it is known. */
void	 recimg_blame(const struct imrec *rec, const char *name);

#endif
