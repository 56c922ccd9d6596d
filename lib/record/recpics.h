/*
 * recpics - pictures as they lie, in files, folders, archives or a stream, each as a record: what nobody packed before.
 *
 * A picture becomes what im2rec would pack of it (image/transcode.h), with its place in the order as its id.  Without classes
 * any picture counts, wherever it stands, and its label is 0: of a folder or an archive those files that are called like
 * pictures, archives within entered; a file that is named, or alone in a stream, whatever it is called.  With classes it is
 * what source/source.h says of the same places.
 *
 * Standard input is told by its first bytes: records, names of files, folders and archives, one a line, or bytes of a
 * picture or an archive.
 *
 * Threads: recpics_next() is called by one at a time, recpics_name() by any.
 */
#ifndef RECORD_RECPICS_H
#define RECORD_RECPICS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct recpics;

enum recpics_kind { RECPICS_BYTES, RECPICS_NAMES, RECPICS_RECORDS };

/* What a file, or standard input for "-", begins as; what cannot be looked at counts as bytes.  No byte of it is taken. */
enum recpics_kind recpics_kind(const char *path);
/*
 * path [n], lent, one after the other: what cannot be opened is a bad picture, unless there are classes.  Returns 0,
 * ERR_NOMEM, or with classes what source_open() returns.
 */
int	 recpics_open(struct recpics **p, const char *const *path, size_t n, bool classes);
void	 recpics_close(struct recpics *p);	/* NULL is fine */
/*
 * The next picture's record into room: 1; 0 at the end; ERR_ITEM (a bad one, the line names it; the rest goes on);
 * ERR_NOMEM; with classes what ends a source.
 */
int	 recpics_next(struct recpics *p, struct buf *room);
/* The name of the picture that has this id, one that was given, into text, a string then.  Returns 0 or ERR_NOMEM. */
int	 recpics_name(struct recpics *p, uint64_t id, struct buf *text);

#endif
