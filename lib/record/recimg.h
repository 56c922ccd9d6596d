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
 * Pictures will have c channels, 1 or 3.  The records are lent until recimg_free(); NULL: there are none but bytes.
 * Returns 0 or ERR_NOMEM.
 */
int	 recimg_new(struct recimg **r, const struct recs *recs, uint32_t c);
void	 recimg_free(struct recimg *r);	/* NULL is fine */
/*
 * Reads and decodes record i.  What it gives is lent until the next call.
 * Returns 0, ERR_ITEM (the record holds no picture that decodes), or what
 * recs->read() returns; lines name the place and the id.
 */
int	 recimg_get(struct recimg *r, uint64_t i, struct imrec *rec, struct img *pic);
/*
 * The same of a record's bytes, which are lent as long.  Returns 0, ERR_ITEM or ERR_NOMEM; then recimg_blame() puts the
 * record's name in front of the line, with its id where it is known.
 */
int	 recimg_decode(struct recimg *r, const uint8_t *data, size_t n, struct imrec *rec, struct img *pic);
void	 recimg_blame(const struct imrec *rec, const char *name);

#endif
