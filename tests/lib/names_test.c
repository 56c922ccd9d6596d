/* names_test - lists of names keep the order that they are given, or that of their bytes. */
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
	int same = 1;

	for (size_t i = 0; i < 8; i++)
		is(names_insert(&l, in[i], strlen(in[i])), 0, "%s is put in", in[i]);
	is(l.n, 7, "each once");
	for (size_t i = 0; i < l.n; i++)
		same &= strcmp(l.p[i], want[i]) == 0 && names_find(&l, want[i], strlen(want[i])) == (long)i;
	ok(same, "in the order of their bytes, and found there");
	is(names_find(&l, "n3", 2), -1, "what is not there is not found");
	is(names_find(&l, "n10", 2), 2, "a name is as long as it is said to be");
	is(names_append(&l, "a", 1), 0, "pushed");
	is_str(l.p[7], "a", "it is the last");
	l.bytes = NAMES_BYTES - 3;
	is(names_append(&l, "abc", 3), ERR_LIMIT, "there is a bound");
	names_free(&l);
	ok(l.n == 0 && l.p == NULL, "empty again");
	pics_write(pics_path("l"), "b c\r\n\na\nd", 10);
	is(names_read(&l, pics_path("l")), 0, "read from a file");
	is(l.n, 3, "a name a line");
	ok(names_find(&l, "b c", 3) == 0 && names_find(&l, "a", 1) == 1 && names_find(&l, "d", 1) == 2 &&
	    names_find(&l, "b", 1) == -1, "and found, in an order of their own");
	names_free(&l);
	pics_write(pics_path("l"), "a\nb\na\n", 6);
	is(names_read(&l, pics_path("l")), ERR_FORMAT, "a name twice");
	names_free(&l);
	pics_write(pics_path("l"), "\n", 1);
	is(names_read(&l, pics_path("l")), ERR_FORMAT, "no names");
	names_free(&l);
	is(names_read(&l, pics_path("absent")), ERR_SYS, "no file");
	names_free(&l);
	pics_clean();
	return done();
}
