/* recset_test - a .rec and the files beside it appear atomically; a failed run keeps the old ones and can resume. */
#include "base/err.h"
#include "record/recs.h"
#include "record/recset.h"
#include "record/sum.h"
#include "pics.h"
#include "tap.h"

#include <sys/stat.h>

static char dir[128], path[160], rejects[160];

static bool
file_exists(const char *ending)
{
	char name[256];

	snprintf(name, sizeof(name), "%s/t%s", dir, ending);
	return access(name, F_OK) == 0;
}

static struct recset *
create(const char *to_rejects, uint64_t command, bool resume, int want)
{
	const struct recset_opt opt = { .path = path, .rejects = to_rejects, .command = command, .resume = resume };
	struct recset *s;

	is(recset_create(&opt, &s), want, "create: %s", want < 0 ? err_line() : "as wanted");
	return s;
}

/* Item i is called iN; every third is left out. */
static int
put(struct recset *s, uint64_t i)
{
	uint8_t data[64] = { (uint8_t)i };
	struct buf rec = { 0 };
	char name[16];
	int e;

	snprintf(name, sizeof(name), "i%d", (int)i);
	if (i % 3 == 2)
		return recset_reject(s, &(struct pack_item){ .name = name }, "a reason");
	rec_frame(&rec, data, sizeof(data));
	e = recset_put(s, &(struct pack_item){ .name = name, .id = i, .stamp = { 64, (int64_t)i, 5 } }, rec.p, rec.n);
	buf_free(&rec);
	return e;
}

static int
put_some(struct recset *s, uint64_t from, uint64_t to)
{
	int e = 0;

	for (; e == 0 && from < to; from++)
		e = put(s, from);
	return e;
}

static int
pass_all(struct recset *s, uint32_t *left_out)
{
	struct pack_item item;
	const char *reason;
	char name[16];
	int e = 0;

	for (int i = 0; e == 0 && recset_kept(s) > 0; i++) {
		snprintf(name, sizeof(name), "i%d", i);
		item = (struct pack_item){ .name = name, .stamp = { 64, i, 5 } };
		if (i % 3 == 2)
			item.stamp = (struct stamp){ 0 };
		e = recset_pass(s, &item, &reason);
		*left_out += e == 0 && reason != NULL && strcmp(reason, "a reason") == 0;
	}
	return e;
}

static uint64_t
count(void)
{
	struct recs *r;
	uint64_t n;

	if (recs_open(path, &r) < 0)
		return UINT64_MAX;
	n = r->count;
	recs_close(r);
	return n;
}

static void
test_commit(void)
{
	struct names classes = { 0 }, none = { 0 };
	struct recset *s = create(rejects, 1, false, 0);
	struct buf text = { 0 };

	names_append(&classes, "a\nb", 3);
	is(put_some(s, 0, 9), 0, "items are put");
	ok(recset_records(s) == 6 && recset_bytes(s) == 6 * 72, "records and bytes are counted");
	ok(file_exists(".rec.partial") && file_exists(".rec.journal") && !file_exists(".rec"),
	    "only partial files exist before the commit");
	is(recset_commit(s, &classes), 0, "the set is committed");
	ok(file_exists(".rec") && file_exists(".idx") && file_exists(".sum") && file_exists(".labels") && file_exists(".bad"),
	    "all files have their names");
	ok(!file_exists(".rec.partial") && !file_exists(".rec.journal"), "no partial file remains");
	is(count(), 6, "the .rec has every record");
	io_slurp(rejects, 1000, &text);
	buf_terminate(&text);
	is_str((char *)text.p, "i2\ta reason\ni5\ta reason\ni8\ta reason\n", "the rejects list names and reasons");
	buf_free(&text);
	s = create(NULL, 1, false, 0);
	put_some(s, 0, 3);
	is(recset_commit(s, &none), 0, "another set replaces it");
	ok(!file_exists(".labels"), "the old .labels file is removed");
	is(count(), 2, "the .rec has the new records");
	names_free(&classes);
}

static void
test_resume(void)
{
	struct names none = { 0 };
	struct recset *s = create(rejects, 1, false, 0);
	const char *reason;
	uint32_t left_out = 0;

	put_some(s, 0, 7);
	recset_abandon(s);
	ok(file_exists(".rec.partial") && count() == 2, "an abandoned run keeps its partial files and the old .rec");
	create(NULL, 2, true, ERR_ARG);
	s = create(rejects, 1, true, 0);
	is(recset_kept(s), 7, "a resumed run keeps its items");
	is(recset_pass(s, &(struct pack_item){ .name = "another" }, &reason), ERR_ARG, "an item of another name is refused");
	recset_abandon(s);
	s = create(rejects, 1, true, 0);
	is(recset_pass(s, &(struct pack_item){ .name = "i0", .stamp = { 64, 0, 6 } }, &reason), ERR_ARG,
	    "an item with another stamp is refused");
	recset_abandon(s);
	s = create(rejects, 1, true, 0);
	is(pass_all(s, &left_out), 0, "the same items are skipped");
	is(left_out, 2, "the reasons of rejected items are returned");
	put_some(s, 7, 9);
	is(recset_commit(s, &none), 0, "the resumed run is committed");
	is(count(), 6, "the .rec has all records");
	s = create(NULL, 1, true, 0);
	is(recset_kept(s), 0, "a committed run leaves nothing to resume");
	recset_abandon(s);
	ok(!file_exists(".rec.partial") && !file_exists(".rec.journal"), "a run without items removes its partial files");
}

static void
test_faults(void)
{
	struct names none = { 0 };
	struct recset *s;
	char name[200], folder[160];

	create("/nonexistent/rejects", 1, false, ERR_SYS);
	ok(strstr(err_line(), "/nonexistent/rejects: create: there is no folder /nonexistent") != NULL, "the message names it");
	ok(!file_exists(".rec.partial"), "a rejects file in a missing directory is refused before anything is written");
	create(dir, 1, false, ERR_ARG);
	snprintf(folder, sizeof(folder), "%s/gone", dir);
	snprintf(name, sizeof(name), "%s/rejects", folder);
	mkdir(folder, 0777);
	s = create(name, 1, false, 0);
	is(rmdir(folder), 0, "the rejects leave no file before the end");
	put_some(s, 0, 3);
	is(recset_commit(s, &none), ERR_SYS, "the directory of the rejects is gone at the end");
	ok(file_exists(".rec.partial") && file_exists(".idx") && file_exists(".sum") && count() == 6,
	    "the old files stay, and the partial ones remain");
	s = create(NULL, 1, false, 0);
	create(NULL, 1, true, ERR_SYS);
	ok(strstr(err_line(), "another im2rec is writing it") != NULL, "a second writer is refused");
	recset_abandon(s);
	snprintf(name, sizeof(name), "%s/none/t.rec", dir);
	is(recset_create(&(struct recset_opt){ .path = name }, &s), ERR_SYS, "a missing directory");
	is(recset_create(&(struct recset_opt){ .path = dir }, &s), ERR_ARG, "a directory in place of a file");
	recset_abandon(NULL);
}

int
main(void)
{
	char cmd[160];

	snprintf(dir, sizeof(dir), "/tmp/recset_test.%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/t.rec", dir);
	snprintf(rejects, sizeof(rejects), "%s/t.bad", dir);
	mkdir(dir, 0777);
	test_commit();
	test_resume();
	test_faults();
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	if (system(cmd) != 0)
		return 1;
	return done();
}
