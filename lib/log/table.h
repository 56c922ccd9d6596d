/*
 * table - cells in rows and columns, as text for people and for programs.
 *
 *	text		aligned; what is not there is "-"
 *	Markdown	the same between bars
 *	TSV		keys in the first line, exact values
 *	JSON		an array of objects, exact values; what is not there is left out
 *
 * Threads: a table is for one thread at a time.
 */
#ifndef LOG_TABLE_H
#define LOG_TABLE_H

#include "base/buf.h"

#include <stdbool.h>

enum table_form { TABLE_TEXT, TABLE_MARKDOWN, TABLE_TSV, TABLE_JSON, TABLE_FORMS };

#define TABLE_COLUMNS	24

/* One of zeros is empty. */
struct table {
	struct {
		const char *head, *key;	/* for people and for programs; kept */
		bool	 number;	/* right-aligned, and bare in JSON */
	} column[TABLE_COLUMNS];
	size_t	 columns, cells;
	struct buf text;		/* cells in order, each for people and for programs, with a zero behind */
};

/* All columns stand before the first cell. */
void	 table_column(struct table *t, const char *head, const char *key, bool number);
/* The next cell: for people, and exactly.  NULL when there is nothing.  0 or ERR_NOMEM, as for the rest. */
int	 table_cell(struct table *t, const char *text, const char *exact);
/* A number with so many digits behind the point for people; -1: bytes, in powers of 1024. */
int	 table_number(struct table *t, double v, int digits);
int	 table_put(const struct table *t, enum table_form form, struct buf *out);
/* The same as a table of HTML. */
int	 table_html(const struct table *t, struct buf *out);
void	 table_free(struct table *t);	/* and is empty again */

/* "text", "markdown", "tsv", "json"; TABLE_FORMS for none of them. */
enum table_form table_form(const char *name);
/* Appends text with what HTML gives a meaning to written out. */
int	 table_escape(struct buf *out, const char *text);

#endif
