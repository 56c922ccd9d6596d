/*
 * nearest - the known name that a mistyped word is most like.
 *
 *	struct nearest n = { .word = "bacth" };
 *	nearest_try(&n, "batch");		for each known name
 *	if (n.best != NULL) ...			"batch"
 *
 * A name counts if few letters differ: added, left out, replaced, or two neighbours exchanged.  At most a third
 * of the word's letters may differ, or one of a short word.  If no name is so near, a name counts that begins
 * with the word and a hyphen, or that stands at the start of the word before a hyphen: std-rgb for std, lr for
 * lr-step.  The first of equally near names wins.  Names are not copied.  Threads: no state.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_MOST 32u	/* bytes of a word or name; longer ones are like no other */

struct nearest {
	const char	*word, *best;	/* best NULL: none is near */
	size_t		 differ;	/* letters of best that differ */
};

void	 nearest_try(struct nearest *n, const char *name);

#endif
