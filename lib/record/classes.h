/*
 * classes - the names of the classes of records.
 *
 * TRAIN.labels beside TRAIN.rec has the name of class i in line i + 1 (record/recset.h).
 */
#ifndef RECORD_CLASSES_H
#define RECORD_CLASSES_H

#include "source/names.h"

/*
 * Reads the file beside the records `rec` into an empty list, which stays empty if there is no such file.  A CR at the
 * end of a line is ignored.  Returns 0, ERR_SYS, ERR_FORMAT (a name twice, an empty line or a zero byte), ERR_LIMIT or
 * ERR_NOMEM; the message names the file.
 */
int	 classes_read(struct names *l, const char *rec);
/*
 * The same from the text of such a file, after which it writes a zero byte.  An empty text is an empty list.  The
 * message does not name the text.
 */
int	 classes_parse(struct names *l, struct buf *text);

#endif
