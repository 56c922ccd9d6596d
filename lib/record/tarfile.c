/* tarfile - writes files as a tar stream (ustar). */
#include "record/tarfile.h"
#include "base/err.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>

struct tarfile {
	struct archive		*archive;
	struct archive_entry	*entry;
};

static int
note_archive_error(struct tarfile *t)
{
	err_note(archive_errno(t->archive) > 0 ? archive_errno(t->archive) : EIO, "write");
	return ERR_SYS;
}

int
tarfile_open(int fd, struct tarfile **out)
{
	struct tarfile *t = calloc(1, sizeof(*t));
	int e;

	*out = NULL;
	if (t == NULL)
		return err_nomem();
	t->archive = archive_write_new();
	t->entry = archive_entry_new();
	if (t->archive == NULL || t->entry == NULL) {
		tarfile_drop(t);
		return err_nomem();
	}
	/* Without padding to a tape's block, a file and a pipe get the same bytes. */
	if (archive_write_set_format_ustar(t->archive) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(t->archive, 1) != ARCHIVE_OK ||
	    archive_write_open_fd(t->archive, fd) != ARCHIVE_OK) {
		e = note_archive_error(t);
		tarfile_drop(t);
		return e;
	}
	*out = t;
	return 0;
}

int
tarfile_put(struct tarfile *t, const char *name, const void *p, size_t n)
{
	archive_entry_clear(t->entry);
	archive_entry_set_pathname(t->entry, name);
	archive_entry_set_size(t->entry, (la_int64_t)n);
	archive_entry_set_filetype(t->entry, AE_IFREG);
	archive_entry_set_perm(t->entry, 0644);
	archive_entry_set_mtime(t->entry, 0, 0);
	if (archive_write_header(t->archive, t->entry) != ARCHIVE_OK ||
	    archive_write_data(t->archive, p, n) != (la_ssize_t)n)
		return note_archive_error(t);
	return 0;
}

int
tarfile_end(struct tarfile *t)
{
	int e = archive_write_close(t->archive) == ARCHIVE_OK ? 0 : note_archive_error(t);

	tarfile_drop(t);
	return e;
}

void
tarfile_drop(struct tarfile *t)
{
	if (t == NULL)
		return;
	archive_entry_free(t->entry);
	if (t->archive != NULL) {
		archive_write_fail(t->archive);	/* else archive_write_free() writes the end of the stream */
		archive_write_free(t->archive);
	}
	free(t);
}
