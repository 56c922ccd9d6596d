/* journal_test - written items are read back; reading stops at an incomplete or invalid line. */
#include "base/err.h"
#include "record/journal.h"
#include "record/sum.h"
#include "pics.h"
#include "tap.h"

static char path[256];

static const struct journal_item items[] = {
	{ .place = 1, .packed = true, .id = 7, .bytes = 1000, .sum = 0xfedcba9876543210 },
	{ .place = UINT64_MAX, .packed = true, .id = UINT64_MAX, .bytes = 12, .sum = 0 },
	{ .place = 2, .name = "a/b c.png", .reason = "PNG: end of stream" },
	{ .place = 3, .name = "", .reason = "images: Permission denied" },
};

static struct buf
written(void)
{
	struct buf b = { 0 };

	journal_put_head(&b, 0x0123456789abcdef);
	for (size_t i = 0; i < 4; i++)
		journal_put(&b, &items[i]);
	return b;
}

/* Returns how many items of the first n bytes are read; *end is the end of the last. */
static int
read_back(const void *p, size_t n, uint64_t *end)
{
	struct journal_item it;
	struct journal *j;
	uint64_t command;
	int i = 0;

	pics_write(path, p, n);
	*end = 0;
	if (journal_open(path, &command, &j) < 0)
		return -1;
	*end = journal_at(j);
	for (; command == 0x0123456789abcdef && i < 4 && journal_next(j, &it) > 0; i++) {
		*end = journal_at(j);
		if (it.place != items[i].place || it.packed != items[i].packed)
			break;
		if (it.packed ? it.id != items[i].id || it.bytes != items[i].bytes || it.sum != items[i].sum
		    : strcmp(it.name, items[i].name) != 0 || strcmp(it.reason, items[i].reason) != 0)
			break;
	}
	journal_close(j);
	return i;
}

static void
test_whole(struct buf *b)
{
	struct buf odd = { 0 };
	uint64_t end;

	is(read_back(b->p, b->n, &end), 4, "all items are read back");
	is(end, b->n, "up to the end");
	journal_put(&odd, &(struct journal_item){ .name = "a\tb\nc", .reason = "x\ty" });
	buf_terminate(&odd);
	is_str((char *)odd.p, "x\t0000000000000000\ta?b?c\tx?y\n", "control characters in names become question marks");
	buf_free(&odd);
}

static void
test_torn(struct buf *b)
{
	size_t lines = 0, last = 0;
	bool right = true;
	uint64_t end;

	for (size_t n = 0; n <= b->n; n++) {
		int got = read_back(b->p, n, &end);

		if (n > 0 && b->p[n - 1] == '\n') {
			lines++;
			last = n;
		}
		right &= got == (int)lines - 1 && end == last;
	}
	ok(right, "a truncated journal returns its complete lines");
}

static void
test_bent(struct buf *b)
{
	static const char *const bad[] = { "r\t1\t7\t8\t0000000000000000\n", "r\t0000000000000001\t-7\t8\t0000000000000000\n",
		"r\t0000000000000001\t7\t8\t0000000000000000\t\n", "x\t0000000000000001\tname\n", "y\n", "\n", "r\n",
		"r\t000000000000000g\t7\t8\t0000000000000000\n" };
	uint64_t end;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct buf t = { 0 };

		buf_put(&t, b->p, b->n);
		t.n = (size_t)((uint8_t *)memchr(t.p, '\n', t.n) - t.p) + 1;
		buf_put_fmt(&t, "%s", bad[i]);
		is(read_back(t.p, t.n, &end), 0, "invalid line %zu ends the reading", i);
		buf_free(&t);
	}
	is(read_back("tally-pack 2\t0123456789abcdef\n", 30, &end), -1, "another version is refused");
	is(read_back("", 0, &end), -1, "an empty file is refused");
	is(read_back("\0\0\0\0\n", 5, &end), -1, "zeros are refused");
}

static void
test_sums(void)
{
	struct sum_line l = { 12, 345, 0xabcdef };
	struct sum_reader *r;
	struct buf text = { 0 };

	is(sum_of("", 0), 0x2d06800538d394c2, "XXH3 of no bytes equals xxHash's value");
	sum_put(&text, &l);
	buf_put_fmt(&text, "12\t345\t0000000000ABCDEF\n");
	pics_write(path, text.p, text.n);
	is(sum_open(path, &r), 0, "a .sum file is opened");
	memset(&l, 0, sizeof(l));
	ok(sum_next(r, &l) == 1 && l.at == 12 && l.bytes == 345 && l.sum == 0xabcdef, "a written line is read back");
	is(sum_next(r, &l), ERR_FORMAT, "upper-case digits are refused");
	is_str(err_line(), "line 2: not an offset, a number of bytes and a checksum", "the message names the line");
	sum_close(r);
	buf_free(&text);
	is(sum_open("/nonexistent/x", &r), ERR_SYS, "a missing file");
}

int
main(void)
{
	struct buf b = written();

	snprintf(path, sizeof(path), "/tmp/journal_test.%d", (int)getpid());
	test_whole(&b);
	test_torn(&b);
	test_bent(&b);
	test_sums();
	unlink(path);
	buf_free(&b);
	return done();
}
