/* newtext - a text file that is written through a buffer and appears atomically. */
#include "record/newtext.h"
#include "base/err.h"

#include <stdlib.h>

#define AT_ONCE	(1u << 18)	/* bytes per write */

int
newtext_create(struct newtext *t, char *path)
{
	int e;

	if ((t->path = path) == NULL)
		return err_nomem();
	if ((e = io_create(&t->file, path)) < 0)
		err_within("%s", path);
	return e;
}

static int
flush_newtext(struct newtext *t)
{
	int e = io_write(t->file.fd, t->wait.p, t->wait.n);

	t->wait.n = 0;
	if (e < 0)
		err_within("%s", t->path);
	return e;
}

int
newtext_step(struct newtext *t)
{
	return t->path == NULL || t->wait.n < AT_ONCE ? 0 : flush_newtext(t);
}

int
newtext_seal(struct newtext *t)
{
	int e;

	if (t->path == NULL)
		return 0;
	if ((e = flush_newtext(t)) == 0 && (e = io_seal(&t->file)) < 0)
		err_within("%s", t->path);
	return e;
}

int
newtext_commit(struct newtext *t)
{
	int e = t->path != NULL ? io_commit(&t->file) : 0;

	if (e < 0)
		err_within("%s", t->path);
	return e;
}

void
newtext_free(struct newtext *t)
{
	if (t->path != NULL)
		io_abandon(&t->file);
	buf_free(&t->wait);
	free(t->path);
	*t = (struct newtext){ 0 };
}
