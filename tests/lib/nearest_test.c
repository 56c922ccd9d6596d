/* nearest_test - tests nearest against its header. */
#include "tap.h"

#include "base/nearest.h"

static const char *
near_to(const char *word)
{
	static const char *const names[] = { "batch", "bath", "data", "data-key-file", "epochs", "lr",
	    "a-name-that-is-much-longer-than-any-word" };
	struct nearest n = { .word = word };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_try(&n, names[i]);
	return n.best != NULL ? n.best : "none";
}

int
main(void)
{
	is_str(near_to("bacth"), "batch", "exchanged neighbours are one difference");
	is_str(near_to("BACTH"), "batch", "case does not count");
	is_str(near_to("LR-schedule"), "lr", "case does not count in a beginning either");
	is_str(near_to("batc"), "batch", "a missing letter is one difference");
	is_str(near_to("dataa"), "data", "an added letter is one difference");
	is_str(near_to("deta"), "data", "a replaced letter is one difference");
	is_str(near_to("bah"), "bath", "a nearer name wins over an earlier one");
	is_str(near_to("epoch"), "epochs", "a singular finds its plural");
	is_str(near_to("data-ley-fils"), "data-key-file", "a long word may differ in several letters");
	is_str(near_to("lx"), "lr", "a short word may differ in one letter");
	is_str(near_to("data-key"), "data", "a word that begins with a name finds it");
	is_str(near_to("lr-schedule"), "lr", "a longer word that begins with a name finds it");
	is_str(near_to("lrschedule"), "none", "letters alone are no beginning");
	is_str(near_to("mirror"), "none", "a different word is near to none");
	is_str(near_to("x"), "none", "a single letter is near to none");
	is_str(near_to(""), "none", "an empty word is near to none");
	is_str(near_to("a-name-that-is-much-longer-than-any-wor"), "none", "a word that is too long is near to none");
	return done();
}
