/*
 * source_kind - the interface between source and the kinds of sources: a table of functions for each.
 *
 * Each kind has its own state.  Contracts are those of source.h.  next fills item except id, which the source counts
 * unless has_ids.  A kind that can skips an unwanted item without reading its image.
 */
#ifndef SOURCE_SOURCE_KIND_H
#define SOURCE_SOURCE_KIND_H

#include "source/files.h"
#include "source/source.h"

#include <stdbool.h>

struct source_kind {
	/*
	 * files is at its start, lives as long and belongs to the caller; NULL for a list.  classes is empty or
	 * given.  opt->bytes is not 0.  ERR_NOTSUP: class folders without folders.
	 */
	int	(*open)(const struct source_opt *opt, struct files *files, struct names *classes, void **state);
	int	(*next)(void *state, bool wanted, struct source_item *item);
	void	(*close)(void *state);
	double	(*progress)(const void *state);	/* fraction read; -1 or a NULL function: unknown */
	bool	has_ids;
};

extern const struct source_kind source_cifar_kind, source_folder_kind, source_images_kind, source_list_kind,
    source_mnist_kind, source_shards_kind;

#define SOURCE_JSON_BYTES	(1u << 21)	/* most bytes of a JSON file with labels */

/* Whether a file of that name belongs to the kind. */
bool	 source_cifar_knows(const char *name);
bool	 source_mnist_knows(const char *name);
bool	 source_shards_knows(const char *name);
/* Whether a file has the name of one of labels in JSON. */
bool	 source_shards_is_json(const char *name);
/*
 * Whether the current file of the walk holds labels in JSON, which reads it: 1; 0; or ERR_ITEM if it is JSON by its
 * name and has other contents, with the line.
 */
int	 source_shards_has_json_labels(struct files *f, const char *name);
/* Whether two names belong to the same sample. */
bool	 source_shards_match(const char *a, const char *b);

/*
 * Ends a source in which something is missing: e, with its line.  If the walk lost files before, returns ERR_FORMAT,
 * because they may be why, and the line tells what was lost.
 */
int	 source_fail_missing(const struct files *f, int e);
/*
 * Names the classes 0 to most at the end of a kind whose labels are numbers, unless classes were given.  Returns 0 or
 * an error.
 */
int	 source_number_classes(struct names *classes, uint32_t most);

#endif
