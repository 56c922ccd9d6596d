/*
 * table - cells in rows and columns, and their output in several forms.
 *
 *	text		aligned; an empty cell is "-"
 *	Markdown	the same between bars, with names escaped for GitHub
 *	TSV		keys in the first line, exact values
 *	CSV		the same with commas, and quotes where needed (RFC 4180)
 *	JSON		an array of objects with exact values; empty cells are omitted
 *
 * Functions that add cells record the first error, which table_put() and table_html() return.
 * Threads: one at a time.
 */
#ifndef LOG_TABLE_H
#define LOG_TABLE_H

#include "base/buf.h"

#include <stdbool.h>

enum table_form { TABLE_TEXT, TABLE_MARKDOWN, TABLE_TSV, TABLE_CSV, TABLE_JSON, TABLE_FORMS };

#define TABLE_COLUMNS	32	/* most columns */

struct table_column {
	const char *head, *key;	/* head for people, key for programs */
	bool	 number;	/* right-aligned, and unquoted in JSON */
	int	 digits;	/* decimals in table_number(), or TABLE_BYTES */
	unsigned turn;		/* table_fit() omits columns of a higher turn first; 0: never */
	const char *brief;	/* head in text, or NULL: head */
};

#define TABLE_BYTES	(-1)	/* bytes, in powers of 1024 */

/* A zeroed table is empty. */
struct table {
	struct table_column column[TABLE_COLUMNS];
	size_t	 columns, cells;
	struct buf text;	/* the cells in order, each as two strings: for people, and exact */
	int	 error;
	size_t	 wide[TABLE_COLUMNS];	/* width of each column in text, from table_fit(); 0: omitted */
};

/* Adds a column, before the first cell.  The strings of c must outlive the table. */
void	 table_column(struct table *t, struct table_column c);
/* Add the next cell: text (NULL: an empty cell), a count (UINT64_MAX: none, which is shown as text), or a number. */
void	 table_text(struct table *t, const char *text);
void	 table_count(struct table *t, uint64_t count, const char *none);
void	 table_number(struct table *t, double v);
/*
 * Fits the table as text into so many columns: shortens names in the middle, then omits columns.  UINT_MAX is no limit.
 * Returns how many columns are omitted.
 */
unsigned table_fit(struct table *t, unsigned wide);
/* Appends the table.  Text that table_fit() has not fitted is complete.  Returns 0 or ERR_NOMEM. */
int	 table_put(const struct table *t, enum table_form form, struct buf *out);
/* Appends the table in HTML.  Numbers have the class .n, columns that a narrow screen should not show .w. */
int	 table_html(const struct table *t, struct buf *out);
void	 table_free(struct table *t);	/* leaves an empty table */

/* The form of a name: "text", "markdown", "tsv", "csv" or "json".  TABLE_FORMS for other names. */
enum table_form table_form(const char *name);
/* Appends text with the special characters of HTML escaped. */
int	 table_escape(struct buf *out, const char *text);

#endif
