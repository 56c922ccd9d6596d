/*
 * list - reads .lst files: each line is an image with its number and labels.
 *
 *	index TAB label [TAB label ...] TAB path
 *
 * A line without tabs is split at runs of blanks: index, as many labels as asked for, and the rest is the path, as in
 * MXNet's C++ tool.  Blanks around a field, empty lines and a byte order mark of UTF-8 are ignored.
 * Source: MXNet, tools/im2rec.py and src/io/image_recordio.h.
 */
#ifndef SOURCE_LIST_H
#define SOURCE_LIST_H

#include <stddef.h>
#include <stdint.h>

#define LIST_LINE	((1u << 20) + 8192)	/* most bytes of a line: 65536 labels of 16, an index and a path */
#define LIST_LABELS	65536u	/* most labels of a line: as many as a record that is written may have */

struct list_entry {
	uint64_t	 id;
	uint32_t	 labels;	/* 1 or more */
	float		 label[LIST_LABELS];
	const char	*path;
};

/*
 * Parses a line in place.  width is the number of labels without tabs; 0: 1.  Returns 1, 0 for an empty line, or
 * ERR_ITEM.
 */
int	 list_parse(char *line, uint32_t width, struct list_entry *entry);

struct list;

/* "-" is standard input; width as above.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 list_open(const char *path, uint32_t width, struct list **l);
void	 list_close(struct list *l);	/* NULL is fine */
/*
 * The next entry, lent until the next call.  Returns 1, 0 at the end, ERR_ITEM if the line is invalid (the list
 * continues), ERR_FORMAT (a zero byte, as in UTF-16) or ERR_SYS.
 */
int	 list_next(struct list *l, const struct list_entry **entry);
/* The fraction of the file that was read, 0..1; -1 for a stream. */
double	 list_progress(const struct list *l);
/* The number of the line read last, from 1. */
uint64_t list_line(const struct list *l);

#endif
