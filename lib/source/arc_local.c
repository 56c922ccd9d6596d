/* arc_local - reads an archive in this process.  For arc. */
#include "source/arc_local.h"
#include "base/err.h"
#include "base/io.h"
#include "source/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK		65536u			/* bytes per read */
#define FAULTS		16u			/* consecutive failures that end the reading */
#define TAR		512u			/* bytes of a block of tar */
#define CPIO_END	16u			/* most bytes of the last entry of a cpio that libarchive leaves */
#define RING		1024u			/* such blocks remembered: more than libarchive reads ahead */

struct arc_local {
	struct archive		*la;
	struct archive_entry	*entry;		/* the current member, or NULL */
	/* What decompresses the archive for this reader; at most one is not NULL. */
	struct unpack		*unpack;
	struct arc_local	*filter;
	int			 fd;		/* the file, or -1 */
	struct arc_in		 in, from;	/* the archive's bytes; those for libarchive */
	unsigned		 faults;
	bool			 ended;		/* what is wrong at the end was reported */
	int			 fault;		/* the error of from, after the bytes that it gave */
	char			 line[ERR_LINE];
	uint64_t		 at;		/* offset of the next bytes for libarchive */
	uint64_t		 last;		/* end of the last of these bytes that is not 0 */
	/* For a block of tar, by its number modulo RING: where the last block up to it ends that is not all zeros. */
	uint64_t		 filled[RING];
	uint8_t			 block[BLOCK];
};

static int
fail_archive(struct arc_local *h, int code)
{
	const char *text = h->fault < 0 ? h->line : archive_error_string(h->la);

	return err_fail(code, "%s", text != NULL ? text : "not a readable archive");
}

/* No format was recognized at the start.  The reader of a file that is only compressed accepts any byte. */
static int
fail_unrecognized(enum arc_kind kind)
{
	if (kind == ARC_PACKED)
		return err_fail(ERR_FORMAT, "is empty, truncated or damaged: nothing of it can be decompressed");
	return err_fail(ERR_FORMAT, "is no archive, or its start is damaged; " ARC_READ);
}

/* The compression by the first bytes, if libarchive is to undo it, or ARCHIVE_FILTER_NONE. */
static int
detect_filter(const uint8_t *p, size_t n)
{
	static const struct {
		const char	*magic;
		size_t		 n;
		int		 filter;
	} known[] = {
		{ "BZh", 3, ARCHIVE_FILTER_BZIP2 }, { "\x04\x22\x4d\x18", 4, ARCHIVE_FILTER_LZ4 },
		{ "LZIP", 4, ARCHIVE_FILTER_LZIP }, { "\x5d\0\0", 3, ARCHIVE_FILTER_LZMA },
		{ "\x1f\x9d", 2, ARCHIVE_FILTER_COMPRESS },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (n >= known[i].n && memcmp(p, known[i].magic, known[i].n) == 0)
			return known[i].filter;
	return ARCHIVE_FILTER_NONE;
}

/*
 * The safe formats come first, because the long lookahead of the others would hide that a short archive is truncated.
 */
static void
support_formats(struct archive *la, bool all)
{
	static int (*const safe[])(struct archive *) = {
		archive_read_support_format_tar, archive_read_support_format_cpio, archive_read_support_format_zip,
		archive_read_support_format_ar, archive_read_support_format_warc,
	};
	static int (*const others[])(struct archive *) = {
		archive_read_support_format_7zip, archive_read_support_format_lha, archive_read_support_format_rar,
		archive_read_support_format_rar5, archive_read_support_format_xar, archive_read_support_format_cab,
		archive_read_support_format_iso9660,
	};

	for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++)
		safe[i](la);
	for (size_t i = 0; all && i < sizeof(others) / sizeof(*others); i++)
		others[i](la);
	/* A tar after the end of another, as tar -A and cat make them, is read too. */
	archive_read_set_format_option(la, "tar", "read_concatenated_archives", "1");
}

/*
 * Sets the one decompression filter.  If libarchive detected filters itself, it would do so again on their output,
 * and a file may decompress to itself forever.
 */
static int
set_filter(struct arc_local *h, const uint8_t *head, size_t n)
{
	int filter = detect_filter(head, n);

	/* Only an input of no bytes is a valid empty archive. */
	if (n == 0)
		return archive_read_support_format_empty(h->la);
	if (filter == ARCHIVE_FILTER_NONE)
		return ARCHIVE_OK;
	/* libarchive reads input as soon as this filter is appended, which is too early. */
	if (filter == ARCHIVE_FILTER_COMPRESS)
		return archive_read_support_filter_compress(h->la);
	return archive_read_append_filter(h->la, filter) < ARCHIVE_WARN ? ARCHIVE_FATAL : ARCHIVE_OK;
}

/* Notes which blocks of tar are not all zeros among n bytes that libarchive gets, and the last such byte. */
static void
note_filled(struct arc_local *h, const uint8_t *p, size_t n)
{
	size_t last = n;

	while (last > 0 && p[last - 1] == 0)
		last--;
	if (last > 0)
		h->last = h->at + last;
	for (size_t i = 0; i < n; i += TAR) {
		size_t number = (size_t)((h->at + i) / TAR), size = n - i < TAR ? n - i : TAR;
		bool zeros = p[i] == 0 && memcmp(p + i, p + i + 1, size - 1) == 0;

		h->filled[number % RING] = zeros ? h->filled[(number - 1) % RING] : h->at + i + TAR;
	}
}

/* Reads the next bytes.  An error is kept until the bytes before it are used up. */
static int
read_block(struct arc_local *h, size_t *got)
{
	*got = 0;
	if (h->fault == 0 && (h->fault = h->from.read(h->from.ctx, h->block, BLOCK, got)) < 0)
		snprintf(h->line, sizeof(h->line), "%s", err_line());
	note_filled(h, h->block, *got);
	h->at += *got;
	return *got == 0 ? h->fault : 0;
}

/* Gives libarchive the next bytes.  An error is its end, as an error would take the bytes before it from libarchive. */
static la_ssize_t
feed_libarchive(struct archive *la, void *ctx, const void **p)
{
	struct arc_local *h = ctx;
	size_t got;

	(void)la;
	*p = h->block;
	read_block(h, &got);
	return (la_ssize_t)got;
}

static la_int64_t
seek_file(struct archive *la, void *ctx, la_int64_t to, int whence)
{
	struct arc_local *h = ctx;
	off_t at = lseek(h->fd, to, whence);

	if (at < 0) {
		archive_set_error(la, errno, "seek: %s", strerror(errno));
		return ARCHIVE_FATAL;
	}
	h->at = (uint64_t)at;
	return at;
}

/* Skips whole blocks within the file, so that a file that ends early is noticed. */
static la_int64_t
skip_in_file(struct archive *la, void *ctx, la_int64_t n)
{
	struct arc_local *h = ctx;
	struct stat st;

	(void)la;
	n -= n % BLOCK;
	if (n <= 0 || fstat(h->fd, &st) < 0 || n > st.st_size - (off_t)h->at || lseek(h->fd, n, SEEK_CUR) < 0)
		return 0;
	h->at += (uint64_t)n;
	return n;
}

static int
read_file(void *ctx, void *p, size_t n, size_t *got)
{
	return io_read(((struct arc_local *)ctx)->fd, p, n, got);
}

static int
read_unpacked(void *ctx, void *p, size_t n, size_t *got)
{
	return arc_local_read(ctx, p, n, got);
}

static int
read_with_unpack(void *ctx, void *p, size_t n, size_t *got)
{
	return unpack_read(ctx, p, n, got);
}

/* Opens what decompresses the archive.  This reader then reads from that, and so sees the bytes of a tar. */
static int
open_unpacker(struct arc_local *h, const struct arc_local_opt *opt)
{
	struct arc_local_opt packed = *opt;
	const char *name;
	int e;

	if (unpack_knows(opt->head, opt->n)) {
		if ((e = unpack_open(h->in, opt->head, opt->n, &h->unpack)) == 0)
			h->from = (struct arc_in){ read_with_unpack, h->unpack };
		return e;
	}
	packed.kind = ARC_PACKED;
	ERR_TRY(arc_local_open(&packed, &h->filter));
	ERR_TRY(arc_local_next(h->filter, &name));
	h->from = (struct arc_in){ read_unpacked, h->filter };
	return 0;
}

static int
open_archive(struct arc_local *h, const struct arc_local_opt *opt)
{
	bool unpacks = unpack_knows(opt->head, opt->n) ||
	    (opt->kind != ARC_PACKED && detect_filter(opt->head, opt->n) != ARCHIVE_FILTER_NONE);

	h->fd = opt->fd;
	h->in = h->from = opt->fd >= 0 ? (struct arc_in){ read_file, h } : opt->in;
	if (opt->kind != ARC_PACKED)
		support_formats(h->la, opt->all);
	if (opt->kind != ARC_ARCHIVE)
		archive_read_support_format_raw(h->la);
	if (opt->fd >= 0 && lseek(opt->fd, 0, SEEK_SET) < 0)
		return err_sys("seek");
	if (unpacks)
		ERR_TRY(open_unpacker(h, opt));
	if (!unpacks && set_filter(h, opt->head, opt->n) != ARCHIVE_OK)
		return fail_archive(h, ERR_FORMAT);
	archive_read_set_read_callback(h->la, feed_libarchive);
	archive_read_set_callback_data(h->la, h);
	if (h->fd >= 0 && !unpacks) {
		archive_read_set_skip_callback(h->la, skip_in_file);
		archive_read_set_seek_callback(h->la, seek_file);
	}
	if (archive_read_open1(h->la) == ARCHIVE_OK)
		return 0;
	return h->fault == 0 ? fail_unrecognized(opt->kind) : fail_archive(h, ERR_FORMAT);
}

int
arc_local_open(const struct arc_local_opt *opt, struct arc_local **out)
{
	struct arc_local *h = malloc(sizeof(*h));
	int e;

	*out = NULL;
	if (h == NULL)
		return err_nomem();
	memset(h, 0, offsetof(struct arc_local, block));
	if ((h->la = archive_read_new()) == NULL) {
		free(h);
		return err_nomem();
	}
	if ((e = open_archive(h, opt)) < 0) {
		arc_local_close(h);
		return e;
	}
	*out = h;
	return 0;
}

void
arc_local_close(struct arc_local *h)
{
	if (h == NULL)
		return;
	archive_read_free(h->la);
	unpack_close(h->unpack);
	arc_local_close(h->filter);
	free(h);
}

bool
arc_local_is_packed(const struct arc_local *h)
{
	return archive_format(h->la) == ARCHIVE_FORMAT_RAW;
}

static const char *
get_member_name(struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);

	/* NULL if the locale cannot express the name. */
	return name != NULL ? name : archive_entry_pathname_utf8(entry);
}

/* The target of a member that is a link, or NULL. */
static const char *
get_link_target(struct archive_entry *entry)
{
	const char *to = NULL;

	if (archive_entry_filetype(entry) == AE_IFLNK)
		to = archive_entry_symlink_utf8(entry) != NULL ? archive_entry_symlink_utf8(entry) : "elsewhere";
	else if (archive_entry_hardlink_utf8(entry) != NULL && archive_entry_size(entry) == 0)
		to = archive_entry_hardlink_utf8(entry);
	return to;
}

static bool
is_tar(const struct arc_local *h)
{
	return (archive_format(h->la) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
}

/* Skips the rest of the current member.  Returns its end in the decompressed archive; 0 if it lacks bytes. */
static la_int64_t
skip_member(struct arc_local *h)
{
	/* The next header reports what failed. */
	if (h->entry != NULL && is_tar(h) && archive_read_data_skip(h->la) == ARCHIVE_FATAL)
		return 0;
	return archive_filter_bytes(h->la, 0);
}

/* Where the last block up to that offset ends that is not all zeros. */
static uint64_t
find_filled_end(const struct arc_local *h, uint64_t at)
{
	return h->filled[(at / TAR - 1) % RING];
}

/*
 * What follows the last member of a tar, whose end is at least one block of zeros.  r: the code of libarchive, which
 * takes bytes after that end for the header of a member, unless they are zeros to the end.  Returns 0 at a sound end;
 * 1 if this is no end but a member or damage; or ERR_ITEM.
 */
static int
check_tar_end(struct arc_local *h, int r, uint64_t member_end)
{
	uint64_t at = (uint64_t)archive_filter_bytes(h->la, 0);

	if (h->fault < 0 && (r == ARCHIVE_EOF || r == ARCHIVE_FATAL || r == ARCHIVE_RETRY))
		return h->last > member_end ? 1 : fail_archive(h, ERR_ITEM);
	if (r == ARCHIVE_EOF && at == member_end)
		return err_fail(ERR_ITEM, "the tar archive has no end, so that files may be missing");
	if (r == ARCHIVE_EOF || (r != ARCHIVE_FATAL && r != ARCHIVE_RETRY))
		return r != ARCHIVE_EOF;
	/* libarchive stops before or after the block that is no header. */
	if (at > 0 && find_filled_end(h, at) == at)
		at -= TAR;
	if (at <= member_end || find_filled_end(h, at) > member_end)
		return 1;
	return find_filled_end(h, at + TAR) <= member_end ? 0
	    : err_fail(ERR_ITEM, "bytes after the end of the tar archive are not tar, and are not read");
}

/*
 * What follows the end of an archive that is no tar, up to the end of its bytes.  libarchive reads no further than the
 * end of a cpio archive.  Returns 0 or ERR_ITEM.
 */
static int
check_rest(struct arc_local *h)
{
	bool cpio = (archive_format(h->la) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_CPIO;
	uint64_t end = (uint64_t)archive_filter_bytes(h->la, 0) + CPIO_END;
	size_t got = 1;

	while ((cpio || h->unpack != NULL) && got > 0)
		if (read_block(h, &got) < 0)
			return fail_archive(h, ERR_ITEM);
	if (cpio && h->last > end)
		return err_fail(ERR_ITEM, "bytes after the end of the cpio archive are not read");
	return 0;
}

/* Whether the archive ends here.  Returns 0 at a sound end; 1 if it goes on or is damaged; or ERR_ITEM. */
static int
check_end(struct arc_local *h, int r, uint64_t member_end)
{
	int e;

	if (h->ended)
		return 0;
	e = is_tar(h) ? check_tar_end(h, r, member_end) : r == ARCHIVE_EOF ? check_rest(h) : 1;
	h->ended = e <= 0;
	return e;
}

int
arc_local_next(struct arc_local *h, const char **name)
{
	for (;;) {
		la_int64_t member_end = skip_member(h);
		int r = h->ended ? ARCHIVE_EOF : archive_read_next_header(h->la, &h->entry), end;

		if (r < ARCHIVE_WARN || r == ARCHIVE_EOF)
			h->entry = NULL;
		if ((end = check_end(h, r, (uint64_t)member_end)) <= 0)
			return end;
		/* To continue after RETRY would read bodies as headers. */
		if (r == ARCHIVE_EOF || r == ARCHIVE_FATAL || r == ARCHIVE_RETRY ||
		    (r == ARCHIVE_FAILED && ++h->faults == FAULTS))
			return fail_archive(h, ERR_FORMAT);
		if (r == ARCHIVE_FAILED)
			return fail_archive(h, ERR_ITEM);
		h->faults = 0;
		if (archive_entry_filetype(h->entry) != AE_IFREG && get_link_target(h->entry) == NULL)
			continue;
		if ((*name = get_member_name(h->entry)) == NULL)
			return err_fail(ERR_ITEM, "a member without a readable name");
		return 1;
	}
}

int
arc_local_read(struct arc_local *h, void *p, size_t n, size_t *got)
{
	const char *to = h->entry != NULL ? get_link_target(h->entry) : NULL;
	unsigned retries = 0;
	la_ssize_t r;

	*got = 0;
	if (h->entry == NULL)
		return 0;
	if (to != NULL)
		return err_fail(ERR_ITEM, "a link to %s: links in an archive are not followed", to);
	while (*got < n && (r = archive_read_data(h->la, (uint8_t *)p + *got, n - *got)) != 0)
		if (r > 0)
			*got += (size_t)r;
		else if (r != ARCHIVE_RETRY || ++retries == FAULTS)
			return fail_archive(h, r == ARCHIVE_FATAL || r == ARCHIVE_RETRY ? ERR_FORMAT : ERR_ITEM);
	return *got < n && h->fault < 0 && arc_local_is_packed(h) ? fail_archive(h, ERR_FORMAT) : 0;
}
