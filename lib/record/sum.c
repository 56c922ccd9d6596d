/* sum - a checksum for each record of a .rec, in the file .sum beside it. */
#include "record/sum.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#define LONGEST	64	/* characters of a line: two numbers of 20 digits, 16 digits, tabs */

struct sum_reader {
	FILE		*file;
	uint64_t	 line;
};

uint64_t
sum_of(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}

int
sum_put(struct buf *text, const struct sum_line *l)
{
	char line[LONGEST + 2];

	return buf_put(text, line, (size_t)snprintf(line, sizeof(line), "%" PRIu64 "\t%" PRIu64 "\t%016" PRIx64 "\n",
	    l->at, l->bytes, l->sum));
}

int
sum_open(const char *path, struct sum_reader **out)
{
	struct sum_reader *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (r == NULL)
		return err_nomem();
	if ((r->file = fopen(path, "re")) == NULL) {
		int e = err_sys("open");

		free(r);
		return e;
	}
	*out = r;
	return 0;
}

void
sum_close(struct sum_reader *r)
{
	if (r == NULL)
		return;
	fclose(r->file);
	free(r);
}

int
sum_next(struct sum_reader *r, struct sum_line *l)
{
	char line[LONGEST + 2], again[LONGEST + 2];

	errno = 0;
	if (fgets(line, sizeof(line), r->file) == NULL)
		return ferror(r->file) ? err_sys("read") : 0;
	r->line++;
	/* Refuses what sscanf() accepts and sum_put() does not write: blanks, signs, trailing text. */
	if (sscanf(line, "%" SCNu64 "\t%" SCNu64 "\t%" SCNx64, &l->at, &l->bytes, &l->sum) != 3 ||
	    snprintf(again, sizeof(again), "%" PRIu64 "\t%" PRIu64 "\t%016" PRIx64 "\n", l->at, l->bytes, l->sum) < 0 ||
	    strcmp(line, again) != 0 || l->at > INT64_MAX)
		return err_fail(ERR_FORMAT, "line %" PRIu64 ": not an offset, a number of bytes and a checksum",
		    r->line);
	return 1;
}
