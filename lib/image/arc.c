/* arc - an archive's members, one after the other, whatever libarchive reads. */
#include "image/arc.h"
#include "base/err.h"
#include "base/io.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK		65536u			/* bytes read at once */
#define HEAD		16u			/* bytes that tell how a file is packed */
#define FAULTS		16u			/* in a row, before an archive is given up */
#define COPIED		((uint64_t)1 << 34)	/* bytes of a 7z that is not a file */

struct arc {
	struct archive		*la;
	struct archive_entry	*entry;		/* the current member, or NULL */
	struct arc_in		 in;
	int			 copy;		/* of a 7z, or -1 */
	size_t			 head;		/* bytes of block that are read ahead */
	unsigned		 faults;
	uint8_t			 block[BLOCK];
};

static int
fault(struct arc *a, int code)
{
	const char *text = archive_error_string(a->la);

	return err_fail(code, "%s", text != NULL ? text : "not a readable archive");
}

/* How the first bytes say that the rest is packed; ARCHIVE_FILTER_NONE: not. */
static int
packing(const uint8_t *p, size_t n)
{
	static const struct {
		const char	*magic;
		size_t		 n;
		int		 filter;
	} known[] = {
		{ "\x1f\x8b\x08", 3, ARCHIVE_FILTER_GZIP }, { "BZh", 3, ARCHIVE_FILTER_BZIP2 },
		{ "\xfd" "7zXZ", 6, ARCHIVE_FILTER_XZ }, { "\x28\xb5\x2f\xfd", 4, ARCHIVE_FILTER_ZSTD },
		{ "\x04\x22\x4d\x18", 4, ARCHIVE_FILTER_LZ4 }, { "LZIP", 4, ARCHIVE_FILTER_LZIP },
		{ "\x5d\0\0", 3, ARCHIVE_FILTER_LZMA }, { "\x1f\x9d", 2, ARCHIVE_FILTER_COMPRESS },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (n >= known[i].n && memcmp(p, known[i].magic, known[i].n) == 0)
			return known[i].filter;
	return ARCHIVE_FILTER_NONE;
}

/*
 * Formats, each since the release that reads all of libarchive's own hostile
 * ones (libarchive/test) without a crash or a loop.  Those asked first are
 * found without the long look ahead of the last, which would hide that a short
 * archive ends early.
 */
static void
support_formats(struct archive *la)
{
	static const struct {
		int	since;
		int	(*support)(struct archive *la);
	} formats[] = {
		{ 0, archive_read_support_format_tar }, { 0, archive_read_support_format_cpio },
		{ 0, archive_read_support_format_zip }, { 0, archive_read_support_format_7zip },
		{ 0, archive_read_support_format_ar }, { 0, archive_read_support_format_lha },
		{ 0, archive_read_support_format_rar }, { 0, archive_read_support_format_rar5 },
		{ 0, archive_read_support_format_warc }, { ARC_XAR_SINCE, archive_read_support_format_xar },
		{ ARC_CAB_SINCE, archive_read_support_format_cab }, { ARC_ISO_SINCE, archive_read_support_format_iso9660 },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (archive_version_number() >= formats[i].since)
			formats[i].support(la);
}

static int
make(struct arc **out, enum arc_kind kind)
{
	struct arc *a = malloc(sizeof(*a));

	*out = NULL;
	if (a == NULL)
		return err_nomem();
	memset(a, 0, offsetof(struct arc, block));
	a->copy = -1;
	if ((a->la = archive_read_new()) == NULL) {
		free(a);
		return err_nomem();
	}
	if (kind != ARC_PACKED)
		support_formats(a->la);
	if (kind != ARC_ARCHIVE)
		archive_read_support_format_raw(a->la);
	*out = a;
	return 0;
}

/*
 * What is unpacked is said, not left to libarchive to find, which would go on
 * with what comes out of it: a file may unpack to itself, for ever.
 */
static int
unpack(struct arc *a, const uint8_t *head, size_t n)
{
	int filter = packing(head, n);

	/* What ends before its first byte comes out is damaged, unless there are none. */
	if (n == 0)
		return archive_read_support_format_empty(a->la);
	if (filter == ARCHIVE_FILTER_NONE)
		return ARCHIVE_OK;
	/* This one wants bytes at once. */
	if (filter == ARCHIVE_FILTER_COMPRESS)
		return archive_read_support_filter_compress(a->la);
	return archive_read_append_filter(a->la, filter) < ARCHIVE_WARN ? ARCHIVE_FATAL : ARCHIVE_OK;
}

/* What libarchive made of the first bytes. */
static int
opened(struct arc **a, int r)
{
	int e = 0;

	if (r != ARCHIVE_OK) {
		e = fault(*a, ERR_FORMAT);
		arc_close(*a);
		*a = NULL;
	}
	return e;
}

static int
read_head(const char *path, void *head, size_t size, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), e;

	if (fd < 0)
		return err_sys("open");
	e = io_read(fd, head, size, n);
	close(fd);
	return e;
}

int
arc_open(struct arc **a, const char *path, enum arc_kind kind)
{
	uint8_t head[HEAD];
	size_t n;
	int r, e = make(a, kind);

	if (e < 0)
		return e;
	if ((e = read_head(path, head, sizeof(head), &n)) < 0) {
		arc_close(*a);
		*a = NULL;
		return e;
	}
	if ((r = unpack(*a, head, n)) == ARCHIVE_OK)
		r = archive_read_open_filename((*a)->la, path, BLOCK);
	return opened(a, r);
}

/* libarchive asks for the next bytes. */
static la_ssize_t
serve(struct archive *la, void *ctx, const void **p)
{
	struct arc *a = ctx;
	size_t got = a->head;

	*p = a->block;
	a->head = 0;
	if (got == 0 && a->in.read(a->in.ctx, a->block, BLOCK, &got) < 0) {
		archive_set_error(la, EIO, "%s", err_line());
		return ARCHIVE_FATAL;
	}
	return (la_ssize_t)got;
}

static int
copy_all(struct arc *a)
{
	uint64_t sum = 0;
	int e;

	if ((e = io_temp(&a->copy)) < 0)
		return e;
	for (size_t n = a->head; n > 0;) {
		if ((sum += n) > COPIED)
			return err_fail(ERR_LIMIT, "a 7z of more than %llu bytes, and no file", (unsigned long long)COPIED);
		if ((e = io_write(a->copy, a->block, n)) < 0 || (e = a->in.read(a->in.ctx, a->block, BLOCK, &n)) < 0)
			return e;
	}
	return lseek(a->copy, 0, SEEK_SET) < 0 ? err_sys("seek") : 0;
}

int
arc_open_in(struct arc **out, struct arc_in in, enum arc_kind kind)
{
	static const uint8_t seven[] = { '7', 'z', 0xbc, 0xaf, 0x27, 0x1c };
	struct arc *a;
	int r, e = make(out, kind);

	if (e < 0)
		return e;
	a = *out;
	a->in = in;
	e = in.read(in.ctx, a->block, BLOCK, &a->head);
	if (e == 0 && kind != ARC_PACKED && a->head >= sizeof(seven) && memcmp(a->block, seven, sizeof(seven)) == 0)
		e = copy_all(a);
	if (e < 0) {
		arc_close(a);
		*out = NULL;
		return e;
	}
	if ((r = unpack(a, a->block, a->head)) == ARCHIVE_OK)
		r = a->copy >= 0 ? archive_read_open_fd(a->la, a->copy, BLOCK) : archive_read_open(a->la, a, NULL, serve, NULL);
	return opened(out, r);
}

void
arc_close(struct arc *a)
{
	if (a == NULL)
		return;
	archive_read_free(a->la);
	if (a->copy >= 0)
		close(a->copy);
	free(a);
}

bool
arc_is_packed(const struct arc *a)
{
	return archive_format(a->la) == ARCHIVE_FORMAT_RAW;
}

static const char *
name_of(struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);

	/* Names that the locale has no letters for. */
	return name != NULL ? name : archive_entry_pathname_utf8(entry);
}

/* What a member without bytes of its own leads to, or NULL. */
static const char *
link_of(struct archive_entry *entry)
{
	const char *to = NULL;

	if (archive_entry_filetype(entry) == AE_IFLNK)
		to = archive_entry_symlink_utf8(entry) != NULL ? archive_entry_symlink_utf8(entry) : "elsewhere";
	else if (archive_entry_hardlink_utf8(entry) != NULL && archive_entry_size(entry) == 0)
		to = archive_entry_hardlink_utf8(entry);
	return to;
}

int
arc_next(struct arc *a, const char **name)
{
	for (;;) {
		int r = archive_read_next_header(a->la, &a->entry);

		if (r < ARCHIVE_WARN || r == ARCHIVE_EOF)
			a->entry = NULL;
		if (r == ARCHIVE_EOF)
			return 0;
		/* To go on after RETRY would take bodies for heads. */
		if (r == ARCHIVE_FATAL || r == ARCHIVE_RETRY || (r == ARCHIVE_FAILED && ++a->faults == FAULTS))
			return fault(a, ERR_FORMAT);
		if (r == ARCHIVE_FAILED)
			return fault(a, ERR_ITEM);
		a->faults = 0;
		if (archive_entry_filetype(a->entry) != AE_IFREG && link_of(a->entry) == NULL)
			continue;
		if ((*name = name_of(a->entry)) == NULL)
			return err_fail(ERR_ITEM, "a member without a readable name");
		return 1;
	}
}

int
arc_read(struct arc *a, void *p, size_t n, size_t *got)
{
	const char *to = a->entry != NULL ? link_of(a->entry) : NULL;
	unsigned retries = 0;
	la_ssize_t r;

	*got = 0;
	if (a->entry == NULL)
		return 0;
	if (to != NULL)
		return err_fail(ERR_ITEM, "a link to %s: links in an archive are not followed", to);
	while (*got < n && (r = archive_read_data(a->la, (uint8_t *)p + *got, n - *got)) != 0)
		if (r > 0)
			*got += (size_t)r;
		else if (r != ARCHIVE_RETRY || ++retries == FAULTS)
			return fault(a, r == ARCHIVE_FATAL || r == ARCHIVE_RETRY ? ERR_FORMAT : ERR_ITEM);
	return 0;
}
