/* tensors_write - writes the data of a table of tensors to a file. */
#include "tensor/tensors_internal.h"
#include "base/err.h"
#include "base/io.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define FLUSH_BYTES	((off_t)1 << 23)	/* bytes after which the kernel is asked to start writing to disk */

static const struct {
	int (*head)(struct tensors *t, struct buf *head);
	int (*array)(const struct tensor *x, struct buf *head);		/* NULL: arrays have no header */
	int (*tail)(const struct tensors *t, struct buf *tail);		/* NULL: nothing follows the arrays */
} kinds[] = {
	[TENSORS_SAFE] = { tensors_safe_head, NULL, NULL },
	[TENSORS_PARAMS] = { tensors_params_head, tensors_params_array, tensors_params_tail },
	[TENSORS_ONNX] = { tensors_onnx_head, tensors_onnx_array, NULL },
};

struct tensors_out {
	const struct tensors	*t;
	struct io_new		 file;		/* zeros if the bytes go to standard output */
	int			 fd;
	size_t			 i;		/* number of the next tensor */
	uint64_t		 left;		/* bytes still missing of the tensor before it */
	char			*path;
	off_t			 written, flushed;
};

static int
write_bytes(struct tensors_out *o, const void *p, size_t n)
{
	int e = err_wrap(io_write(o->fd, p, n), "%s", o->path);

	/* A hint, so that io_commit() waits less; io_commit() reports any error. */
	o->written += (off_t)n;
	if (o->file.tmp != NULL && o->written - o->flushed >= FLUSH_BYTES) {
		(void)sync_file_range(o->fd, o->flushed, o->written - o->flushed, SYNC_FILE_RANGE_WRITE);
		o->flushed = o->written;
	}
	return e;
}

/* Advances to the next tensor that has elements, and writes the headers on the way. */
static int
start_next_tensor(struct tensors_out *o)
{
	struct buf head = { 0 };
	int e = 0;

	while (e == 0 && o->left == 0 && o->i < o->t->n) {
		const struct tensor *x = &o->t->t[o->i++];

		head.n = 0;
		if (kinds[o->t->kind].array != NULL && (e = kinds[o->t->kind].array(x, &head)) == 0)
			e = write_bytes(o, head.p, head.n);
		o->left = tensors_bytes(x);
	}
	buf_free(&head);
	return e;
}

static int
write_header(struct tensors_out *o, struct tensors *t)
{
	const struct tensor **sorted = NULL;
	struct buf head = { 0 };
	int e;

	if ((e = tensors_sort(t, &sorted)) == 0 && (e = kinds[t->kind].head(t, &head)) == 0 &&
	    (e = write_bytes(o, head.p, head.n)) == 0)
		e = start_next_tensor(o);
	free(sorted);
	buf_free(&head);
	return e;
}

int
tensors_create(const char *path, struct tensors *t, struct tensors_out **out)
{
	struct tensors_out *o = calloc(1, sizeof(*o));
	int e = 0;

	*out = NULL;
	if (o == NULL)
		return err_nomem();
	o->t = t;
	o->fd = STDOUT_FILENO;
	if ((o->path = strdup(strcmp(path, "-") == 0 ? "standard output" : path)) == NULL)
		e = err_nomem();
	else if (strcmp(path, "-") != 0 && (e = io_create(&o->file, path)) < 0)
		err_within("%s", path);
	if (o->file.path != NULL)
		o->fd = o->file.fd;
	if (e < 0 || (e = write_header(o, t)) < 0) {
		tensors_abandon(o);
		return e;
	}
	*out = o;
	return 0;
}

int
tensors_write(struct tensors_out *o, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n > 0) {
		size_t part = n < o->left ? n : (size_t)o->left;

		assert(o->left > 0);
		ERR_TRY(write_bytes(o, p, part));
		p += part;
		n -= part;
		if ((o->left -= part) == 0)
			ERR_TRY(start_next_tensor(o));
	}
	return 0;
}

int
tensors_commit(struct tensors_out *o)
{
	struct buf tail = { 0 };
	int e = 0;

	assert(o->left == 0 && o->i == o->t->n);
	if (kinds[o->t->kind].tail != NULL && (e = kinds[o->t->kind].tail(o->t, &tail)) == 0)
		e = write_bytes(o, tail.p, tail.n);
	buf_free(&tail);
	if (e == 0 && o->file.path != NULL && (e = io_commit(&o->file)) < 0)
		err_within("%s", o->path);
	tensors_abandon(o);
	return e;
}

void
tensors_abandon(struct tensors_out *o)
{
	if (o == NULL)
		return;
	if (o->file.path != NULL)
		io_abandon(&o->file);
	free(o->path);
	free(o);
}
