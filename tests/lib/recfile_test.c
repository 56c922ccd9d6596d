/* recfile_test - records by number; an index beside the file is used when it fits, and not believed when it does not. */
#include "base/err.h"
#include "data/idx.h"
#include "data/recfile.h"
#include "pics.h"
#include "tap.h"

#define N 50

static char path[256], index_path[256];
static uint64_t at[N];

/* Records of growing length, some with the magic word in them; record i begins with i. */
static void
make(void)
{
	static uint8_t data[4096];
	int fd = pics_create(path);

	for (int i = 0; i < N; i++) {
		at[i] = (uint64_t)lseek(fd, 0, SEEK_CUR);
		memset(data, i, sizeof(data));
		if (i % 4 == 1)
			memcpy(data + 8, "\x0a\x23\xd7\xce", 4);
		rec_put(fd, data, 16 + (size_t)i * 9);
	}
	close(fd);
}

static int
all_right(const struct recs *f)
{
	struct buf room = { 0 };
	const uint8_t *data;
	int right = f->count == N;
	size_t n;

	for (uint64_t i = 0; right && i < N; i++)
		right = recfile_at(f, i) == at[i] && f->read(f, i, &room, &data, &n) == 0 && n == 16 + i * 9 &&
		    data[0] == i && (i % 4 != 1 || le_get32(data + 8) == REC_MAGIC);
	buf_free(&room);
	return right;
}

/* Opens with an index of n of the records, the last one off by so much. */
static void
with_index(size_t n, int64_t off, const char *name)
{
	struct buf text = { 0 };
	struct recs *f;

	for (size_t i = 0; i < n; i++)
		idx_put(&text, i, at[i] + (i + 1 == n ? (uint64_t)off : 0));
	pics_write(index_path, text.p, text.n);
	is(recfile_open(&f, path), 0, "%s: opened", name);
	ok(all_right(f), "%s: every record is there", name);
	recs_close(f);
	buf_free(&text);
}

int
main(void)
{
	struct buf text = { 0 }, room = { 0 };
	struct recs *f;
	const uint8_t *data;
	size_t n;

	snprintf(path, sizeof(path), "%s", pics_path("a.rec"));
	snprintf(index_path, sizeof(index_path), "%s", pics_path("a.idx"));
	make();
	is(recfile_open(&f, path), 0, "no index: opened");
	ok(all_right(f), "no index: every record is there");
	recs_close(f);
	with_index(N, 0, "an index that fits");
	with_index(N - 1, 0, "an index of fewer records");
	with_index(N, 4, "an index that points between records");
	with_index(N, 1 << 30, "an index that points beyond the file");
	with_index(0, 0, "an empty index");
	pics_write(index_path, "gibberish", 9);
	is(recfile_open(&f, path), 0, "gibberish: opened");
	ok(all_right(f), "gibberish: every record is there");
	recs_close(f);

	/* That an index is used at all shows when it leaves out a record in the middle. */
	for (size_t i = 0; i < N; i++)
		if (i != 20)
			idx_put(&text, i, at[i]);
	pics_write(index_path, text.p, text.n);
	recfile_open(&f, path);
	is(f->count, N - 1, "an index of some of the records gives these");
	is(f->read(f, 20, &room, &data, &n), 0, "they are read");
	is(data[0], 21, "each by its own place");
	recs_close(f);
	recs_close(NULL);
	is(recfile_open(&f, pics_dir), ERR_SYS, "a directory is no file");
	buf_free(&text);
	buf_free(&room);
	pics_clean();
	return done();
}
