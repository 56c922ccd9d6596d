/* names_test - lists of names keep their order or sort by bytes. */
#include "base/err.h"
#include "source/names.h"
#include "pics.h"
#include "tap.h"

int
main(void)
{
	static const char *const in[] = { "n2", "n10", "n1", "N3", "n2", "n", "n22", "\xc3\xa4" };
	static const char *const want[] = { "N3", "n", "n1", "n10", "n2", "n22", "\xc3\xa4" };
	struct names l = { 0 };
	struct buf lines = { 0 };
	int same = 1;

	for (size_t i = 0; i < 8; i++)
		is(names_insert(&l, in[i], strlen(in[i])), 0, "names_insert inserts %s", in[i]);
	is(l.n, 7, "each name is inserted once");
	for (size_t i = 0; i < l.n; i++)
		same &= strcmp(l.p[i], want[i]) == 0 && names_find(&l, want[i], strlen(want[i])) == (long)i;
	ok(same, "the list is sorted and names_find finds each");
	is(names_find(&l, "n3", 2), -1, "names_find returns -1 for a missing name");
	is(names_find(&l, "n10", 2), 2, "names_find compares the given length");
	is(names_append(&l, "a", 1), 0, "names_append appends a name");
	is_str(l.p[7], "a", "an appended name is the last");
	l.bytes = NAMES_BYTES - 3;
	is(names_append(&l, "abc", 3), ERR_LIMIT, "names_append refuses too many names");
	names_free(&l);
	ok(l.n == 0 && l.p == NULL, "names_free leaves an empty list");
	pics_write(pics_path("l"), "b c\r\n\na\nd", 9);
	is(names_read(&l, pics_path("l")), 0, "names_read reads a file");
	is(l.n, 3, "each line is a name");
	ok(names_find(&l, "b c", 3) == 0 && names_find(&l, "a", 1) == 1 && names_find(&l, "d", 1) == 2 &&
	    names_find(&l, "b", 1) == -1, "names_find finds names of an unsorted list");
	is(names_put_lines(&l, &lines), 0, "names_put_lines writes the names");
	ok(lines.n == 8 && memcmp(lines.p, "b c\na\nd\n", 8) == 0, "each name has a line");
	buf_free(&lines);
	ok(!names_are_numbers(&l), "words are no numbers");
	names_free(&l);
	ok(names_are_numbers(&l), "no names are numbers");
	names_parse(&l, "0\n1\n2\n");
	ok(names_are_numbers(&l), "names may be their numbers");
	names_free(&l);
	names_parse(&l, "0\n2\n1\n");
	ok(!names_are_numbers(&l), "other numbers are names");
	ok(names_are_printable("") && names_are_printable("a b\n\xc3\xa4\n"), "lines of UTF-8 are printable");
	ok(!names_are_printable("a\tb\n") && !names_are_printable("a\x7f\n") && !names_are_printable("\xe4\n"),
	    "control characters and other bytes are not");
	names_free(&l);
	pics_write(pics_path("l"), "a\nb\na\n", 6);
	is(names_read(&l, pics_path("l")), ERR_FORMAT, "names_read refuses a name twice");
	names_free(&l);
	pics_write(pics_path("l"), "\n", 1);
	is(names_read(&l, pics_path("l")), ERR_FORMAT, "names_read refuses an empty file");
	names_free(&l);
	pics_write(pics_path("l"), "\xef\xbb\xbf" "a\nb\n", 7);
	ok(names_read(&l, pics_path("l")) == 0 && names_find(&l, "a", 1) == 0, "names_read ignores the mark of UTF-8");
	names_free(&l);
	pics_write(pics_path("l"), "\xff\xfe" "a\0\n\0b\0\n\0", 10);
	is(names_read(&l, pics_path("l")), ERR_FORMAT, "names_read refuses UTF-16");
	names_free(&l);
	is(names_read(&l, pics_path("absent")), ERR_SYS, "names_read fails on a missing file");
	names_free(&l);
	pics_clean();
	return done();
}
