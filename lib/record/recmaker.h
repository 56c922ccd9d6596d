/*
 * recmaker - makes records of unpacked images: files, folders, archives or a stream.
 *
 * An image becomes the record that im2rec would pack (image/transcode.h), with its number as its id.  The images are
 * those of source/source.h, which need no class unless classes are asked for: each path is a source of its own then.
 *
 * The first bytes of standard input decide whether it holds records, names of files, folders and archives (one per
 * line), or an image or archive.
 *
 * Threads: one at a time calls recmaker_next(), any number recmaker_name().
 */
#ifndef RECORD_RECMAKER_H
#define RECORD_RECMAKER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct recmaker;

enum recmaker_kind { RECMAKER_BYTES, RECMAKER_NAMES, RECMAKER_RECORDS };

/*
 * The kind of a file ("-": standard input) by its first bytes, which stay unread.  RECMAKER_BYTES if
 * they cannot be read.
 */
enum recmaker_kind recmaker_kind(const char *path);
/*
 * Opens path [n], which must outlive p, in sequence.  Without classes a path that cannot be opened counts as a bad
 * image.  With classes, class_names (lines, or NULL) numbers the folders.  Returns 0, ERR_NOMEM, or with classes an
 * error of source_open().
 */
int	 recmaker_open(const char *const *path, size_t n, bool classes, const char *class_names, struct recmaker **p);
void	 recmaker_close(struct recmaker *p);	/* NULL is fine */
/*
 * Writes the next image's record to room.  Returns 1, 0 at the end, ERR_ITEM (a bad image, which the message names; the
 * next call continues), ERR_NOMEM, or with classes an error of the source.
 */
int	 recmaker_next(struct recmaker *p, struct buf *room);
/* Writes the name of the image with this id, which recmaker_next() returned, to text.  Returns 0 or ERR_NOMEM. */
int	 recmaker_name(struct recmaker *p, uint64_t id, struct buf *text);

#endif
