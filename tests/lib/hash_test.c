/* hash_test - FNV-1a of known texts, in one and in two updates. */
#include "base/hash.h"
#include "tap.h"

int
main(void)
{
	/* The values are those of the authors' test suite. */
	ok(hash_update(HASH_START, "", 0) == 0xcbf29ce484222325u, "hash_update of no bytes is HASH_START");
	ok(hash_update(HASH_START, "a", 1) == 0xaf63dc4c8601ec8cu, "hash_update of one byte matches the reference");
	ok(hash_update(HASH_START, "foobar", 6) == 0x85944171f73967e8u, "hash_update of six bytes matches the reference");
	ok(hash_update(hash_update(HASH_START, "foo", 3), "bar", 3) == 0x85944171f73967e8u, "two updates equal one of both parts");
	return done();
}
