/* recwalk_test - a walk returns all records in order, and after any damage all undamaged ones. */
#include "base/err.h"
#include "record/recwalk.h"
#include "record/sum.h"
#include "pics.h"
#include "tap.h"

#define N	24
#define BIG	6	/* the number of a record longer than one read */
#define LONG	300001u	/* its bytes of data */

static char path[256];
static uint8_t stream[1 << 19], bent[sizeof(stream)];
static size_t size, begins[N + 1];

/* Makes the records: record i holds i and then growing data, some with a magic word where records are split. */
static void
make(void)
{
	static uint8_t data[LONG];
	struct buf b = { 0 };

	for (uint32_t i = 0; i < N; i++) {
		size_t n = i == BIG ? LONG : 9 + i * 13;

		begins[i] = b.n;
		for (size_t k = 0; k < n; k++)
			data[k] = (uint8_t)(k * 7 + i);
		le_put32(data, i);
		if (i % 3 == 1)
			le_put32(data + 4, REC_MAGIC);
		rec_frame(&b, data, n);
	}
	begins[N] = size = b.n;
	memcpy(stream, b.p, size);
	buf_free(&b);
}

struct seen {
	uint32_t records, damage;
	uint64_t skipped;	/* bytes */
	bool	 there[N], in_order;
	int	 e;
};

/* Walks the first n bytes at p, as a file. */
static struct seen
walk(const uint8_t *p, size_t n, uint32_t peek)
{
	struct seen s = { .in_order = true };
	struct recwalk_rec r;
	struct recwalk *w;
	uint64_t end = 0;

	pics_write(path, p, n);
	if ((s.e = recwalk_open(path, peek, &w)) < 0)
		return s;
	while ((s.e = recwalk_next(w, &r)) > 0 || s.e == ERR_ITEM) {
		s.in_order &= r.at == end && r.bytes > 0;
		end = r.at + r.bytes;
		if (s.e < 0) {
			s.damage++;
			s.skipped += r.bytes;
			continue;
		}
		s.records++;
		if (r.n >= 4 && le_get32(r.data) < N && r.at == begins[le_get32(r.data)])
			s.there[le_get32(r.data)] = true;
	}
	s.in_order &= end == n;
	recwalk_close(w);
	return s;
}

static void
test_sound(void)
{
	struct recwalk_rec r;
	struct recwalk *w;
	struct seen s = walk(stream, size, 0);
	bool sums = true, whole = true;
	uint32_t i = 0;

	is(s.records, N, "every record is returned");
	ok(s.e == 0 && s.damage == 0 && s.in_order, "the records are in order and without gaps");
	recwalk_open(path, 0, &w);
	for (; recwalk_next(w, &r) > 0; i++) {
		sums &= r.at == begins[i] && r.bytes == begins[i + 1] - begins[i] && r.sum == sum_of(stream + r.at, r.bytes);
		whole &= r.n == (i == BIG ? LONG : 9 + i * 13) && r.whole == r.n && r.data[8] == (uint8_t)(8 * 7 + i) &&
		    (i % 3 != 1 || le_get32(r.data + 4) == REC_MAGIC);
	}
	ok(sums, "each record has its checksum");
	ok(whole, "each record has its data, magic words included");
	is(recwalk_size(w), size, "recwalk_size()");
	is_str(recwalk_path(w), path, "recwalk_path()");
	recwalk_close(w);
	is(walk(stream, 0, 0).e, 0, "an empty file has no records");
}

static void
test_peek(void)
{
	struct recwalk_rec r;
	struct recwalk *w;
	uint32_t i = 0;

	walk(stream, size, 0);
	recwalk_open(path, 16, &w);
	for (; recwalk_next(w, &r) > 0; i++) {
		if (i != BIG)
			continue;
		ok(r.n < r.whole && r.n >= 16 && r.whole == LONG, "a peek returns the start of a long record");
		is(r.bytes, begins[BIG + 1] - begins[BIG], "a peek returns the size of a long record in the file");
		is(recwalk_load(w, &r), 0, "recwalk_load() reads the rest");
		ok(r.n == LONG && r.data[LONG - 1] == (uint8_t)((LONG - 1) * 7 + BIG) && r.sum == sum_of(stream + r.at, r.bytes),
		    "the loaded record has its data and checksum");
	}
	is(i, N, "the walk continues after it");
	recwalk_close(w);
	memcpy(bent, stream, size);
	memset(bent + begins[BIG + 1], 0, 4);
	is(walk(bent, size, 16).records, N - 1, "damage after a long record costs one record");
	memcpy(bent, stream, size);
	le_put32(bent + begins[BIG] + 4, LONG - 4001);
	is(walk(bent, size, 16).there[BIG + 1], true, "a wrong length of a long record costs no other record");
}

static uint32_t
missing(const struct seen *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < N; i++)
		n += !s->there[i];
	return n;
}

/* Changes either word of each head to each of these values: at most one record is lost. */
static void
test_heads(void)
{
	static const uint32_t bad[] = { 0, 1, 0x1fffffff, 0x20000000, 0x7fffffff, 0xffffffff, 40, 4000 };
	uint32_t most = 0, walks = 0;
	bool ended = true, whole = true;

	for (uint32_t i = 0; i < N; i++)
		for (size_t word = 0; word < 8; word += 4)
			for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++) {
				struct seen s;

				memcpy(bent, stream, size);
				le_put32(bent + begins[i] + word, bad[k]);
				s = walk(bent, size, i % 2 == 0 ? 0 : 16);
				ended &= s.e == 0;
				whole &= s.in_order;
				if (missing(&s) > most)
					most = missing(&s);
				walks++;
			}
	ok(ended, "%u damaged heads: every walk reaches the end", walks);
	ok(whole, "every byte is part of a record or skipped");
	is(most, 1, "at most one record is lost");
}

static void
test_lost_bytes(void)
{
	uint32_t most = 0;
	bool ended = true, whole = true;
	struct seen s;

	for (size_t at = 0; at < begins[5]; at += 5) {	/* after three missing bytes no head is at a multiple of 4 */
		memcpy(bent, stream, at);
		memcpy(bent + at, stream + at + 3, size - at - 3);
		pics_write(path, bent, size - 3);
		s = walk(bent, size - 3, 0);
		ended &= s.e == 0;
		whole &= s.in_order;
		if (N - s.records > most)
			most = N - s.records;
	}
	ok(ended && whole, "every walk reaches the end if bytes are missing anywhere");
	ok(most <= 2, "missing bytes cost at most two records: %u", most);
	whole = true;
	for (size_t n = begins[5]; n < begins[6]; n++) {
		s = walk(stream, n, 0);
		whole &= s.e == 0 && s.in_order && s.records == 5 && s.skipped == n - begins[5];
	}
	ok(whole, "a truncated stream returns the records before its end");
	memset(bent, 0x5a, sizeof(bent));
	s = walk(bent, sizeof(bent), 0);
	ok(s.e == 0 && s.records == 0 && s.damage == 1 && s.skipped == sizeof(bent), "a stream without records is one damaged place");
}

static void
test_faults(void)
{
	struct recwalk *w;

	is(recwalk_open("/nonexistent/x", 0, &w), ERR_SYS, "a missing file");
	ok(w == NULL && strstr(err_line(), "/nonexistent/x: open: No such file") != NULL, "the message names it");
	is(recwalk_open("/tmp", 0, &w), ERR_SYS, "a directory");
	recwalk_close(NULL);
}

int
main(void)
{
	snprintf(path, sizeof(path), "/tmp/recwalk_test.%d", (int)getpid());
	make();
	test_sound();
	test_peek();
	test_heads();
	test_lost_bytes();
	test_faults();
	unlink(path);
	return done();
}
