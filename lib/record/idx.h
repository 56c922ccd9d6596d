/*
 * idx - where each record of a .rec begins.
 *
 * The file .idx is text, a line a record: key TAB offset.  The key is the
 * record's id, the offset that of its first magic word.
 * Source: MXNet, python/mxnet/recordio.py, MXIndexedRecordIO.
 */
#ifndef RECORD_IDX_H
#define RECORD_IDX_H

#include "base/buf.h"

struct idx {
	uint64_t	*at;	/* offsets, ascending */
	size_t		 n;
	size_t		 cap;	/* of at */
};

/* Reads the text of an .idx.  Returns 0, ERR_FORMAT (the line is named) or ERR_NOMEM. */
int	 idx_parse(struct idx *x, const uint8_t *text, size_t n);
/* Takes the next line from *p on: 1, 0 at the end, or ERR_FORMAT. */
int	 idx_line(const uint8_t **p, const uint8_t *end, uint64_t *key, uint64_t *at);
/* Appends the line of a record.  Returns 0 or ERR_NOMEM. */
int	 idx_put(struct buf *text, uint64_t key, uint64_t at);
/*
 * Makes one from the heads of the records in fd, a file of size bytes; the
 * data between the heads is not read where records are long.
 * Returns 0, ERR_SYS, ERR_FORMAT, ERR_SHORT, ERR_LIMIT (2^32 records) or ERR_NOMEM.
 */
int	 idx_scan(struct idx *x, int fd, uint64_t size);
/* Each of these makes x anew; free what it holds, to be used again. */
void	 idx_free(struct idx *x);

#endif
