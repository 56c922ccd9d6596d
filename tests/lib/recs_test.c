/* recs_test - a file, a folder, a pattern and a list of files are numbered as one; names are those of each file. */
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

/* Opens path, and compares its records with those of the files, which are a string of digits. */
static void
check(const char *path, const char *files, const char *what)
{
	struct buf room = { 0 };
	const uint8_t *data;
	struct recs *r;
	uint64_t i = 0;
	int right = 1;
	size_t n;

	is(recs_open(path, &r), 0, "%s: opened", what);
	if (r == NULL)
		return;
	for (; *files != 0; files++)
		for (int k = 0; k < count[*files - '0']; k++, i++)
			right &= i < r->count && r->read(r, i, &room, &data, &n) == 0 && n == 2 &&
			    data[0] == *files - '0' && data[1] == k;
	ok(right && i == r->count, "%s: every record, in order", what);
	is_str(r->path, path, "%s: path is the user's", what);
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
	check(list, "302", "names separated by commas");

	recs_open(pics_path("set"), &r);
	r->name(r, 3, name, sizeof(name));
	snprintf(want, sizeof(want), "%s: record at 0", path[2]);
	is_str(name, want, "a record's name has its file");
	r->name(r, 2, name, sizeof(name));
	snprintf(want, sizeof(want), "%s: record at 24", path[0]);
	is_str(name, want, "a record's name has its offset");
	recs_close(r);

	is(recs_open(pics_path("set/5*.rec"), &r), ERR_ARG, "a pattern that matches nothing");
	is(recs_open(pics_path("set/5.rec"), &r), ERR_SYS, "a missing file");
	snprintf(list, sizeof(list), "%s,,%s", path[3], path[0]);
	is(recs_open(list, &r), ERR_ARG, "an empty name in a list");
	pics_write(path[1], "no record", 9);
	is(recs_open(pics_path("set"), &r), ERR_FORMAT, "a folder with a file of another format");
	ok(r == NULL && strncmp(err_line(), path[1], strlen(path[1])) == 0, "the message names it");
	recs_close(NULL);
	pics_clean();
	return done();
}
