/*
 * source_kind - what source is made of: a table of functions for each kind, and the four kinds.
 *
 * A kind's state is its own; contracts are those of source.h.  next fills
 * item, id aside, which the source counts unless has_ids.
 */
#ifndef DATA_SOURCE_KIND_H
#define DATA_SOURCE_KIND_H

#include "data/files.h"
#include "data/source.h"

#include <stdbool.h>

struct source_kind {
	int	(*open)(void **state, const struct source_opt *opt, struct names *classes);
	int	(*next)(void *state, struct source_item *item);
	int	(*skip)(void *state, struct source_item *item);	/* NULL: next does it */
	void	(*close)(void *state);
	bool	has_ids;
};

extern const struct source_kind source_cifar_kind, source_folder_kind, source_list_kind, source_mnist_kind;

/* Whether a file's name says that it is one of the kind's. */
bool	 source_cifar_knows(const char *name);
bool	 source_folder_knows(const char *name);
bool	 source_mnist_knows(const char *name);

#endif
