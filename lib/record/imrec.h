/*
 * imrec - an image record: a header, labels and an encoded image.
 *
 * 	u32 flag | f32 label | u64 id | u64 id2 | f32 labels[flag] | image
 *
 * If flag is 0, the header holds the one label; else `flag` labels follow it.
 * Source: MXNet, python/mxnet/recordio.py, pack() and unpack().
 */
#ifndef RECORD_IMREC_H
#define RECORD_IMREC_H

#include "base/buf.h"

#define IMREC_HEAD	24u
#define IMREC_LABELS	65536u		/* most labels of a record that is written */

struct imrec {
	uint64_t	 id, id2;
	uint32_t	 labels;	/* number of labels, at least 1 */
	const uint8_t	*label;		/* f32 little-endian, unaligned */
	const uint8_t	*image;		/* [n] the encoded image, within the record's bytes */
	size_t		 n;
};

/* Decodes a record's bytes.  Returns 0, or ERR_FORMAT if they are too few. */
int	 imrec_decode(struct imrec *r, const uint8_t *data, size_t n);
/* Label i, i < r->labels. */
float	 imrec_label(const struct imrec *r, uint32_t i);
/* Appends the bytes of a record; labels >= 1.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 imrec_encode(struct buf *out, uint64_t id, const float *label, uint32_t labels,
	    const void *image, size_t n);

#endif
