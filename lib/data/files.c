/* files - the files of a directory or an archive, one after the other. */
#include "data/files.h"
#include "base/err.h"
#include "base/io.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK		65536u	/* bytes that libarchive reads at once */
#define SLURP_STEP	65536u

struct files {
	char		*path;
	FTS		*walk;		/* of a directory, and where it is */
	const FTSENT	*at;
	int		 fd;		/* the current file of a directory, or -1 ... */
	struct archive	*archive;	/* ... that is packed; or the archive itself */
	char		*name;		/* of the current file */
};

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* The length of a name without the ending that says how it is packed. */
static size_t
plain_length(const char *name)
{
	static const char *const packed[] = { ".gz", ".xz", ".bz2", ".zst" };
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(packed) / sizeof(*packed); i++) {
		size_t k = strlen(packed[i]);

		if (n > k && strcmp(name + n - k, packed[i]) == 0)
			return n - k;
	}
	return n;
}

/* Raw numbers may look like the head of a tar: their names say that they are none. */
static bool
is_raw(const char *name)
{
	size_t n = plain_length(name);

	return (n >= 4 && strncmp(name + n - 4, ".bin", 4) == 0) ||
	    (n >= 6 && strncmp(name + n - 6, "-ubyte", 6) == 0);
}

static int
archive_fault(struct files *f, int code)
{
	const char *text = archive_error_string(f->archive);

	return err_fail(code, "%s", text != NULL ? text : "not a readable archive");
}

/* formats: whether what is inside may be an archive. */
static int
open_packed(struct files *f, const char *path, bool formats)
{
	if ((f->archive = archive_read_new()) == NULL)
		return err_nomem();
	archive_read_support_filter_gzip(f->archive);
	archive_read_support_filter_bzip2(f->archive);
	archive_read_support_filter_xz(f->archive);
	archive_read_support_filter_zstd(f->archive);
	archive_read_support_format_raw(f->archive);
	archive_read_support_format_empty(f->archive);
	if (formats) {
		archive_read_support_format_tar(f->archive);
		archive_read_support_format_zip(f->archive);
	}
	if (archive_read_open_filename(f->archive, path, BLOCK) != ARCHIVE_OK)
		return archive_fault(f, ERR_FORMAT);
	return 0;
}

static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int
open_in(struct files *f)
{
	char *const roots[] = { f->path, NULL };
	struct stat st;

	if (stat(f->path, &st) < 0)
		return err_sys("open");
	if (!S_ISDIR(st.st_mode))
		return open_packed(f, f->path, !is_raw(base_name(f->path)));
	/* The first step comes to the directory itself; glibc's fts_close() leaks a walk that took none. */
	if ((f->walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name)) == NULL || fts_read(f->walk) == NULL)
		return err_sys("open");
	return 0;
}

int
files_open(struct files **out, const char *path)
{
	struct files *f = calloc(1, sizeof(*f));
	size_t n = strlen(path);
	int e;

	*out = NULL;
	if (f == NULL)
		return err_nomem();
	f->fd = -1;
	while (n > 1 && path[n - 1] == '/')
		n--;
	e = (f->path = strndup(path, n)) != NULL ? open_in(f) : err_nomem();
	if (e < 0) {
		err_within("%s", path);
		files_close(f);
		return e;
	}
	*out = f;
	return 0;
}

/* Done with the current file of a directory. */
static void
leave(struct files *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	if (f->walk != NULL && f->archive != NULL) {
		archive_read_free(f->archive);
		f->archive = NULL;
	}
}

void
files_close(struct files *f)
{
	if (f == NULL)
		return;
	leave(f);
	if (f->archive != NULL)
		archive_read_free(f->archive);
	if (f->walk != NULL)
		fts_close(f->walk);
	free(f->name);
	free(f->path);
	free(f);
}

bool
files_is_dir(const struct files *f)
{
	return f->walk != NULL;
}

const char *
files_path(const struct files *f)
{
	return f->path;
}

static bool
is_hidden(const char *name)
{
	return *name == '.' || strstr(name, "/.") != NULL;
}

/* Returns 1, or 0 when files of this name are passed over. */
static int
take_name(struct files *f, const char *name, bool unpacked)
{
	while (strncmp(name, "./", 2) == 0 || *name == '/')
		name += *name == '/' ? 1 : 2;
	if (*name == 0 || is_hidden(name))
		return 0;
	free(f->name);
	f->name = strndup(name, unpacked ? plain_length(name) : strlen(name));
	return f->name != NULL ? 1 : err_nomem();
}

static int
next_in_walk(struct files *f)
{
	size_t root = strlen(f->path) + 1;

	leave(f);
	while (errno = 0, (f->at = fts_read(f->walk)) != NULL) {
		const FTSENT *at = f->at;
		int e;

		if (at->fts_info == FTS_D && at->fts_level > 0 && at->fts_name[0] == '.') {
			fts_set(f->walk, f->walk->fts_cur, FTS_SKIP);
		} else if (at->fts_info == FTS_DNR || at->fts_info == FTS_ERR || at->fts_info == FTS_NS) {
			err_note(at->fts_errno, "%s", at->fts_path);
			return ERR_ITEM;
		} else if (at->fts_info == FTS_SLNONE) {
			err_note(ENOENT, "%s", at->fts_path);
			return ERR_ITEM;
		} else if (at->fts_info == FTS_DC) {
			return err_fail(ERR_ITEM, "%s: this link leads back to a directory above it", at->fts_path);
		} else if (at->fts_info == FTS_F && at->fts_pathlen >= root &&
		    (e = take_name(f, at->fts_path + root, true)) != 0) {
			return e;
		}
	}
	return errno == 0 ? 0 : err_sys("%s", f->path);
}

static int
next_in_archive(struct files *f)
{
	struct archive_entry *entry;
	const char *name;
	int r, e;

	for (;;) {
		r = archive_read_next_header(f->archive, &entry);
		if (r == ARCHIVE_EOF)
			return 0;
		if (r == ARCHIVE_FATAL || r == ARCHIVE_RETRY) {	/* going on would take bodies for headers */
			archive_fault(f, ERR_FORMAT);
			err_within(f->name != NULL ? "%s: behind %s" : "%s", f->path, f->name);
			return ERR_FORMAT;
		}
		if (archive_entry_filetype(entry) != AE_IFREG)
			continue;
		if (archive_format(f->archive) == ARCHIVE_FORMAT_RAW)
			name = base_name(f->path);
		else if ((name = archive_entry_pathname(entry)) == NULL)
			name = archive_entry_pathname_utf8(entry);
		if (name != NULL && (e = take_name(f, name, archive_format(f->archive) == ARCHIVE_FORMAT_RAW)) != 0)
			return e;
	}
}

int
files_next(struct files *f, const char **name)
{
	int e = f->walk != NULL ? next_in_walk(f) : next_in_archive(f);

	*name = f->name;
	return e;
}

/* A walk may want no more than names, so that a file is opened when its bytes are asked for. */
static int
open_current(struct files *f)
{
	struct archive_entry *entry;
	const char *path = f->at->fts_path;
	int e;

	if (plain_length(path) < strlen(path)) {
		if ((e = open_packed(f, path, false)) < 0)
			return e == ERR_NOMEM ? e : ERR_ITEM;
		if (archive_read_next_header(f->archive, &entry) < ARCHIVE_WARN)
			return archive_fault(f, ERR_ITEM);
		return 0;
	}
	if ((f->fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return err_note(errno, "open"), ERR_ITEM;
	return 0;
}

int
files_read(struct files *f, void *p, size_t n, size_t *got)
{
	la_ssize_t r;
	int e;

	*got = 0;
	if (f->walk != NULL && f->fd < 0 && f->archive == NULL && (e = open_current(f)) < 0)
		return e;
	if (f->fd >= 0)
		return io_read(f->fd, p, n, got) < 0 ? ERR_ITEM : 0;
	for (; *got < n; *got += (size_t)r)
		if ((r = archive_read_data(f->archive, (uint8_t *)p + *got, n - *got)) == 0)
			break;
		else if (r == ARCHIVE_RETRY)
			r = 0;
		else if (r < 0)
			return archive_fault(f, f->walk != NULL ? ERR_ITEM : ERR_FORMAT);
	return 0;
}

int
files_slurp(struct files *f, size_t max, struct buf *b)
{
	size_t start = b->n, got;
	int e;

	do {
		if ((e = buf_room(b, SLURP_STEP)) < 0 || (e = files_read(f, b->p + b->n, SLURP_STEP, &got)) < 0)
			return e;
		b->n += got;
		if (b->n - start > max)
			return err_fail(ERR_ITEM, "longer than %zu bytes", max);
	} while (got == SLURP_STEP);
	return 0;
}
