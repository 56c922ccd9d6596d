/*
 * place - finds the files of one path: a directory, an archive and those within it, or a single file.  For files.
 */
#ifndef SOURCE_PLACE_H
#define SOURCE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#define PLACE_NEST	4u	/* most nested archives */

/* Whether to enter archives in a directory, and whether a directory may be read in any order. */
enum { PLACE_ENTER = 1, PLACE_ANY_ORDER = 2 };

struct place;

/*
 * "-" is standard input.  Names start with base, except that of a single file.  path and base must live as long.
 * Returns 0, ERR_SYS, ERR_FORMAT, ERR_LIMIT or ERR_NOMEM; the line names the path.
 */
int	 place_open(const char *path, const char *base, unsigned how, struct place **p);
void	 place_close(struct place *p);	/* NULL is fine */
/* Archives in the directory that were skipped so far. */
size_t	 place_skipped_archives(const struct place *p);
/* As files_next(), files_is_bare(), files_display_name(), files_plain_path() and files_read(). */
int	 place_next(struct place *p, const char **name);
bool	 place_is_bare(const struct place *p);
const char *place_display_name(struct place *p);
const char *place_plain_path(const struct place *p);
int	 place_read(struct place *p, void *buf, size_t n, size_t *got);

#endif
