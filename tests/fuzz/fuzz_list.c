/* fuzz_list - hostile lists: every entry has labels that are numbers, and a path. */
#include "base/buf.h"
#include "base/err.h"
#include "source/list.h"

#include <math.h>
#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	static struct list_entry entry;
	struct buf b = { 0 };
	char *line, *next;

	if (buf_put(&b, p, size) < 0 || buf_terminate(&b) < 0)
		abort();
	for (line = (char *)b.p; line != NULL; line = next) {
		int e;

		if ((next = strchr(line, '\n')) != NULL)
			*next++ = 0;
		if ((e = list_parse(line, 0, &entry)) != 1 && e != 0 && e != ERR_ITEM)
			abort();
		if (e <= 0)
			continue;
		if (entry.labels < 1 || entry.labels > LIST_LABELS || *entry.path == 0)
			abort();
		for (uint32_t i = 0; i < entry.labels; i++)
			if (!isfinite(entry.label[i]))
				abort();
	}
	buf_free(&b);
	return 0;
}
