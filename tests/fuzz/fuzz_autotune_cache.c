/* fuzz_autotune_cache - hostile lines: key and name of an accepted line are the line, cut before its last cell. */
#include "engine/autotune_cache.h"

#include <assert.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char key[ENGINE_KEY], name[ENGINE_CHOICE];
	struct buf line = { 0 }, again = { 0 };

	if (buf_put(&line, data, size) == 0 && buf_terminate(&line) == 0 && autotune_cache_parse((char *)line.p, key, name) == 1) {
		assert(buf_put_fmt(&again, "%s\t%s", key, name) == 0 && buf_terminate(&again) == 0);
		assert(strcmp((char *)again.p, (char *)line.p) == 0);
	}
	buf_free(&line);
	buf_free(&again);
	return 0;
}
