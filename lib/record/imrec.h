/*
 * imrec - an image record: a header, labels and an encoded picture, in the bytes of one record.
 *
 *	u32 flag | f32 label | u64 id | u64 id2 | f32 labels[flag] | picture
 *
 * flag 0: the one label stands in the header; flag n > 0: n labels follow it.
 * Source: MXNet, python/mxnet/recordio.py, pack() and unpack().
 */
#ifndef RECORD_IMREC_H
#define RECORD_IMREC_H

#include "base/buf.h"

#define IMREC_HEAD	24u
#define IMREC_LABELS	65536u		/* at most, of a record that is written */

struct imrec {
	uint64_t	 id, id2;
	uint32_t	 labels;	/* how many: 1 or more */
	const uint8_t	*label;		/* f32 little-endian, one after the other, at any address */
	const uint8_t	*pic;		/* encoded; lent by the record's bytes */
	size_t		 n;
};

/* Takes a record's bytes apart.  Returns 0, or ERR_FORMAT when they are too few. */
int	 imrec_decode(struct imrec *r, const uint8_t *data, size_t n);
/* Label i, i < r->labels. */
float	 imrec_label(const struct imrec *r, uint32_t i);
/* Appends the bytes of a record; labels >= 1.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 imrec_encode(struct buf *out, uint64_t id, const float *label, uint32_t labels,
	    const void *pic, size_t n);

#endif
