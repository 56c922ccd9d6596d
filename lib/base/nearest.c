/* nearest - the known name that a mistyped word is most like. */
#include "base/nearest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static size_t
take_smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int
fold_case(char c)
{
	return tolower((unsigned char)c);
}

/*
 * The optimal string alignment distance: Levenshtein's, with exchanged neighbours counted once.  Case does not count.
 */
static size_t
measure_distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t d[NEAREST_MOST + 1][NEAREST_MOST + 1], replaced;

	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = i + j;
				continue;
			}
			replaced = d[i - 1][j - 1] + (fold_case(a[i - 1]) != fold_case(b[j - 1]));
			d[i][j] = take_smaller(take_smaller(d[i - 1][j], d[i][j - 1]) + 1, replaced);
			if (i > 1 && j > 1 && fold_case(a[i - 1]) == fold_case(b[j - 2]) &&
			    fold_case(a[i - 2]) == fold_case(b[j - 1]))
				d[i][j] = take_smaller(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[n][m];
}

/* Whether one name is the other's first words, as std of std-rgb. */
static int
is_beginning(const char *a, size_t n, const char *b, size_t m)
{
	return n < m ? b[n] == '-' && strncasecmp(a, b, n) == 0 : n > m && a[m] == '-' && strncasecmp(a, b, m) == 0;
}

void
nearest_try(struct nearest *n, const char *name)
{
	size_t length = strlen(n->word), other = strlen(name), differ;

	if (length < 2 || length > NEAREST_MOST || other > NEAREST_MOST)
		return;
	differ = measure_distance(n->word, length, name, other);
	if (differ > (length < 6 ? 1 : length / 3)) {
		if (!is_beginning(n->word, length, name, other))
			return;
		differ = NEAREST_MOST + 1;	/* any similar name is nearer */
	}
	if ((n->best != NULL && differ >= n->differ))
		return;
	n->best = name;
	n->differ = differ;
}
