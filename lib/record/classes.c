/* classes - the names of the classes of records. */
#include "record/classes.h"
#include "base/err.h"
#include "base/io.h"
#include "record/beside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An empty line names a class, too, so that the numbers of the others stay right. */
int
classes_read(struct names *l, const char *rec)
{
	char *path = beside_name(rec, ".labels");
	struct buf text = { 0 };
	int e = path != NULL ? 0 : err_nomem();

	if (e == 0 && access(path, F_OK) == 0)
		e = io_slurp(path, NAMES_BYTES, &text);
	for (size_t i = 0; e == 0 && i < text.n;) {
		const uint8_t *end = memchr(text.p + i, '\n', text.n - i);
		size_t n = (end != NULL ? (size_t)(end - text.p) : text.n) - i;

		e = names_append(l, (const char *)text.p + i, n);
		i += n + 1;
	}
	err_wrap(e, "%s", path != NULL ? path : rec);
	buf_free(&text);
	free(path);
	return e;
}

bool
classes_equal(const struct names *a, const struct names *b)
{
	for (size_t i = 0; a->n == b->n && i < a->n; i++)
		if (strcmp(a->p[i], b->p[i]) != 0)
			return false;
	return a->n == b->n;
}
