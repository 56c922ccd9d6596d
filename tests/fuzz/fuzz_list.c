/* fuzz_list - hostile lists: every entry has a path, and labels whose text gives the same bits again. */
#include "base/buf.h"
#include "base/err.h"
#include "source/label.h"
#include "source/list.h"

#include <stdlib.h>

static int
label_differs(float label)
{
	struct buf text = { 0 };
	float back = 0;
	int differs = label_put(&text, label) < 0 || buf_terminate(&text) < 0 ||
	    label_parse((const char *)text.p, &back) < 0 || memcmp(&back, &label, sizeof(back)) != 0;

	buf_free(&text);
	return differs;
}

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
			if (label_differs(entry.label[i]))
				abort();
	}
	buf_free(&b);
	return 0;
}
