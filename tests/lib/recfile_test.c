/* recfile_test - records are read by number; an index beside the file is used only if it fits. */
#include "base/err.h"
#include "record/idx.h"
#include "record/recfile.h"
#include "pics.h"
#include "tap.h"

#define N 50

static char path[256], index_path[256];
static uint64_t at[N];

/* Makes records of growing length, some with a magic word; record i starts with i. */
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
		pics_rec(fd, data, 16 + (size_t)i * 9);
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

/* Opens the file with an index of its first n records, in which the last offset is wrong by `off`. */
static void
with_index(size_t n, int64_t off, const char *name)
{
	struct buf text = { 0 };
	struct recs *f;

	for (size_t i = 0; i < n; i++)
		idx_put(&text, i, at[i] + (i + 1 == n ? (uint64_t)off : 0));
	pics_write(index_path, text.p, text.n);
	is(recfile_open(path, &f), 0, "%s: opened", name);
	ok(all_right(f), "%s: every record is read", name);
	recs_close(f);
	buf_free(&text);
}

/* Opening a large file does not check every entry: an omitted record is found when the one before it is read. */
static void
test_large(void)
{
	enum { MANY = 5000, HOLE = 1234 };
	struct buf text = { 0 }, room = { 0 };
	int fd = pics_create(path), right = 1, e = 0;
	const uint8_t *data;
	char line[300];
	struct recs *f;
	size_t n;

	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t where = (uint64_t)lseek(fd, 0, SEEK_CUR);

		if (i != HOLE)
			idx_put(&text, i, where);
		if (i == HOLE - 1)
			snprintf(line, sizeof(line), "%s: record at %llu: the .idx ", path, (unsigned long long)where);
		pics_rec(fd, &i, sizeof(i));
	}
	close(fd);
	pics_write(index_path, text.p, text.n);
	is(recfile_open(path, &f), 0, "a large index that omits a record: opened");
	is(f->count, MANY - 1, "the file has as many records as the index");
	for (uint64_t i = 0; i < HOLE - 1; i++)
		right &= f->read(f, i, &room, &data, &n) == 0 && n == 8 && le_get64(data) == i;
	ok(right, "the records before the gap are read");
	e = f->read(f, HOLE - 1, &room, &data, &n);
	ok(e == ERR_FORMAT && strncmp(err_line(), line, strlen(line)) == 0,
	    "the read at the gap fails and names file and offset");
	recs_close(f);
	buf_free(&text);
	buf_free(&room);
}

/* The numbers of the records after a damaged one would be wrong.  A file that starts with none is no file of records. */
static void
test_damaged(void)
{
	static const char advice[] = "; pack what im2rec --to-tar reads of it";
	int fd = pics_create(path);
	struct recs *f;

	for (uint64_t i = 0; i < 3; i++)
		pics_rec(fd, &i, sizeof(i));
	lseek(fd, 16, SEEK_SET);
	is(write(fd, "X", 1), 1, "a magic word is changed");
	unlink(index_path);
	is(recfile_open(path, &f), ERR_FORMAT, "a damaged record is refused: %s", err_line());
	ok(strstr(err_line(), "record at 16: ") != NULL && strstr(err_line(), advice) != NULL, "the line says where, and what to do");
	lseek(fd, 0, SEEK_SET);
	is(write(fd, "X", 1), 1, "the first magic word is changed");
	ok(recfile_open(path, &f) == ERR_FORMAT && strstr(err_line(), advice) == NULL, "what starts with no record is none: %s",
	    err_line());
	close(fd);
}

int
main(void)
{
	struct buf text = { 0 };
	struct recs *f;

	snprintf(path, sizeof(path), "%s", pics_path("a.rec"));
	snprintf(index_path, sizeof(index_path), "%s", pics_path("a.idx"));
	make();
	is(recfile_open(path, &f), 0, "no index: opened");
	ok(all_right(f), "no index: every record is read");
	recs_close(f);
	with_index(N, 0, "an index that fits");
	with_index(N - 1, 0, "an index of fewer records");
	with_index(N, 4, "an index with an offset between records");
	with_index(N, 1 << 30, "an index with an offset beyond the file");
	with_index(0, 0, "an empty index");
	pics_write(index_path, "gibberish", 9);
	is(recfile_open(path, &f), 0, "an invalid index: opened");
	ok(all_right(f), "an invalid index: every record is read");
	recs_close(f);

	for (int i = 0; i < N; i++)
		if (i != 20)
			idx_put(&text, i, at[i]);
	pics_write(index_path, text.p, text.n);
	is(recfile_open(path, &f), 0, "an index that omits a record: opened");
	ok(all_right(f), "an index that omits a record: every record is read");
	recs_close(f);
	test_large();
	test_damaged();
	recs_close(NULL);
	is(recfile_open(pics_dir, &f), ERR_SYS, "a directory");
	buf_free(&text);
	pics_clean();
	return done();
}
