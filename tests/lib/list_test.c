/* list_test - lines of a list are parsed, and invalid ones are reported and skipped. */
#include "base/err.h"
#include "source/list.h"
#include "pics.h"
#include "tap.h"

static void
test_lines(void)
{
	static const struct {
		const char *line;
		int e;
		unsigned long long id;
		uint32_t labels;
		float first, last;
		const char *path;
		uint32_t width;
	} t[] = {
		{ "7\t3\ta/b.jpg", 1, 7, 1, 3, 3, "a/b.jpg", 0 },
		{ "7\t3.000000\ta b.jpg\r\n", 1, 7, 1, 3, 3, "a b.jpg", 0 },
		{ "18446744073709551615\t1\t-2.5\t4e1\tx.png\n", 1, 18446744073709551615u, 3, 1, 40, "x.png", 0 },
		{ "12 5 with blanks in it.jpg", 1, 12, 1, 5, 5, "with blanks in it.jpg", 0 },
		{ "12  5   two blanks  in it.jpg", 1, 12, 1, 5, 5, "two blanks  in it.jpg", 0 },
		{ " 12 5 6  7 a b.jpg ", 1, 12, 3, 5, 7, "a b.jpg", 3 },
		{ "12 \t 5\t6 \t a.jpg", 1, 12, 2, 5, 6, "a.jpg", 1 },
		{ "12 5 6", ERR_ITEM, 0, 0, 0, 0, NULL, 2 },
		{ "12 5 a.jpg", ERR_ITEM, 0, 0, 0, 0, NULL, 2 },
		{ "12 ", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
		{ "12\t\ta.jpg", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
		{ "", 0, 0, 0, 0, 0, NULL, 0 },
		{ "  \n", 0, 0, 0, 0, 0, NULL, 0 },
		{ "7", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
		{ "7\ta.jpg", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
		{ "x\t3\ta.jpg", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
		{ "-1\t3\ta.jpg", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
		{ "7\tcat\ta.jpg", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
		{ "7\tnan(1)\ta.jpg", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
		{ "7\tinfinity\ta.jpg", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
		{ "7\t-inf\tinf\ta.jpg", 1, 7, 2, -INFINITY, INFINITY, "a.jpg", 0 },
		{ "7\t3\t", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
		{ "7 3", ERR_ITEM, 0, 0, 0, 0, NULL, 0 },
	};
	struct list_entry e;

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		char line[200];

		snprintf(line, sizeof(line), "%s", t[i].line);
		is(list_parse(line, t[i].width, &e), t[i].e,
		    "line %zu: list_parse returns its code", i);
		if (t[i].e <= 0)
			continue;
		ok(e.id == t[i].id && e.labels == t[i].labels,
		    "line %zu: index and number of labels are right", i);
		ok(e.label[0] == t[i].first && e.label[e.labels - 1] == t[i].last,
		    "line %zu: labels are right", i);
		is_str(e.path, t[i].path, "line %zu: the path is right", i);
	}
}

static void
test_file(void)
{
	const char *path = pics_path("a.lst");
	const struct list_entry *entry;
	struct buf b = { 0 };
	struct list *l;

	buf_put_fmt(&b, "1\t0\ta.jpg\n\n2\t1\t");
	for (uint32_t i = 0; i < LIST_LINE; i++)
		buf_put(&b, "x", 1);
	buf_put_fmt(&b, "\n3\t");
	for (uint32_t i = 0; i < LIST_LABELS + 1; i++)
		buf_put_fmt(&b, "1\t");
	buf_put_fmt(&b, "c.jpg\n4\t2\td.jpg");
	pics_write(path, b.p, b.n);
	is(list_open(path, 0, &l), 0, "list_open opens a list");
	is(list_next(l, &entry), 1, "list_next returns the first entry");
	is(list_next(l, &entry), ERR_ITEM, "list_next refuses a line that is too long");
	is(list_line(l), 3, "list_line counts empty lines");
	is(list_next(l, &entry), ERR_ITEM, "list_next refuses too many labels");
	is(list_next(l, &entry), 1, "the list continues after a bad line");
	ok(entry->id == 4 && strcmp(entry->path, "d.jpg") == 0, "the next entry is right");
	is(list_next(l, &entry), 0, "list_next returns 0 at the end");
	list_close(l);
	is(list_open(pics_path("absent.lst"), 0, &l), ERR_SYS, "list_open fails on a missing file");
	buf_free(&b);
}

/* A text editor's other encodings: a mark before UTF-8 is no part of the first index, UTF-16 has zero bytes. */
static void
test_encodings(void)
{
	static const char marked[] = "\xef\xbb\xbf" "7\t0\ta.jpg\n8\t1\tb.jpg\n", wide[] = "\0" "1\0\t\0" "0\0\t\0a\0\n";
	static const char hidden[] = "7\t0\ta.jpg\n8\t1\tb.jpg\0.png";
	const char *path = pics_path("a.lst");
	const struct list_entry *entry;
	struct list *l;

	pics_write(path, (const uint8_t *)marked, sizeof(marked) - 1);
	list_open(path, 0, &l);
	ok(list_next(l, &entry) == 1 && entry->id == 7, "list_next ignores the mark of UTF-8");
	ok(list_next(l, &entry) == 1 && entry->id == 8, "the list continues after the mark");
	is(list_next(l, &entry), 0, "a marked list has no more lines than it shows");
	list_close(l);
	pics_write(path, (const uint8_t *)wide, sizeof(wide) - 1);
	list_open(path, 0, &l);
	is(list_next(l, &entry), ERR_FORMAT, "list_next refuses UTF-16");
	is_str(err_line(), "line 1: a zero byte; save the list as UTF-8, not as UTF-16", "the line says what to do");
	list_close(l);
	pics_write(path, (const uint8_t *)hidden, sizeof(hidden) - 1);
	list_open(path, 0, &l);
	is(list_next(l, &entry), 1, "list_next returns the entry before a zero byte");
	is(list_next(l, &entry), ERR_FORMAT, "a zero byte hides nothing of the last line");
	list_close(l);
}

int
main(void)
{
	test_lines();
	test_file();
	test_encodings();
	pics_clean();
	return done();
}
