/* fuzz_mark - hostile logs through the marker: nothing of them is lost, and pieces make no difference. */
#include "watch/mark.h"

#include <assert.h>

static void
pass(const uint8_t *data, size_t size, size_t most, struct buf *out)
{
	struct traffic now = { .wire = { TRAFFIC_NONE, TRAFFIC_NONE } };
	struct marker *m = mark_new(&now, NULL);

	assert(m != NULL);
	for (size_t i = 0; i < size; i += most)
		assert(mark_copy(m, data + i, size - i < most ? size - i : most, &now, out) == 0);
	assert(mark_copy(m, "", 0, &now, out) == 0);
	mark_free(m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = { 0 }, cut = { 0 };

	pass(data, size, size + 1, &whole);
	pass(data, size, 7, &cut);
	assert(whole.n >= size && whole.n == cut.n && (whole.n == 0 || memcmp(whole.p, cut.p, whole.n) == 0));
	buf_free(&whole);
	buf_free(&cut);
	return 0;
}
