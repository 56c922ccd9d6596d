/*
 * arc - an archive's members, one after the other, whatever libarchive reads.
 *
 * Formats: tar, cpio, zip, ar, warc; and, in a process of their own, as libarchive's readers of these are known to crash on
 * hostile ones: 7z, rar, lha, xar, cab, ISO 9660, and programs that unpack themselves.  A file that is only packed is its
 * own member.
 * Packed, once, by: gzip, bzip2, xz, lzma, lzip, zstd, lz4, compress.  What libarchive would run programs for (lzop, lrzip,
 * grzip), and mtree, which names files outside, is not read.
 * Bytes come from a file, or in one go through a function: from a pipe, or a member of another archive.  What is read by
 * another process is then first copied to a temporary file without a name.
 * What an archive says about sizes is not believed.
 */
#ifndef SOURCE_ARC_H
#define SOURCE_ARC_H

#include <stdbool.h>
#include <stddef.h>

enum arc_kind {
	ARC_PACKED,	/* packed or not, what is inside is one member: numbers may look like the head of a tar */
	ARC_ARCHIVE,	/* packed or not, it must be an archive */
	ARC_EITHER
};

/* Up to n bytes; *got is less at the end alone.  Returns 0 or an error, the line saying what it is. */
struct arc_in {
	int	(*read)(void *ctx, void *p, size_t n, size_t *got);
	void	*ctx;
};

struct arc;

/* From the file at path, or through a function, which must live as long.  Lines do not name the archive. */
/* Each returns 0, ERR_SYS, ERR_FORMAT, ERR_LIMIT (too long to copy) or ERR_NOMEM. */
int	 arc_open(struct arc **a, const char *path, enum arc_kind kind);
int	 arc_open_in(struct arc **a, struct arc_in in, enum arc_kind kind);
void	 arc_close(struct arc *a);	/* NULL is fine */
/* Whether the member got last is the file itself, which has no name within. */
bool	 arc_is_packed(const struct arc *a);
/*
 * The next member that is a file or a link: 1, its name lent until the next call; 0 at the end; ERR_ITEM when the archive
 * goes on but this member cannot be read; ERR_FORMAT when it cannot go on.
 */
int	 arc_next(struct arc *a, const char **name);
/*
 * Up to n bytes of that member; *got is less at its end alone.  Returns 0, ERR_ITEM (it cannot be read, or is a link:
 * what links lead to stands elsewhere) or ERR_FORMAT.
 */
int	 arc_read(struct arc *a, void *p, size_t n, size_t *got);

#endif
