/*
 * source_kind - what source is made of: a table of functions for each kind, and the kinds.
 *
 * A kind's state is its own; contracts are those of source.h.  next fills
 * item, id aside, which the source counts unless has_ids.  What is not wanted
 * is gone over, by a kind that can without reading its picture.
 */
#ifndef SOURCE_SOURCE_KIND_H
#define SOURCE_SOURCE_KIND_H

#include "source/files.h"
#include "source/source.h"

#include <stdbool.h>

struct source_kind {
	/* files, before its first file, lives as long and is not the kind's; NULL for a list.  classes: empty, or given. */
	int	(*open)(void **state, const struct source_opt *opt, struct files *files, struct names *classes);
	int	(*next)(void *state, bool wanted, struct source_item *item);
	void	(*close)(void *state);
	double	(*share)(const void *state);	/* how much was gone through; -1, NULL: not known */
	bool	has_ids;
};

extern const struct source_kind source_cifar_kind, source_folder_kind, source_list_kind, source_mnist_kind, source_shards_kind;

/* Whether a file's name says that it is one of the kind's. */
bool	 source_cifar_knows(const char *name);
bool	 source_mnist_knows(const char *name);
bool	 source_shards_knows(const char *name);
/*
 * Whether the file that the walk stands at holds labels in JSON, for which it is read.  A stream's is not: there the name
 * decides, of a file that lies in no folder, where a class's pictures would.
 */
bool	 source_shards_has_json_labels(struct files *f, const char *name);
/* Whether two names are of one sample. */
bool	 source_shards_match(const char *a, const char *b);

/* At the end of a kind whose labels are numbers: unless they were given, classes are called 0 to most.  Returns 0 or an error. */
int	 source_number_classes(struct names *classes, uint32_t most);

#endif
