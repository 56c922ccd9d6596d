/* rec_test - records are framed, split at magic words and joined again; errors name the offset. */
#include "base/err.h"
#include "record/rec.h"
#include "pics.h"
#include "tap.h"

static const uint8_t magic[4] = { 0x0a, 0x23, 0xd7, 0xce };

/* Reads all records of a file: *out gets their bytes one after the other, *n their number. */
static int
read_all(const void *p, size_t len, size_t max, struct buf *out, int *n)
{
	struct rec_reader *r;
	const uint8_t *data;
	const char *path = pics_path("all.rec");
	size_t got;
	int fd, e;

	pics_write(path, p, len);
	fd = open(path, O_RDONLY);
	rec_open(fd, -1, max, &r);
	for (*n = 0, out->n = 0; (e = rec_next(r, &data, &got)) > 0; ++*n)
		buf_put(out, data, got);
	rec_close(r);
	close(fd);
	return e;
}

static void
test_round_trip(void)
{
	struct buf framed = { 0 }, plain = { 0 }, back = { 0 };
	struct rng r = rng_start(5, 0, 0);
	int n, same = 1;

	/* Random words, many of them magic, so that records are split in every way. */
	for (int i = 0; i < 500; i++) {
		size_t len = (size_t)rng_below(&r, 40), start = plain.n;
		const uint8_t *data;
		uint8_t *copy;
		size_t got, used;
		struct buf one = { 0 };

		while (plain.n - start < len)
			if (rng_below(&r, 3) == 0)
				buf_put(&plain, magic, rng_below(&r, 5));
			else
				buf_put(&plain, "zz", rng_below(&r, 3));
		rec_frame(&framed, plain.p + start, plain.n - start);
		rec_frame(&one, plain.p + start, plain.n - start);
		copy = malloc(one.n);
		memcpy(copy, one.p, one.n);
		if (rec_join(copy, one.n, 0, &data, &got, &used) < 0 || used != one.n || got != plain.n - start ||
		    memcmp(data, plain.p + start, got) != 0)
			same = 0;
		free(copy);
		buf_free(&one);
	}
	ok(same, "rec_join() returns the framed bytes");
	is(read_all(framed.p, framed.n, REC_LONGEST, &back, &n), 0, "the stream is read to its end");
	is(n, 500, "every record is returned");
	ok(back.n == plain.n && memcmp(back.p, plain.p, plain.n) == 0, "the records have the same bytes");
	is(framed.n % 4, 0, "the file's length is a multiple of 4");
	buf_free(&framed);
	buf_free(&plain);
	buf_free(&back);
}

static void
test_long(void)
{
	size_t len = 3u << 20;
	uint8_t *p = malloc(len);
	struct buf framed = { 0 }, back = { 0 };
	int n;

	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 2654435761u >> 13);
	rec_frame(&framed, p, len);
	is(read_all(framed.p, framed.n, len, &back, &n), 0, "a record of 3 MiB is read");
	ok(back.n == len && memcmp(back.p, p, len) == 0, "a record of 3 MiB has the same bytes");
	is(read_all(framed.p, framed.n, len - 1, &back, &n), ERR_LIMIT, "one byte beyond the limit is refused");
	free(p);
	buf_free(&framed);
	buf_free(&back);
}

static void
test_damage(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		int e, records;
		const char *line, *name;
	} t[] = {
		{ "", 0, 0, 0, "", "an empty stream" },
		{ "\x0a\x23\xd7\xce\0\0\0\0\x0a\x23", 10, ERR_SHORT, 1,
		    "record at 8: the stream ends inside it", "a cut head" },
		{ "\x0a\x23\xd7\xce\x05\0\0\0zzzz", 12, ERR_SHORT, 0,
		    "record at 0: the stream ends inside it", "cut data" },
		{ "\x0a\x23\xd7\xce\x03\0\0\0zzz", 11, ERR_SHORT, 0,
		    "record at 0: the stream ends inside it", "a missing zero at the end" },
		{ "GIF89a..", 8, ERR_FORMAT, 0, "record at 0: no magic word, so this is not a record but an image; im2rec packs images",
		    "another format" },
		{ "\x0a\x23\xd7\xce\0\0\0\x80", 8, ERR_FORMAT, 0, "record at 0: part 4 does not exist", "part 4" },
		{ "\x0a\x23\xd7\xce\0\0\0\x40", 8, ERR_FORMAT, 0, "record at 0: part 2 is out of order", "a middle part first" },
		{ "\x0a\x23\xd7\xce\0\0\0\x20", 8, ERR_SHORT, 0,
		    "record at 0: the stream ends inside it", "a first part alone" },
		{ "\x0a\x23\xd7\xce\0\0\0\x20\x0a\x23\xd7\xce\0\0\0\0", 16, ERR_FORMAT, 0,
		    "record at 0: part 0 is out of order", "a whole record after a first part" },
		{ "\x0a\x23\xd7\xce\xff\xff\xff\x1f", 8, ERR_SHORT, 0,
		    "record at 0: the stream ends inside it", "a length of half a gigabyte" },
	};
	struct buf back = { 0 };

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		uint8_t copy[16];
		const uint8_t *data;
		size_t len, used;
		int n;

		err_note(0, "%s", "");
		is(read_all(t[i].bytes, t[i].n, REC_LONGEST, &back, &n), t[i].e, "%s: error code", t[i].name);
		is(n, t[i].records, "%s: records before it", t[i].name);
		is_str(err_line(), t[i].line, "%s: message", t[i].name);
		if (t[i].e == 0 || t[i].records > 0)
			continue;
		memcpy(copy, t[i].bytes, t[i].n);
		is(rec_join(copy, t[i].n, 0, &data, &len, &used), t[i].e, "%s: error of rec_join()", t[i].name);
	}
	ok(back.cap < 4u << 20, "memory grows only with bytes received");
	buf_free(&back);
}

int
main(void)
{
	test_round_trip();
	test_long();
	test_damage();
	pics_clean();
	return done();
}
