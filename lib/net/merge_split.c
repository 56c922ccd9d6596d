/* merge_split - one file of tensors in, parts of about the same size out. */
#include "net/merge.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define CHUNK	(1u << 18)	/* bytes in work at a time */
#define NAME	4096

static uint64_t
bytes_of(const struct tensor *x)
{
	return x->count * tensors_type_size(x->type);
}

static int
copy(const struct tensors *in, const struct tensor *x, void *room, struct tensors_out *out)
{
	size_t size = tensors_type_size(x->type), most = CHUNK / size;
	int e = 0;

	for (uint64_t at = 0; e == 0 && at < x->count; at += most) {
		size_t n = x->count - at < most ? (size_t)(x->count - at) : most;

		if ((e = tensors_read(in, x, at, n, room)) == 0)
			e = tensors_put(out, room, n * size);
	}
	return e;
}

/* Tensors [first, end) as a file. */
static int
write_part(const struct tensors *in, size_t first, size_t end, bool metas, void *room, const char *path)
{
	struct tensors part = { .kind = TENSORS_SAFE };
	struct tensors_out *out;
	int e = 0;

	for (uint32_t i = 0; e == 0 && metas && i < in->nmeta; i++)
		e = tensors_add_meta(&part, in->meta[i].key, in->meta[i].value);
	for (size_t i = first; e == 0 && i < end; i++)
		e = tensors_add(&part, in->t[i].name, &in->t[i]);
	if (e == 0 && (e = tensors_create(&out, path, &part)) == 0) {
		for (size_t i = first; e == 0 && i < end; i++)
			e = copy(in, &in->t[i], room, out);
		if (e == 0)
			e = tensors_commit(out);
		else
			tensors_abandon(out);
	}
	tensors_close(&part);
	return e;
}

/* A tensor stands in the part in which its middle lies. */
static int
split(const struct tensors *in, uint32_t parts, const char *prefix, void *room)
{
	uint64_t all = 0, before = 0;
	char path[NAME];
	size_t first = 0;
	int e = 0;

	for (size_t i = 0; i < in->n; i++)
		all += bytes_of(&in->t[i]);
	for (uint32_t p = 0; e == 0 && p < parts; p++) {
		double limit = (double)all * (p + 1) / parts;
		size_t end = first;

		for (; end < in->n && (p + 1 == parts || (double)before + (double)bytes_of(&in->t[end]) / 2 < limit); end++)
			before += bytes_of(&in->t[end]);
		if ((size_t)snprintf(path, sizeof(path), "%s-%05u-of-%05u.safetensors", prefix, p + 1, parts) >= sizeof(path))
			return err_fail(ERR_LIMIT, "%.80s...: a path of more than %d bytes", prefix, NAME - 1);
		e = write_part(in, first, end, p == 0, room, path);
		first = end;
	}
	return e;
}

int
merge_split(const char *path, uint32_t parts, const char *prefix)
{
	struct tensors in;
	void *room;
	int e;

	if ((e = tensors_open(&in, path)) < 0)
		return e;
	if ((room = malloc(CHUNK)) == NULL)
		e = err_nomem();
	else
		e = split(&in, parts, prefix, room);
	free(room);
	tensors_close(&in);
	return e;
}
