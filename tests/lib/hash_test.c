/* hash_test - FNV-1a of known texts, whole and in pieces. */
#include "base/hash.h"
#include "tap.h"

int
main(void)
{
	/* The values are those of the authors' test suite. */
	ok(hash_update(HASH_START, "", 0) == 0xcbf29ce484222325u, "of nothing");
	ok(hash_update(HASH_START, "a", 1) == 0xaf63dc4c8601ec8cu, "of a letter");
	ok(hash_update(HASH_START, "foobar", 6) == 0x85944171f73967e8u, "of a word");
	ok(hash_update(hash_update(HASH_START, "foo", 3), "bar", 3) == 0x85944171f73967e8u, "in pieces");
	return done();
}
