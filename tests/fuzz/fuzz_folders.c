/* fuzz_folders - hostile names, a line each: a class is one of those that there are, and stays what it was. */
#include "base/err.h"
#include "source/folders.h"
#include "source/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAMES	256

/* The first byte: 1, 2 the split; 4 names noted before; 8 classes given. */
int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	static size_t before[NAMES];
	struct names lines = { 0 }, classes = { 0 };
	struct folders *f;
	size_t class;
	int e = 0, how = size > 0 ? p[0] : 0;

	if (size > 4096)
		return 0;
	for (size_t i = 1, n; i < size && lines.n < NAMES; i += n + 1) {
		n = 0;
		while (i + n < size && p[i + n] != '\n' && p[i + n] != 0)
			n++;
		names_append(&lines, (const char *)p + i, n);
	}
	if ((how & 8) != 0)
		e = names_insert(&classes, "a", 1) < 0 || names_insert(&classes, "b", 1) < 0 ? -1 : 0;
	if (e < 0 || folders_new(&classes, (how & 3) % 3, "x", &f) < 0)
		abort();
	for (size_t i = 0; (how & 4) != 0 && e == 0 && i < lines.n; i++)
		e = folders_add(f, lines.p[i]);
	if (e == 0 && (how & 4) != 0)
		e = folders_resolve(f, (how & 16) != 0);
	for (int again = 0; again < 2 && e == 0; again++)
		for (size_t i = 0; i < lines.n && e == 0; i++) {
			if ((e = folders_class(f, lines.p[i], &class)) > 0 && class >= classes.n)
				abort();
			if (e > 0 && again == 1 && before[i] != class)
				abort();
			before[i] = e > 0 ? class : 0;
			e = e > 0 || e == ERR_ITEM ? 0 : e;
		}
	folders_free(f);
	names_free(&lines);
	names_free(&classes);
	return 0;
}
