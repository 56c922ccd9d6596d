/* merge_split - splits a file of tensors into parts of about the same size. */
#include "net/merge/merge.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define CHUNK	(1u << 18)	/* bytes per read */
#define NAME	4096

struct work {
	struct tensors	 in;
	void		*room;		/* [CHUNK] */
	uint64_t	 done, all;	/* bytes */
	merge_step	*step;
	void		*arg;
};

static uint64_t
count_bytes(const struct tensor *x)
{
	return x->count * tensors_type_size(x->type);
}

static int
report_split_progress(const struct work *w)
{
	return w->step != NULL ? w->step(w->arg, w->done, w->all) : 0;
}

static int
copy_split_tensor(struct work *w, const struct tensor *x, struct tensors_out *out)
{
	size_t size = tensors_type_size(x->type), most = CHUNK / size;
	int e = 0;

	for (uint64_t at = 0; e == 0 && at < x->count; at += most) {
		size_t n = x->count - at < most ? (size_t)(x->count - at) : most;

		if ((e = report_split_progress(w)) != 0)
			return e;
		if ((e = tensors_read(&w->in, x, at, n, w->room)) == 0)
			e = tensors_write(out, w->room, n * size);
		w->done += n * size;
	}
	return e;
}

/* Writes tensors [first, end) as a file. */
static int
write_part(struct work *w, size_t first, size_t end, bool metas, const char *path)
{
	const struct tensors *in = &w->in;
	struct tensors part = { .kind = TENSORS_SAFE };
	struct tensors_out *out;
	int e = report_split_progress(w);

	for (uint32_t i = 0; e == 0 && metas && i < in->nmeta; i++)
		e = tensors_add_meta(&part, in->meta[i].key, in->meta[i].value);
	for (size_t i = first; e == 0 && i < end; i++)
		e = tensors_add(&part, in->t[i].name, &in->t[i]);
	if (e == 0 && (e = tensors_create(path, &part, &out)) == 0) {
		for (size_t i = first; e == 0 && i < end; i++)
			e = copy_split_tensor(w, &in->t[i], out);
		if (e == 0)
			e = tensors_commit(out);
		else
			tensors_abandon(out);
	}
	tensors_close(&part);
	return e;
}

/* A tensor belongs to the part that its middle is in. */
static int
write_parts(struct work *w, uint32_t parts, const char *prefix)
{
	const struct tensors *in = &w->in;
	uint64_t before = 0;
	char path[NAME];
	size_t first = 0;

	for (size_t i = 0; i < in->n; i++)
		w->all += count_bytes(&in->t[i]);
	for (uint32_t p = 0; p < parts; p++) {
		double limit = (double)w->all * (p + 1) / parts;
		size_t end = first;

		while (end < in->n && (p + 1 == parts || (double)before + (double)count_bytes(&in->t[end]) / 2 < limit))
			before += count_bytes(&in->t[end++]);
		if ((size_t)snprintf(path, sizeof(path), "%s-%05u-of-%05u.safetensors", prefix, p + 1, parts) >=
		    sizeof(path))
			return err_fail(ERR_LIMIT, "%.80s...: a path of more than %d bytes", prefix, NAME - 1);
		ERR_TRY(write_part(w, first, end, p == 0, path));
		first = end;
	}
	return 0;
}

int
merge_split(const char *path, uint32_t parts, const char *prefix, merge_step *step, void *arg)
{
	struct work w = { .step = step, .arg = arg };
	int e;

	ERR_TRY(tensors_open(&w.in, path));
	if ((w.room = malloc(CHUNK)) == NULL)
		e = err_nomem();
	else
		e = write_parts(&w, parts, prefix);
	free(w.room);
	tensors_close(&w.in);
	return e;
}
