/* idx_test - scanning finds every record, and the text of an index is parsed; errors name the offset or line. */
#include "base/err.h"
#include "record/idx.h"
#include "pics.h"
#include "tap.h"

static int
scan(struct idx *x, const void *p, size_t n)
{
	const char *path = pics_path("scan.rec");
	int fd, e;

	pics_write(path, p, n);
	fd = open(path, O_RDONLY);
	e = idx_scan(x, fd, n);
	close(fd);
	return e;
}

/* Short and long records, some of several parts. */
static void
test_scan(void)
{
	static uint8_t data[200000];
	struct rng r = rng_start(3, 0, 0);
	struct buf f = { 0 };
	uint64_t at[300];
	struct idx x = { 0 };
	int same = 1;

	for (int i = 0; i < 300; i++) {
		size_t n = (size_t)rng_below(&r, i % 10 == 0 ? 150000 : 300);

		if (i % 3 == 0 && n > 64)
			memcpy(data + n / 8 * 4, "\x0a\x23\xd7\xce", 4);
		at[i] = f.n;
		rec_frame(&f, data, n);
		memset(data, i, n);
	}
	is(scan(&x, f.p, f.n), 0, "a file of 300 records is scanned");
	is(x.n, 300, "every record is found");
	for (size_t i = 0; i < x.n; i++)
		same &= x.at[i] == at[i];
	ok(same, "the record is at its offset");
	is(scan(&x, f.p, f.n - 1), ERR_SHORT, "a truncated file fails");
	is(scan(&x, f.p, 0), 0, "an empty file is scanned");
	is(x.n, 0, "an empty file has no records");
	f.p[at[200]] ^= 1;
	is(scan(&x, f.p, f.n), ERR_FORMAT, "a changed magic word fails");
	{
		char want[64];

		snprintf(want, sizeof(want), "record at %llu: ", (unsigned long long)at[200]);
		ok(strncmp(err_line(), want, strlen(want)) == 0, "the message has the offset");
	}
	is(scan(&x, "\x0a\x23\xd7\xce\0\0\0\x20", 8), ERR_SHORT, "a first part alone fails");
	is(scan(&x, "\x0a\x23\xd7\xce\0\0\0\x40", 8), ERR_FORMAT, "a middle part alone fails");
	idx_free(&x);
	buf_free(&f);
}

static int
parse(struct idx *x, const char *text)
{
	return idx_parse(x, (const uint8_t *)text, strlen(text));
}

static void
test_text(void)
{
	struct buf b = { 0 };
	struct idx x = { 0 };

	idx_put(&b, 12, 0);
	idx_put(&b, 3, INT64_MAX);
	is(idx_parse(&x, b.p, b.n), 0, "written lines are parsed");
	ok(x.n == 2 && x.at[0] == 0 && x.at[1] == INT64_MAX, "parsed lines have their offsets");
	is(parse(&x, "1\t80\n0\t0"), 0, "lines in another order are parsed, the last without a newline");
	ok(x.n == 2 && x.at[0] == 0 && x.at[1] == 80, "entries are sorted by offset");
	is(parse(&x, ""), 0, "an empty index");
	is(parse(&x, "1\t0\n2\tx\n"), ERR_FORMAT, "a word in place of a number");
	is_str(err_line(), "line 2: not a key, a tab and an offset", "the message names the line");
	is(parse(&x, "1 0\n"), ERR_FORMAT, "no tab");
	is(parse(&x, "1\t\n"), ERR_FORMAT, "no offset");
	is(parse(&x, "1\t18446744073709551616\n"), ERR_FORMAT, "a number that does not fit");
	is(parse(&x, "1\t9223372036854775808\n"), ERR_FORMAT, "an offset that no file has");
	is(parse(&x, "1\t-8\n"), ERR_FORMAT, "a sign");
	is(parse(&x, "1\t8\n2\t8\n"), ERR_FORMAT, "two records at one offset");
	idx_free(&x);
	buf_free(&b);
}

int
main(void)
{
	test_scan();
	test_text();
	pics_clean();
	return done();
}
