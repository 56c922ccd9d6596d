/*
 * arc - reads the members of an archive one after the other, with libarchive.
 *
 * Formats: tar, cpio, zip, ar and warc; and 7z, rar, lha, xar, cab, ISO 9660 and self-extracting programs.  A
 * separate process reads the latter, because libarchive's readers of them are known to crash on hostile input.  A
 * file that is only compressed is its own member.
 *
 * Compression, once: gzip, bzip2, xz, lzma, lzip, zstd, lz4, compress.  What libarchive would run programs for (lzop,
 * lrzip, grzip) is not read, nor is mtree, which names files outside of the archive.
 *
 * Tar archives that follow one another in a file are read as one.  A tar that ends after a member, without the blocks
 * of zeros at its end, gives one bad item at its end, as do bytes after its end that are neither zeros nor a tar.  So
 * do gzip, xz or zstd data that are cut after the archive's end, have a wrong checksum there or are followed by other
 * bytes than zeros, and a cpio that is followed by other bytes.
 *
 * The names in a zip, and in what a separate process reads, are UTF-8 in every locale if they are Unicode in the
 * archive.  libarchive composes their accents (NFC).  Other names are the bytes of the archive.
 *
 * The bytes come from a file, or sequentially from a function, for a pipe or a member of another archive.  What a
 * separate process is to read is then first copied to a temporary file.  Sizes that an archive states are not
 * trusted.
 */
#ifndef SOURCE_ARC_H
#define SOURCE_ARC_H

#include <stdbool.h>
#include <stddef.h>

/* The end of a message about bytes that are no archive. */
#define ARC_READ "tar, zip, 7z, rar, cpio, ISO 9660 and some others are read, compressed or not"

enum arc_kind {
	ARC_PACKED,	/* a file, compressed or not, is one member, even if its bytes look like a tar header */
	ARC_ARCHIVE,	/* the file must be an archive, compressed or not */
	ARC_EITHER
};

/* Reads up to n bytes; *got is less only at the end.  Returns 0 or an error, with its line. */
struct arc_in {
	int	(*read)(void *ctx, void *p, size_t n, size_t *got);
	void	*ctx;
};

struct arc;

/*
 * Open the file at path, or read through a function, which must live as long.  The error line does not name the
 * archive.  Each returns 0, ERR_SYS, ERR_FORMAT, ERR_LIMIT (too long to copy) or ERR_NOMEM.
 */
int	 arc_open(const char *path, enum arc_kind kind, struct arc **a);
int	 arc_open_in(struct arc_in in, enum arc_kind kind, struct arc **a);
void	 arc_close(struct arc *a);	/* NULL is fine */
/* Whether the current member is the compressed or plain file itself, which has no name of its own. */
bool	 arc_is_packed(const struct arc *a);
/*
 * The next member that is a file or a link.  Returns 1, with its name lent until the next call; 0 at the end;
 * ERR_ITEM if this member cannot be read and the archive continues; or ERR_FORMAT if the archive cannot continue.
 */
int	 arc_next(struct arc *a, const char **name);
/*
 * Reads up to n bytes of that member; *got is less only at its end.  Returns 0, ERR_ITEM (unreadable, or a link,
 * which is not followed) or ERR_FORMAT.
 */
int	 arc_read(struct arc *a, void *p, size_t n, size_t *got);

#endif
