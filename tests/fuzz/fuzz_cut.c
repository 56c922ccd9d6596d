/*
 * fuzz_cut - any bytes as the manifest of a cut: no crash, and what is accepted is complete.
 *
 * After a first byte 1 each byte makes a member: its low bits say which, the others with what value.  Exactly one valid
 * value of each is accepted.
 */
#include "base/buf.h"
#include "train/cut.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS	6u

static const struct { const char *name; bool text; } members[] = {
	{ "tally_cut", false }, { "run", true }, { "epoch", false }, { "step", false }, { "bytes", false }, { "xxh3", true },
	{ "other", true }, { "", false },
};
/* The first of each list is valid; of a version too. */
static const char *const numbers[] = { "1", "-1", "9223372036854775808", "1.5", "1e3", "null", "[1]", "\"1\"" };
static const char *const texts[] = { "\"0123456789abcdef\"", "\"0123456789abcde\"", "\"0123456789abcdef0\"",
	"\"0123456789ABCDEF\"", "\"0x23456789abcdef\"", "7", "{}", "\"0123456789abcde\\u0000\"" };

static void
make_members(const uint8_t *p, size_t n)
{
	struct cut_manifest m;
	struct buf b = { 0 };
	unsigned seen = 0;
	bool valid = true;
	int e = buf_put_fmt(&b, "{");

	for (size_t i = 0; i < n && i < 16 && e == 0; i++) {
		const unsigned which = p[i] % 8, value = p[i] / 8 % 8;

		e = buf_put_fmt(&b, "%s\"%s\": %s", i > 0 ? ", " : "", members[which].name,
		    members[which].text ? texts[value] : numbers[value]);
		valid &= value == 0 && which < MEMBERS && (seen & 1u << which) == 0;
		seen |= 1u << which;
	}
	if (e < 0 || buf_put_fmt(&b, "}") < 0)
		abort();
	if ((cut_parse(b.p, b.n, &m) == 0) != (valid && seen == (1u << MEMBERS) - 1))
		abort();
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct cut_manifest m = { .epoch = UINT64_MAX, .step = UINT64_MAX, .bytes = UINT64_MAX };

	if (n > 0 && p[0] == 1)
		make_members(p + 1, n - 1);
	else if (cut_parse(p, n, &m) == 0 && (m.epoch > INT64_MAX || m.step > INT64_MAX || m.bytes > INT64_MAX))
		abort();
	return 0;
}
