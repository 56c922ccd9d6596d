/*
 * label - a label's text, in lists and in the JSON of webdatasets, from which the same bits are read.
 *
 * A finite label is a decimal number.  Others are inf, -inf and nan; a NaN of other bits is "nan:" and its 32 bits in
 * hexadecimal.  Threads: any.
 */
#ifndef SOURCE_LABEL_H
#define SOURCE_LABEL_H

#include "base/buf.h"

#define LABEL_MOST	3.4028235e38	/* numbers up to this round to a finite f32 */

/* Appends the text.  Returns 0 or ERR_NOMEM. */
int	 label_put(struct buf *text, float label);
/* Returns 0, ERR_FORMAT, or ERR_LIMIT (a number that f32 cannot hold). */
int	 label_parse(const char *text, float *label);

#endif
