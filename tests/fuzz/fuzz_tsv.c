/* fuzz_tsv - hostile lines into the reader of logs: what it takes, it writes and takes again. */
#include "log/tsv.h"

#include <assert.h>
#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf line = { 0 }, again = { 0 };
	struct tsv_row r, q;

	if (buf_put(&line, data, size) == 0 && buf_terminate(&line) == 0 && tsv_parse((char *)line.p, &r) == 1) {
		assert(tsv_put(&again, &r) == 0 && buf_terminate(&again) == 0);
		assert(tsv_parse((char *)again.p, &q) == 1);
		assert(q.step == r.step && q.event == r.event && q.rank == r.rank);
	}
	buf_free(&line);
	buf_free(&again);
	return 0;
}
