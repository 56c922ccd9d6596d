/* recs_test - one file, several, a folder or a pattern of them: numbered through, each named by its own place. */
#include "base/err.h"
#include "record/recs.h"
#include "pics.h"
#include "tap.h"

#include <sys/stat.h>

static const int count[] = { 3, 0, 4, 1 };

/* Record k of file f holds f and k. */
static void
make(const char *path, int f)
{
	int fd = pics_create(path);

	for (int k = 0; k < count[f]; k++) {
		const uint8_t two[2] = { (uint8_t)f, (uint8_t)k };

		pics_rec(fd, two, sizeof(two));
	}
	close(fd);
}

/* Opens, and looks whether the records of these files, a letter each, follow each other. */
static void
check(const char *path, const char *files, const char *what)
{
	struct buf room = { 0 };
	const uint8_t *data;
	struct recs *r;
	uint64_t i = 0;
	int right = 1;
	size_t n;

	is(recs_open(&r, path), 0, "%s: opened", what);
	if (r == NULL)
		return;
	for (; *files != 0; files++)
		for (int k = 0; k < count[*files - '0']; k++, i++)
			right &= i < r->count && r->read(r, i, &room, &data, &n) == 0 && n == 2 &&
			    data[0] == *files - '0' && data[1] == k;
	ok(right && i == r->count, "%s: every record, in order", what);
	is_str(r->path, path, "%s: by the user's name", what);
	recs_close(r);
	buf_free(&room);
}

int
main(void)
{
	char path[4][256], list[1200], name[RECS_NAME], want[300];
	struct recs *r;

	mkdir(pics_path("set,[1]"), 0777);
	for (int f = 0; f < 4; f++) {
		snprintf(path[f], sizeof(path[f]), "%s/%d.rec", pics_path("set,[1]"), f);
		make(path[f], f);
	}
	check(path[2], "2", "a file");
	check(pics_path("set,[1]"), "0123", "a folder whose name looks like a pattern");
	rename(pics_path("set,[1]"), pics_path("set"));
	for (int f = 0; f < 4; f++)
		snprintf(path[f], sizeof(path[f]), "%s/%d.rec", pics_path("set"), f);
	check(pics_path("set/[02]*.rec"), "02", "a pattern");
	snprintf(list, sizeof(list), "%s,%s,%s", path[3], path[0], pics_path("set/2*"));
	check(list, "302", "names with commas between");

	recs_open(&r, pics_path("set"));
	r->name(r, 3, name, sizeof(name));
	snprintf(want, sizeof(want), "%s: record at 0", path[2]);
	is_str(name, want, "a record's name is its file's");
	r->name(r, 2, name, sizeof(name));
	snprintf(want, sizeof(want), "%s: record at 24", path[0]);
	is_str(name, want, "... and its place in it");
	recs_close(r);

	is(recs_open(&r, pics_path("set/5*.rec")), ERR_ARG, "a pattern that fits nothing");
	is(recs_open(&r, pics_path("set/5.rec")), ERR_SYS, "a file that is not there");
	snprintf(list, sizeof(list), "%s,,%s", path[3], path[0]);
	is(recs_open(&r, list), ERR_ARG, "an empty name between commas");
	pics_write(path[1], "no record", 9);
	is(recs_open(&r, pics_path("set")), ERR_FORMAT, "a foreign file among them");
	ok(r == NULL && strncmp(err_line(), path[1], strlen(path[1])) == 0, "is named");
	recs_close(NULL);
	pics_clean();
	return done();
}
