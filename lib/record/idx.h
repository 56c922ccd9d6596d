/*
 * idx - the index of a .rec file: the offset of each record.
 *
 * The file .idx is text, one line per record: key TAB offset.  The key is the record's id, the offset that of its first
 * magic word.  Source: MXNet, python/mxnet/recordio.py, MXIndexedRecordIO.
 */
#ifndef RECORD_IDX_H
#define RECORD_IDX_H

#include "base/buf.h"

struct idx {
	uint64_t	*at;	/* offsets, ascending */
	size_t		 n;
	size_t		 cap;	/* capacity of at */
};

/* Parses the text of an .idx into x.  Returns 0, ERR_FORMAT (names the line) or ERR_NOMEM. */
int	 idx_parse(struct idx *x, const uint8_t *text, size_t n);
/* Reads the next line and advances *p: returns 1, 0 at the end, or ERR_FORMAT. */
int	 idx_line(const uint8_t **p, const uint8_t *end, uint64_t *key, uint64_t *at);
/* Appends the line of a record.  Returns 0 or ERR_NOMEM. */
int	 idx_put(struct buf *text, uint64_t key, uint64_t at);
/*
 * Scans the heads of the records in fd, a file of size bytes, into x.  Does not read the data of long records.  Returns
 * 0, ERR_SYS, ERR_FORMAT, ERR_SHORT, ERR_LIMIT (2^32 records) or ERR_NOMEM.
 */
int	 idx_scan(struct idx *x, int fd, uint64_t size);
/* Frees the memory of x.  idx_parse() and idx_scan() overwrite x: free it before another use. */
void	 idx_free(struct idx *x);

#endif
