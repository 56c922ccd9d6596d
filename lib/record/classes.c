/* classes - the names of the classes of records. */
#include "record/classes.h"
#include "base/err.h"
#include "base/io.h"
#include "record/beside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without its name, the numbers of the classes after it would be wrong. */
static int
refuse_empty_lines(const char *text)
{
	unsigned long line = 1;

	for (; *text != 0; text += strcspn(text, "\n") + 1, line++)
		if (text[strspn(text, "\r")] == '\n')
			return err_fail(ERR_FORMAT, "line %lu is empty, and class %lu has no name", line, line - 1);
		else if (text[strcspn(text, "\n")] == 0)
			break;
	return 0;
}

int
classes_parse(struct names *l, struct buf *text)
{
	int e = names_end_text(text);

	if (e == 0 && text->n > 0 && (e = refuse_empty_lines((char *)text->p)) == 0)
		e = names_parse(l, (char *)text->p);
	if (e < 0)
		names_free(l);
	return e;
}

int
classes_read(struct names *l, const char *rec)
{
	char *path = beside_name(rec, ".labels");
	struct buf text = { 0 };
	int e = path != NULL ? 0 : err_nomem();

	if (e == 0 && access(path, F_OK) == 0)
		e = io_slurp(path, NAMES_BYTES, &text);
	if (e == 0)
		e = classes_parse(l, &text);
	err_wrap(e, "%s", path != NULL ? path : rec);
	buf_free(&text);
	free(path);
	return e;
}
