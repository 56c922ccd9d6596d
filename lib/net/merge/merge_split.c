/* merge_split - splits a file of tensors into parts of about the same size. */
#include "net/merge/merge_in.h"
#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK	(1u << 18)	/* bytes per read */
#define NAME	4096
#define TAIL	"-%05u-of-%05u.safetensors"	/* after the prefix of a part's name */

struct work {
	struct tensors	 in;
	void		*room;		/* [CHUNK] */
	uint64_t	 done, all;	/* bytes */
	merge_step	*step;
	void		*arg;
};

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

static int
format_part_name(char path[NAME], const char *prefix, uint32_t part, uint32_t parts)
{
	return (size_t)snprintf(path, NAME, "%s" TAIL, prefix, part, parts) < NAME ? 0 :
	    err_fail(ERR_LIMIT, "%.80s...: a path of more than %d bytes", prefix, NAME - 1);
}

/* Refuses names of which one is that of the file to split, before any part is written. */
static int
check_part_names(const struct work *w, uint32_t parts, const char *prefix)
{
	char path[NAME];

	for (uint32_t p = 0; p < parts; p++) {
		ERR_TRY(format_part_name(path, prefix, p + 1, parts));
		if (io_is_open(path, w->in.fd))
			return err_fail(ERR_ARG, "%s is also the input, which would be lost; name another prefix",
			    path);
	}
	return 0;
}

/* A tensor belongs to the part that its middle is in. */
static int
write_parts(struct work *w, uint32_t parts, const char *prefix)
{
	const struct tensors *in = &w->in;
	uint64_t before = 0;
	char path[NAME];
	size_t first = 0;

	ERR_TRY(check_part_names(w, parts, prefix));
	for (size_t i = 0; i < in->n; i++)
		w->all += tensors_bytes(&in->t[i]);
	for (uint32_t p = 0; p < parts; p++) {
		double limit = (double)w->all * (p + 1) / parts;
		size_t end = first;

		while (end < in->n && (p + 1 == parts || (double)before +
		    (double)tensors_bytes(&in->t[end]) / 2 < limit))
			before += tensors_bytes(&in->t[end++]);
		ERR_TRY(format_part_name(path, prefix, p + 1, parts));
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

/* Parses the numbers in the name of a part.  Returns the bytes before them, or 0 for another name. */
static size_t
parse_part_name(const char *path, unsigned *part, unsigned *parts)
{
	const size_t tail = strlen("-00001-of-00001.safetensors"), n = strlen(path);
	int end = 0;

	if (n <= tail || sscanf(path + n - tail, "-%5u-of-%5u.safetensors%n", part, parts, &end) != 2 ||
	    (size_t)end != tail || *part == 0 || *part > *parts)
		return 0;
	return n - tail;
}

/* All parts are there if each has its successor, and the last one the first. */
int
merge_check_parts(const struct merge_opt *o)
{
	unsigned part, parts;
	char next[NAME];

	for (uint32_t i = 0; i < o->n; i++) {
		size_t prefix = parse_part_name(o->path[i], &part, &parts);
		bool found = prefix == 0 || (size_t)snprintf(next, sizeof(next), "%.*s" TAIL, (int)prefix, o->path[i],
		    part % parts + 1, parts) >= sizeof(next);

		for (uint32_t k = 0; k < o->n && !found; k++)
			found = strcmp(io_base_name(o->path[k]), io_base_name(next)) == 0;
		if (!found)
			return err_fail(ERR_ARG, "%s: is missing among the files of --join; --force joins without it",
			    next);
	}
	return 0;
}
