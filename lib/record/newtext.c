/* newtext - a text file that is written through a buffer and appears atomically. */
#include "record/newtext.h"
#include "base/err.h"

#include <stdlib.h>

#define AT_ONCE	(1u << 18)	/* bytes per write */

int
newtext_create(struct newtext *t, char *path)
{
	if ((t->path = path) == NULL)
		return err_nomem();
	return err_wrap(io_create(&t->file, path), "%s", path);
}

static int
flush_newtext(struct newtext *t)
{
	int e = io_write(t->file.fd, t->wait.p, t->wait.n);

	t->wait.n = 0;
	return err_wrap(e, "%s", t->path);
}

int
newtext_step(struct newtext *t)
{
	return t->path == NULL || t->wait.n < AT_ONCE ? 0 : flush_newtext(t);
}

int
newtext_seal(struct newtext *t)
{
	if (t->path == NULL)
		return 0;
	ERR_TRY(flush_newtext(t));
	return err_wrap(io_seal(&t->file), "%s", t->path);
}

int
newtext_commit(struct newtext *t)
{
	int e = t->path != NULL ? io_commit(&t->file) : 0;

	return err_wrap(e, "%s", t->path);
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
