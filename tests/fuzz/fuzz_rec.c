/* fuzz_rec - hostile record files: read in order, scanned for an index, and joined in memory, all three alike. */
#include "base/err.h"
#include "base/io.h"
#include "record/idx.h"
#include "record/rec.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX	4096u	/* bytes of a record */

/* Record number i as the index has it, joined in memory, must be what the stream gave. */
static void
compare(const struct idx *x, size_t i, const uint8_t *file, size_t size, const uint8_t *data, size_t n)
{
	size_t begin = (size_t)x->at[i], end = i + 1 < x->n ? (size_t)x->at[i + 1] : size, len, used;
	uint8_t *copy = malloc(end - begin);
	const uint8_t *joined;

	memcpy(copy, file + begin, end - begin);
	if (rec_join(copy, end - begin, begin, &joined, &len, &used) < 0 || len != n || memcmp(joined, data, n) != 0)
		abort();
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), e, scanned;
	struct idx x = { 0 };
	struct rec_reader *r;
	const uint8_t *data;
	size_t n, records = 0;

	if (fd < 0 || io_write(fd, p, size) < 0 || lseek(fd, 0, SEEK_SET) < 0 || rec_open(fd, -1, MAX, &r) < 0)
		abort();
	scanned = idx_scan(&x, fd, size);
	while ((e = rec_next(r, &data, &n)) > 0) {
		if (n > MAX || records >= x.n)
			abort();
		compare(&x, records++, p, size, data, n);
	}
	/* A scan knows no limit on a record's length. */
	if (e != ERR_LIMIT && (scanned == 0) != (e == 0))
		abort();
	rec_close(r);
	idx_free(&x);
	close(fd);
	return 0;
}
