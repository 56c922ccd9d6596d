/* files - finds the files of a directory, an archive or a stream, one after the other. */
#include "source/files.h"
#include "base/err.h"
#include "base/grow.h"
#include "base/io.h"
#include "source/suffix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SLURP_STEP	65536u
#define HELD_MOST	64u	/* most files that are kept */

/* A file of a stream that was read ahead. */
struct held {
	struct buf	 name, place, data;
	size_t		 next;		/* offset of the next byte to read */
	int		 e;		/* the error after the bytes of data */
	char		 line[512];
};

struct files {
	char		**paths, **bases;	/* bases: prefixes of the names in each path */
	size_t		 n, next;		/* the next path to open */
	unsigned	 how;
	bool		 stream, dir;
	size_t		 skipped;		/* archives of the paths already read */
	struct place	*place;
	/* State of a stream's files_hold() and files_rewind(). */
	struct held	*held;			/* [n_held] the kept files */
	size_t		 n_held, held_cap, play;	/* play: the one that is next after files_rewind() */
	bool		 plays;			/* whether the kept files are given again */
	bool		 taken;			/* the place's file is a kept one */
	bool		 again;			/* the place's file is given again after the kept ones */
	struct held	*current;		/* the kept file that is the current one; NULL: it is the place's */
	const char	*name;			/* name of the place's file */
	int		 e;			/* what the last step returned */
	char		 line[ERR_LINE];
	char		 fault[ERR_LINE];
};

/* The prefix of names in a path: of several paths, each becomes a folder. */
static char *
name_prefix(const char *path, size_t n_paths)
{
	const char *name = io_base_name(path);
	size_t n = suffix_archive(name);
	char *base = NULL;

	if (n == 0)
		n = strlen(name);
	if (n_paths == 1 || *name == '.' || *name == 0 || strcmp(name, "-") == 0)
		return strdup("");
	return asprintf(&base, "%.*s/", (int)n, name) < 0 ? NULL : base;
}

static int
add_path(struct files *f, const char *path)
{
	struct stat st = { .st_mode = S_IFIFO };
	size_t n = strlen(path);

	if (strcmp(path, "-") != 0 && stat(path, &st) < 0)
		return err_sys("%s: open", path);
	f->stream |= !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode);
	f->dir |= S_ISDIR(st.st_mode);
	while (n > 1 && path[n - 1] == '/')
		n--;
	if ((f->paths[f->n] = strndup(path, n)) == NULL)
		return err_nomem();
	f->n++;
	return 0;
}

int
files_open(const char *const *paths, size_t n, unsigned how, struct files **out)
{
	struct files *f = calloc(1, sizeof(*f));
	int e = 0;

	*out = NULL;
	if (f == NULL)
		return err_nomem();
	f->how = how;
	f->name = "";
	f->dir = n > 1;
	if ((f->paths = calloc(n, sizeof(*f->paths))) == NULL || (f->bases = calloc(n, sizeof(*f->bases))) == NULL)
		e = err_nomem();
	for (size_t i = 0; e == 0 && i < n; i++)
		if ((e = add_path(f, paths[i])) == 0 && (f->bases[i] = name_prefix(f->paths[i], n)) == NULL)
			e = err_nomem();
	if (e < 0) {
		files_close(f);
		return e;
	}
	*out = f;
	return 0;
}

int
files_clone(const struct files *f, struct files **clone)
{
	return files_open((const char *const *)f->paths, f->n, f->how, clone);
}

/* Forgets the kept files. */
static void
drop_held(struct files *f)
{
	for (size_t i = 0; i < f->n_held; i++) {
		buf_free(&f->held[i].name);
		buf_free(&f->held[i].place);
		buf_free(&f->held[i].data);
	}
	f->n_held = 0;
}

void
files_close(struct files *f)
{
	if (f == NULL)
		return;
	place_close(f->place);
	for (size_t i = 0; i < f->n; i++) {
		free(f->paths[i]);
		free(f->bases[i]);
	}
	free(f->paths);
	free(f->bases);
	drop_held(f);
	free(f->held);
	free(f);
}

unsigned
files_how(const struct files *f)
{
	return f->how;
}

bool
files_is_stream(const struct files *f)
{
	return f->stream;
}

bool
files_is_dir(const struct files *f)
{
	return f->dir;
}

size_t
files_skipped_archives(const struct files *f)
{
	return f->skipped + (f->place != NULL ? place_skipped_archives(f->place) : 0);
}

const char *
files_path(const struct files *f)
{
	return strcmp(f->paths[0], "-") == 0 ? "standard input" : f->paths[0];
}

/* Advances to the next file of this path or the following ones. */
static int
next_in_paths(struct files *f)
{
	int e;

	for (;;) {
		if (f->place == NULL) {
			if (f->next == f->n)
				return 0;
			ERR_TRY(place_open(f->paths[f->next], f->bases[f->next], f->how, &f->place));
			f->next++;
		}
		if ((e = place_next(f->place, &f->name)) != 0)
			return e;
		f->skipped += place_skipped_archives(f->place);
		place_close(f->place);
		f->place = NULL;
		f->name = "";
	}
}

int
files_next(struct files *f, const char **name)
{
	f->current = NULL;
	if (f->plays && f->play < f->n_held) {
		f->current = &f->held[f->play++];
		*name = (const char *)f->current->name.p;
		return 1;
	}
	if (f->plays) {
		drop_held(f);
		f->plays = false;
	}
	if (f->again && f->e < 0) {
		err_note(0, "%s", f->line);
	} else if (!f->again) {
		f->taken = false;
		f->e = next_in_paths(f);
		if (f->e < 0 && f->stream)
			snprintf(f->line, sizeof(f->line), "%s", err_line());
		if (f->e == ERR_ITEM && *f->fault == 0)
			snprintf(f->fault, sizeof(f->fault), "%s", err_line());
	}
	f->again = false;
	*name = f->name;
	return f->e;
}

const char *
files_fault(const struct files *f)
{
	return f->fault;
}

const char *
files_display_name(struct files *f)
{
	if (f->current != NULL)
		return (const char *)f->current->place.p;
	return f->place != NULL ? place_display_name(f->place) : files_path(f);
}

bool
files_is_bare(const struct files *f)
{
	return f->place != NULL && f->current == NULL && place_is_bare(f->place);
}

const char *
files_plain_path(const struct files *f)
{
	return f->place != NULL && f->current == NULL ? place_plain_path(f->place) : NULL;
}

static int
read_held_file(struct held *h, void *p, size_t n, size_t *got)
{
	*got = h->data.n - h->next < n ? h->data.n - h->next : n;
	if (*got > 0)
		memcpy(p, h->data.p + h->next, *got);
	h->next += *got;
	if (*got == n || h->e == 0)
		return 0;
	return err_fail(h->e, "%s", h->line);
}

int
files_read(struct files *f, void *p, size_t n, size_t *got)
{
	return f->current != NULL ? read_held_file(f->current, p, n, got) : place_read(f->place, p, n, got);
}

int
files_slurp(struct files *f, size_t max, struct buf *b)
{
	struct held *h = f->current;
	size_t start = b->n, got;

	/* Not copied when it is given for the last time: it may be large. */
	if (f->plays && h != NULL && b->n == 0 && h->next == 0 && h->e == 0 && h->data.n > 0 && h->data.n <= max) {
		struct buf empty = *b;

		*b = h->data;
		h->data = empty;
		return 0;
	}
	do {
		ERR_TRY(buf_room(b, SLURP_STEP));
		ERR_TRY(files_read(f, b->p + b->n, SLURP_STEP, &got));
		b->n += got;
		if (b->n - start > max)
			return err_fail(ERR_BYTES, "longer than %zu bytes", max);
	} while (got == SLURP_STEP);
	return 0;
}

int
files_hold(struct files *f, size_t max)
{
	const char *place = files_display_name(f);
	struct held *h;

	if (!f->stream || f->current != NULL)
		return 0;
	if (f->n_held == HELD_MOST)
		return err_fail(ERR_LIMIT, "%s: more than %u files of labels come before the first image that has any; "
		    "im2rec reads such an archive from a file", place, HELD_MOST);
	if ((h = grow_by_one(f->held, f->n_held, &f->held_cap, sizeof(*h))) == NULL)
		return ERR_NOMEM;
	f->held = h;
	h += f->n_held++;
	*h = (struct held){ 0 };
	if (buf_put(&h->name, f->name, strlen(f->name) + 1) < 0 || buf_put(&h->place, place, strlen(place) + 1) < 0)
		return ERR_NOMEM;
	if ((h->e = files_slurp(f, max, &h->data)) == ERR_NOMEM)
		return ERR_NOMEM;
	if (h->e < 0)
		snprintf(h->line, sizeof(h->line), "%s", err_line());
	f->taken = true;
	f->current = h;
	return 0;
}

void
files_release(struct files *f)
{
	if (f->current == NULL)
		return;
	buf_free(&f->current->name);
	buf_free(&f->current->place);
	buf_free(&f->current->data);
	f->n_held--;
	f->current = NULL;
}

int
files_rewind(struct files *f, unsigned how)
{
	if (f->stream) {
		for (size_t i = 0; i < f->n_held; i++)
			f->held[i].next = 0;
		f->plays = true;
		f->play = 0;
		f->again = !f->taken;
		return 0;
	}
	f->how = how;
	place_close(f->place);
	f->place = NULL;
	f->next = f->skipped = 0;
	f->name = "";
	return 0;
}
