/* fuzz_rename - any rules and names, a line each, rules before an empty line: no crash, and names that are text. */
#include "base/err.h"
#include "net/rename.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RULE	24u	/* bytes */

/*
 * Without counts and back references, for which the C library takes memory and time without a bound: a rule is its user's own.
 * Nor are tables of this machine read.
 */
static bool
is_tame(const char *rule)
{
	const char *to = strrchr(rule, '=');
	size_t n = to != NULL ? (size_t)(to - rule) : 0;

	return strlen(rule) <= RULE && to != NULL && memchr(rule, '{', n) == NULL && memchr(rule, '\\', n) == NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *text = strndup((const char *)p, n < 512 ? n : 512), *rest = text, *line;
	struct rename_rules *r;
	struct buf out = { 0 };
	bool rules = true;

	if (text == NULL || rename_new(&r) < 0)
		abort();
	while ((line = strsep(&rest, "\n")) != NULL)
		if (rules && *line == 0)
			rules = false;
		else if (rules && is_tame(line))
			(void)rename_add(r, line);
		else if (!rules && rename_apply(r, line, &out) == 0 && strlen((const char *)out.p) != out.n)
			abort();
	rename_free(r);
	buf_free(&out);
	free(text);
	return 0;
}
