/*
 * preprocess - how images become the input of a net, stored with its weights.
 *
 * The metadata of a checkpoint has "preprocessing", the deterministic part of the augmentation, as in
 *
 * 	resize=0 packed=32 pad=0 fill=255 mirror=0 mean=0,0,0 std=1,1,1 scale=0.00390625 mean_image=0
 *
 * and "class_names", one name a line.  If the class is not the first label, there is also label_at=N; if the border is
 * reflected, pad_reflect=1.  If mean_image is 1, the tensor "mean_image" f32 [c,h,w] replaces mean.
 *
 * Threads: no state.
 */
#ifndef TRAIN_PREPROCESS_H
#define TRAIN_PREPROCESS_H

#include "batch/aug.h"

#include <stddef.h>

struct preprocess {
	/* as in struct aug, except that a std or scale of 0 is 1 */
	float	 resize, packed, pad, fill, mirror, mean[3], std[3], scale;
	float	 has_mean_image;	/* 0 or 1 */
	float	 label_at;	/* number of the record's label that is the class */
	float	 pad_reflect;	/* 0 or 1 */
	float	*mean_image;	/* [c,h,w], or NULL; owned */
	uint64_t c, h, w;	/* shape of mean_image */
	char	*class_names;	/* lines, or NULL; owned */
};

struct preprocess_field {
	const char	*name, *option;	/* option: that of pworker(1), or NULL */
	size_t		 at;		/* offset of the floats in struct preprocess */
	uint32_t	 n;
	bool		 optional;	/* put only if it is not 0 */
};

extern const struct preprocess_field preprocess_fields[];	/* the last has no name */

/*
 * preprocess_from_aug() sets all but label_at, the mean image itself and class_names, which become 0 and NULL.
 * preprocess_to_aug() does not touch a->mean.
 */
void	 preprocess_from_aug(const struct aug *a, struct preprocess *p);
void	 preprocess_to_aug(const struct preprocess *p, struct aug *a);
/* The n floats of a field. */
float	*preprocess_get(struct preprocess *p, const struct preprocess_field *f);
/*
 * put_field appends one field's numbers, separated by commas; put appends all fields as in the example above.  Both
 * return 0 or ERR_NOMEM.
 */
int	 preprocess_put_field(const struct preprocess *p, const struct preprocess_field *f, struct buf *text);
int	 preprocess_put(const struct preprocess *p, struct buf *text);
/*
 * Reads the metadata and the mean image of a file of tensors into p, which the caller frees.  Returns 1, 0 if the file
 * has none, or an error: ERR_FORMAT, ERR_NOMEM, or one of tensors_open().
 */
int	 preprocess_read(const char *path, struct preprocess *p);
void	 preprocess_free(struct preprocess *p);

#endif
