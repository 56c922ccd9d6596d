/*
 * recpics - makes records of unpacked images: files, folders, archives or a stream.
 *
 * An image becomes the record that im2rec would pack (image/transcode.h), with its number as its id.  Without classes
 * every image counts and has label 0: the image files of a folder or archive by their suffixes, also in nested
 * archives, and a file that is named, or alone in a stream, whatever its name.  With classes the images are those of
 * source/source.h.
 *
 * The first bytes of standard input decide whether it holds records, names of files, folders and archives (one per
 * line), or an image or archive.
 *
 * Threads: one at a time calls recpics_next(), any number recpics_name().
 */
#ifndef RECORD_RECPICS_H
#define RECORD_RECPICS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct recpics;

enum recpics_kind { RECPICS_BYTES, RECPICS_NAMES, RECPICS_RECORDS };

/*
 * The kind of a file ("-": standard input) by its first bytes, which stay unread.  RECPICS_BYTES if
 * they cannot be read.
 */
enum recpics_kind recpics_kind(const char *path);
/*
 * Opens path [n], which must outlive p, in sequence.  Without classes a path that cannot be opened counts as a bad
 * image. Returns 0, ERR_NOMEM, or with classes an error of source_open().
 */
int	 recpics_open(struct recpics **p, const char *const *path, size_t n, bool classes);
void	 recpics_close(struct recpics *p);	/* NULL is fine */
/*
 * Writes the next image's record to room.  Returns 1, 0 at the end, ERR_ITEM (a bad image, which the message names; the
 * next call continues), ERR_NOMEM, or with classes an error of the source.
 */
int	 recpics_next(struct recpics *p, struct buf *room);
/* Writes the name of the image with this id, which recpics_next() returned, to text.  Returns 0 or ERR_NOMEM. */
int	 recpics_name(struct recpics *p, uint64_t id, struct buf *text);

#endif
