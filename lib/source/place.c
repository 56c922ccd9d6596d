/* place - finds the files of one path: a directory, an archive and those within it, or a single file.  For files. */
#include "source/place.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "source/arc.h"
#include "source/suffix.h"
#include "source/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONTINUE = 2 };	/* a step that found no file and is not the end */

/* An archive being read. */
struct level {
	struct arc	*arc;
	struct buf	 prefix;	/* prefix of its members' names */
	struct buf	 shown;		/* its name in the archive around it */
};

struct place {
	const char	*path, *base;
	unsigned	 how;
	size_t		 skipped;	/* archives in the directory */
	struct walk	*walk;		/* the walk over a directory, or NULL */
	const char	*at;		/* path of the current file or outermost archive */
	int		 in;		/* a stream, or -1 */
	struct level	 level[PLACE_NEST];
	unsigned	 deep;
	/* The current file. */
	struct buf	 name, member, shown;
	bool		 is_packed;
	struct arc	*packed;	/* the file if it is compressed, once it is read; or NULL */
	int		 fd;		/* the file if a directory holds it, once it is read; or -1 */
};

static int
set_text(struct buf *b, const char *before, const char *text, size_t n)
{
	b->n = 0;
	if (buf_put(b, before, strlen(before)) < 0 || buf_put(b, text, n) < 0)
		return ERR_NOMEM;
	return buf_terminate(b);
}

static const char *
get_text(const struct buf *b)
{
	return b->n > 0 ? (const char *)b->p : "";
}

static int
read_stream(void *ctx, void *p, size_t n, size_t *got)
{
	return io_read(*(int *)ctx, p, n, got);
}

static int
read_member(void *ctx, void *p, size_t n, size_t *got)
{
	return arc_read(ctx, p, n, got);
}

/* Opens the current file as an archive or compressed file. */
static int
open_nested(struct place *p, struct arc **a, enum arc_kind kind)
{
	if (p->deep == 0)
		return arc_open(p->at, kind, a);
	return arc_open_in((struct arc_in){ read_member, p->level[p->deep - 1].arc }, kind, a);
}

/* Opens a path that is an archive or a single file. */
static int
open_single(struct place *p, bool stream)
{
	enum arc_kind kind = suffix_is_raw(p->path) ? ARC_PACKED
	    : suffix_archive(p->path) > 0 ? ARC_ARCHIVE : ARC_EITHER;
	struct level *l = &p->level[0];
	int e;

	if (strcmp(p->path, "-") == 0)
		p->in = STDIN_FILENO;
	else if (stream && (p->in = open(p->path, O_RDONLY | O_CLOEXEC)) < 0)
		return err_sys("open");
	if (p->in >= 0)
		e = arc_open_in((struct arc_in){ read_stream, &p->in }, kind, &l->arc);
	else
		e = arc_open(p->path, kind, &l->arc);
	if (e == 0)
		p->deep = 1;
	return e < 0 ? e : set_text(&l->prefix, p->base, "", 0);
}

static int
open_place(struct place *p)
{
	struct stat st = { .st_mode = S_IFIFO };

	if (strcmp(p->path, "-") != 0 && stat(p->path, &st) < 0)
		return err_sys("open");
	if (S_ISDIR(st.st_mode))
		return walk_open(p->path, (p->how & PLACE_ANY_ORDER) == 0, &p->walk);
	return open_single(p, !S_ISREG(st.st_mode));
}

int
place_open(const char *path, const char *base, unsigned how, struct place **out)
{
	struct place *p = calloc(1, sizeof(*p));
	int e;

	*out = NULL;
	if (p == NULL)
		return err_nomem();
	p->path = path;
	p->base = base;
	p->how = how;
	p->in = p->fd = -1;
	if ((e = open_place(p)) < 0) {
		err_within("%s", place_display_name(p));
		place_close(p);
		return e;
	}
	*out = p;
	return 0;
}

/* Closes the current file. */
static void
close_file(struct place *p)
{
	arc_close(p->packed);
	p->packed = NULL;
	p->is_packed = false;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* Closes the innermost archive. */
static void
leave_archive(struct place *p)
{
	struct level *l = &p->level[--p->deep];

	arc_close(l->arc);
	l->arc = NULL;
	/* It is the current member of the archive around it. */
	if (p->deep > 0)
		set_text(&p->member, "", get_text(&l->shown), l->shown.n);
}

void
place_close(struct place *p)
{
	if (p == NULL)
		return;
	close_file(p);
	while (p->deep > 0)
		leave_archive(p);
	walk_close(p->walk);
	if (p->in > STDIN_FILENO)
		close(p->in);
	for (unsigned i = 0; i < PLACE_NEST; i++) {
		buf_free(&p->level[i].prefix);
		buf_free(&p->level[i].shown);
	}
	buf_free(&p->name);
	buf_free(&p->member);
	buf_free(&p->shown);
	free(p);
}

size_t
place_skipped_archives(const struct place *p)
{
	return p->skipped;
}

/* Names the archives around the current file, the outermost first. */
static const char *
format_archives(struct place *p)
{
	const char *root = p->walk != NULL && p->at != NULL ? p->at : strcmp(p->path, "-") == 0 ? "standard input"
	    : p->path;
	int e = set_text(&p->shown, "", root, strlen(root));

	for (unsigned i = 1; e == 0 && i < p->deep; i++)
		e = buf_put_fmt(&p->shown, ": %s", get_text(&p->level[i].shown));
	if (e == 0)
		e = buf_terminate(&p->shown);
	return e == 0 ? get_text(&p->shown) : p->path;
}

const char *
place_display_name(struct place *p)
{
	const char *text = format_archives(p);

	if (p->deep == 0 || arc_is_packed(p->level[p->deep - 1].arc) || p->member.n == 0)
		return text;
	if (buf_put_fmt(&p->shown, ": %s", get_text(&p->member)) < 0 || buf_terminate(&p->shown) < 0)
		return p->path;
	return get_text(&p->shown);
}

bool
place_is_bare(const struct place *p)
{
	return p->walk == NULL && p->deep == 1 && arc_is_packed(p->level[0].arc);
}

const char *
place_plain_path(const struct place *p)
{
	return p->deep == 0 && !p->is_packed ? p->at : NULL;
}

/* Adds to the error line where the innermost archive is damaged. */
static void
report_damage(struct place *p)
{
	const char *in = format_archives(p);

	if (p->member.n > 0)
		err_within("%s: after %s", in, get_text(&p->member));
	else
		err_within("%s", in);
}

/* Enters the current file, an archive of that name.  Returns CONTINUE, ERR_ITEM, or an error that ends the walk. */
static int
enter_archive(struct place *p, const char *name)
{
	struct level *l;
	int e;

	if (p->deep == PLACE_NEST)
		return err_fail(ERR_ITEM, "%s: archives are nested more than %u deep", place_display_name(p),
		    PLACE_NEST);
	l = &p->level[p->deep];
	if ((e = open_nested(p, &l->arc, ARC_ARCHIVE)) < 0)
		return err_wrap(e == ERR_NOMEM ? e : ERR_ITEM, "%s", place_display_name(p));
	if ((e = set_text(&l->prefix, p->deep > 0 ? get_text(&p->level[p->deep - 1].prefix) : p->base, name,
	    suffix_archive(name))) < 0 || (e = buf_put(&l->prefix, "/", 1)) < 0 ||
	    (e = buf_terminate(&l->prefix)) < 0 ||
	    (e = set_text(&l->shown, "", name, strlen(name))) < 0) {
		arc_close(l->arc);
		l->arc = NULL;
		return e;
	}
	p->deep++;
	p->member.n = 0;
	return CONTINUE;
}

/* Handles a file of that name.  Returns 1, or what enter_archive() does. */
static int
handle_file(struct place *p, const char *prefix, const char *name)
{
	size_t n = strlen(name), unpacked = suffix_unpacked(name);

	if (suffix_archive(name) > 0)
		return enter_archive(p, name);
	p->is_packed = unpacked < n;
	return set_text(&p->name, prefix, name, unpacked) < 0 ? ERR_NOMEM : 1;
}

static int
next_walked(struct place *p)
{
	int e = walk_next(p->walk, &p->at);
	const char *name;

	if (e <= 0)
		return e;
	name = p->at + strlen(p->path) + 1;
	p->member.n = 0;
	if (suffix_archive(name) > 0 && (p->how & PLACE_ENTER) == 0) {
		p->skipped++;
		return CONTINUE;
	}
	return handle_file(p, p->base, name);
}

/* Ends the innermost archive after an error. */
static int
abandon_archive(struct place *p, int e)
{
	report_damage(p);
	if (p->deep == 1 && p->walk == NULL)
		return e;
	leave_archive(p);
	return e == ERR_NOMEM ? e : ERR_ITEM;
}

/* Finds a component that begins with a dot, and is "." or ".." or not, as asked.  Returns whether there is one. */
static bool
has_dot_component(const char *name, bool relative)
{
	for (const char *slash; name != NULL; name = slash != NULL ? slash + 1 : NULL) {
		size_t n;

		slash = strchr(name, '/');
		n = slash != NULL ? (size_t)(slash - name) : strlen(name);
		if (n > 0 && *name == '.' && (n == 1 || (n == 2 && name[1] == '.')) == relative)
			return true;
	}
	return false;
}

/* Reports a member that leads out of its folder, unless its kind of file would be ignored anyway. */
static int
refuse_relative_name(struct place *p, const char *name)
{
	if (!suffix_is_image(name) && suffix_archive(name) == 0 && !suffix_is_raw(name))
		return CONTINUE;
	ERR_TRY(set_text(&p->member, "", name, strlen(name)));
	return err_fail(ERR_ITEM, "%s: members with \".\" or \"..\" in their names are not read",
	    place_display_name(p));
}

static int
next_in_archive(struct place *p)
{
	struct level *l = &p->level[p->deep - 1];
	const char *name;
	int e = arc_next(l->arc, &name);

	if (e == 0) {
		leave_archive(p);
		return p->deep == 0 && p->walk == NULL ? 0 : CONTINUE;
	}
	if (e == ERR_ITEM)
		return report_damage(p), e;
	if (e < 0)
		return abandon_archive(p, e);
	if (arc_is_packed(l->arc)) {
		name = io_base_name(p->path);
		return set_text(&p->name, "", name, suffix_unpacked(name)) < 0 ? ERR_NOMEM : 1;
	}
	while (strncmp(name, "./", 2) == 0 || *name == '/')
		name += *name == '/' ? 1 : 2;
	if (*name == 0 || has_dot_component(name, false))
		return CONTINUE;
	if (has_dot_component(name, true))
		return refuse_relative_name(p, name);
	if (set_text(&p->member, "", name, strlen(name)) < 0)
		return ERR_NOMEM;
	return handle_file(p, get_text(&l->prefix), get_text(&p->member));
}

int
place_next(struct place *p, const char **name)
{
	int e;

	close_file(p);
	do
		e = p->deep > 0 ? next_in_archive(p) : p->walk != NULL ? next_walked(p) : 0;
	while (e == CONTINUE);
	*name = get_text(&p->name);
	return e;
}

/* Opens a file only when its bytes are read, because a walk may need only names. */
static int
open_current_file(struct place *p)
{
	const char *name;
	int e;

	if (p->is_packed) {
		if ((e = open_nested(p, &p->packed, ARC_PACKED)) == 0)
			e = arc_next(p->packed, &name);
	} else {
		e = (p->fd = open(p->at, O_RDONLY | O_CLOEXEC)) < 0 ? err_sys("open") : 0;
	}
	return e < 0 && e != ERR_NOMEM ? ERR_ITEM : e;
}

int
place_read(struct place *p, void *buf, size_t n, size_t *got)
{
	int e = 0;

	*got = 0;
	if (p->packed == NULL && p->fd < 0 && (p->is_packed || p->deep == 0))
		ERR_TRY(open_current_file(p));
	if (p->packed != NULL)
		e = arc_read(p->packed, buf, n, got);
	else if (p->fd >= 0)
		e = io_read(p->fd, buf, n, got);
	else if ((e = arc_read(p->level[p->deep - 1].arc, buf, n, got)) == ERR_FORMAT && p->deep == 1 &&
	    p->walk == NULL)
		return e;
	return e < 0 && e != ERR_NOMEM ? ERR_ITEM : e;
}
