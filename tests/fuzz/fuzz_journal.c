/* fuzz_journal - hostile journals: what is read is read again when written, and the place behind it is within the file. */
#include "record/journal.h"
#include "place.h"

static void
put_again(struct buf *text, const struct journal_item *it)
{
	if (journal_put(text, it) < 0)
		abort();
}

/* Reads a journal; its items are written to text.  Returns how many there were. */
static size_t
go_through(const char *path, size_t size, struct buf *text)
{
	struct journal_item it;
	struct journal *j;
	uint64_t command;
	size_t n = 0;

	if (journal_open(path, &command, &j) < 0)
		return 0;
	if (journal_put_head(text, command) < 0)
		abort();
	for (; journal_next(j, &it) > 0; n++)
		put_again(text, &it);
	if (journal_at(j) > size)
		abort();
	journal_close(j);
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	struct buf text = { 0 }, again = { 0 };
	char path[64];
	size_t n;

	place_put("x", p, size);
	snprintf(path, sizeof(path), "%s/x", place_dir);
	n = go_through(path, size, &text);
	place_put("x", text.p, text.n);
	if (go_through(path, text.n, &again) != n || again.n != text.n || (n > 0 && memcmp(again.p, text.p, text.n) != 0))
		abort();
	buf_free(&text);
	buf_free(&again);
	return 0;
}
