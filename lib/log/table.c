/* table - cells in rows and columns, and their output in several forms. */
#include "log/table.h"

#include "base/err.h"
#include "log/amount.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#define HTML_TURN	2	/* columns of higher turns have the class .w */
#define NAME_COLUMNS	28	/* columns of a name in a table that has to be fitted */

static const char *const forms[] = {
	[TABLE_TEXT] = "text", [TABLE_MARKDOWN] = "markdown", [TABLE_TSV] = "tsv", [TABLE_CSV] = "csv",
	[TABLE_JSON] = "json",
};

enum table_form
table_form(const char *name)
{
	int i = 0;

	while (i < TABLE_FORMS && strcmp(name, forms[i]) != 0)
		i++;
	return (enum table_form)i;
}

void
table_column(struct table *t, struct table_column c)
{
	assert(t->columns < TABLE_COLUMNS && t->cells == 0);
	t->column[t->columns++] = c;
}

/* Control characters would break the line. */
static void
put_cell_text(struct table *t, const char *text)
{
	size_t at = t->text.n;

	if (t->error == 0)
		t->error = buf_put(&t->text, text, strlen(text) + 1);
	for (; t->error == 0 && t->text.p[at] != 0; at++)
		if (t->text.p[at] < ' ')
			t->text.p[at] = ' ';
}

static void
add_cell(struct table *t, const char *text, const char *exact)
{
	put_cell_text(t, text);
	put_cell_text(t, exact);
	t->cells++;
}

void
table_text(struct table *t, const char *text)
{
	add_cell(t, text != NULL ? text : "", text != NULL ? text : "");
}

void
table_count(struct table *t, uint64_t count, const char *none)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, count);
	if (count == UINT64_MAX)
		add_cell(t, none, "");
	else
		add_cell(t, text, text);
}

void
table_number(struct table *t, double v)
{
	const int digits = t->column[t->cells % t->columns].digits;
	char text[64], exact[64];
	double scaled = v;
	int i = 0;

	snprintf(exact, sizeof(exact), digits == TABLE_BYTES ? "%.0f" : "%.9g", v);
	if (digits == TABLE_BYTES) {
		for (; i < 6 && scaled >= 1000; i++)
			scaled /= 1024;
		snprintf(text, sizeof(text), "%.*f %s", i == 0 ? 0 : i < 4 ? 2 : 3, scaled, amount_units[i]);
	} else {
		snprintf(text, sizeof(text), "%.*f", digits, v);
	}
	add_cell(t, text, exact);
}

void
table_free(struct table *t)
{
	buf_free(&t->text);
	*t = (struct table){ 0 };
}

/* The columns that a text in UTF-8 takes. */
static size_t
count_columns(const char *text)
{
	size_t n = 0;

	for (; *text != 0; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Returns the cell at *p, for people or exact, and advances *p to the next. */
static const char *
next_cell(const char **p, bool exact)
{
	const char *text = *p, *other = text + strlen(text) + 1;

	*p = other + strlen(other) + 1;
	return exact ? other : text;
}

/* The byte at which a character begins, or the end. */
static const char *
skip_characters(const char *text, size_t n)
{
	for (; *text != 0; text++)
		if (((unsigned char)*text & 0xc0) != 0x80 && n-- == 0)
			break;
	return text;
}

/* A text above wide columns loses its middle, since names differ at either end. */
static int
put_padded(struct buf *out, const char *text, size_t wide, bool right)
{
	size_t n = count_columns(text), blanks = wide > n ? wide - n : 0, head = (wide - 1) / 2;
	int e = 0;

	if (right)
		e = buf_put_fmt(out, "%*s", (int)blanks, "");
	if (n > wide)
		e = e < 0 ? e : buf_put_fmt(out, "%.*s..%s", (int)(skip_characters(text, head) - text), text,
		    skip_characters(text, n - (wide - head - 2)));
	else
		e = e < 0 ? e : buf_put(out, text, strlen(text));
	return e < 0 || right ? e : buf_put_fmt(out, "%*s", (int)blanks, "");
}

/* Separates columns by two blanks or by bars. */
static int
put_line(const struct table *t, const char *const *cell, const size_t *wide, bool bars, struct buf *out)
{
	const char *between = "";

	ERR_TRY(bars ? buf_put(out, "| ", 2) : 0);
	for (size_t i = 0; i < t->columns; i++) {
		if (wide[i] == 0)
			continue;
		ERR_TRY(buf_put_fmt(out, "%s", between));
		ERR_TRY(put_padded(out, cell[i], wide[i], t->column[i].number));
		between = bars ? " | " : "  ";
	}
	while (!bars && out->n > 0 && out->p[out->n - 1] == ' ')
		out->n--;
	return buf_put_fmt(out, "%s\n", bars ? " |" : "");
}

static int
put_rule(const struct table *t, const size_t *wide, struct buf *out)
{
	int e = 0;

	for (size_t i = 0; i < t->columns && e == 0; i++) {
		e = buf_put(out, i > 0 ? " | " : "| ", i > 0 ? 3 : 2);
		for (size_t k = t->column[i].number; k < wide[i] && e == 0; k++)
			e = buf_put(out, "-", 1);
		e = e < 0 || !t->column[i].number ? e : buf_put(out, ":", 1);
	}
	return e < 0 ? e : buf_put_fmt(out, " |\n");
}

static const char *
get_head_text(const struct table *t, size_t i, bool bars)
{
	return !bars && t->column[i].brief != NULL ? t->column[i].brief : t->column[i].head;
}

static void
measure_columns(const struct table *t, bool bars, size_t wide[TABLE_COLUMNS])
{
	const char *p = (const char *)t->text.p;

	for (size_t i = 0; i < t->columns; i++)
		wide[i] = count_columns(get_head_text(t, i, bars));
	for (size_t i = 0; i < t->cells; i++) {
		size_t n = count_columns(next_cell(&p, false));

		if (n > wide[i % t->columns])
			wide[i % t->columns] = n;
	}
}

static size_t
sum_columns(const struct table *t)
{
	size_t sum = 0;

	for (size_t i = 0; i < t->columns; i++)
		sum += t->wide[i] > 0 ? t->wide[i] + 2 : 0;
	return sum > 0 ? sum - 2 : 0;
}

unsigned
table_fit(struct table *t, unsigned wide)
{
	unsigned omitted = 0;

	measure_columns(t, false, t->wide);
	for (size_t i = 0; i < t->columns && sum_columns(t) > wide; i++)
		if (!t->column[i].number && t->wide[i] > NAME_COLUMNS)
			t->wide[i] = NAME_COLUMNS;
	while (sum_columns(t) > wide) {
		size_t last = 0;

		for (size_t i = 0; i < t->columns; i++)
			if (t->wide[i] > 0 && t->column[i].turn > 0 &&
			    (t->wide[last] == 0 || t->column[i].turn >= t->column[last].turn))
				last = i;
		if (t->wide[last] == 0 || t->column[last].turn == 0)
			break;
		t->wide[last] = 0;
		omitted++;
	}
	return omitted;
}

/* Whether Markdown would take the character at p, of a text that begins at text, for markup in a table's cell. */
static bool
is_markup(const char *text, const char *p)
{
	if (*p == '_')	/* within a word it is none */
		return p == text || !isalnum((unsigned char)p[-1]) || !isalnum((unsigned char)p[1]);
	return strchr("|\\<&*`[~", *p) != NULL;
}

/* Escapes the names for people, as GitHub's Markdown needs. */
static int
escape_cells(const struct table *t, struct buf *out)
{
	const char *p = (const char *)t->text.p;
	int e = 0;

	for (size_t i = 0; i < t->cells && e == 0; i++) {
		const char *text = next_cell(&p, false);

		for (const char *c = text; *c != 0 && e == 0; c++)
			e = !t->column[i % t->columns].number && is_markup(text, c) ? buf_put_fmt(out, "\\%c", *c) :
			    buf_put(out, c, 1);
		e = e < 0 ? e : buf_put(out, "\0", 2);	/* no exact text */
	}
	return e;
}

static int
put_text(const struct table *t, bool bars, struct buf *out)
{
	const char *cell[TABLE_COLUMNS] = { NULL }, *p = (const char *)t->text.p;
	size_t measured[TABLE_COLUMNS] = { 0 };
	const size_t *wide = !bars && sum_columns(t) > 0 ? t->wide : measured;
	int e;

	measure_columns(t, bars, measured);
	for (size_t i = 0; i < t->columns; i++)
		cell[i] = get_head_text(t, i, bars);
	e = put_line(t, cell, wide, bars, out);
	e = e < 0 || !bars ? e : put_rule(t, wide, out);
	for (size_t i = 0; i < t->cells && e == 0; i++) {
		const char *text = next_cell(&p, false);

		cell[i % t->columns] = *text == 0 ? "-" : text;
		if ((i + 1) % t->columns == 0)
			e = put_line(t, cell, wide, bars, out);
	}
	return e;
}

static int
put_markdown(const struct table *t, struct buf *out)
{
	struct table escaped = *t;
	int e;

	escaped.text = (struct buf){ 0 };
	if ((e = escape_cells(t, &escaped.text)) == 0)
		e = put_text(&escaped, true, out);
	buf_free(&escaped.text);
	return e;
}

/* A field with a separator, a quote or blanks at its ends is quoted. */
static int
put_csv_field(struct buf *out, const char *text)
{
	size_t n = strlen(text);
	int e = 0;

	if (n == 0 || (strpbrk(text, ",\"") == NULL && text[0] != ' ' && text[n - 1] != ' '))
		return buf_put(out, text, n);
	for (e = buf_put(out, "\"", 1); *text != 0 && e == 0; text++)
		e = buf_put(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	return e < 0 ? e : buf_put(out, "\"", 1);
}

/* Puts keys and exact values, separated by tabs or by commas. */
static int
put_fields(const struct table *t, bool commas, struct buf *out)
{
	const char *p = (const char *)t->text.p;

	for (size_t i = 0; i < t->columns + t->cells; i++) {
		const char *text = i < t->columns ? t->column[i].key : next_cell(&p, true);

		ERR_TRY(commas ? put_csv_field(out, text) : buf_put(out, text, strlen(text)));
		ERR_TRY(buf_put(out, (i + 1) % t->columns == 0 ? "\n" : commas ? "," : "\t", 1));
	}
	return 0;
}

static int
put_json_string(struct buf *out, const char *text)
{
	ERR_TRY(buf_put(out, "\"", 1));
	for (; *text != 0; text++)
		ERR_TRY(*text == '"' || *text == '\\' ? buf_put_fmt(out, "\\%c", *text) : buf_put(out, text, 1));
	return buf_put(out, "\"", 1);
}

/* NaN and infinity are strings, since JSON has no such numbers. */
static int
put_json(const struct table *t, struct buf *out)
{
	const char *p = (const char *)t->text.p, *text;
	int e = buf_put(out, "[", 1);
	bool first = true;

	for (size_t i = 0; i < t->cells && e == 0; i++) {
		size_t c = i % t->columns;

		if (c == 0) {
			e = buf_put_fmt(out, "%s{", i > 0 ? ",\n " : "");
			first = true;
		}
		text = next_cell(&p, true);
		if (e == 0 && *text != 0) {
			e = buf_put_fmt(out, "%s\"%s\":", first ? "" : ",", t->column[c].key);
			first = false;
			if (e == 0)
				e = t->column[c].number && text[strspn(text, "0123456789.eE+-")] == 0 ?
				    buf_put(out, text, strlen(text)) : put_json_string(out, text);
		}
		if (e == 0 && c + 1 == t->columns)
			e = buf_put(out, "}", 1);
	}
	return e < 0 ? e : buf_put(out, "]\n", 2);
}

int
table_put(const struct table *t, enum table_form form, struct buf *out)
{
	if (t->error < 0)
		return t->error;
	switch (form) {
	case TABLE_TSV:		return put_fields(t, false, out);
	case TABLE_CSV:		return put_fields(t, true, out);
	case TABLE_JSON:	return put_json(t, out);
	case TABLE_MARKDOWN:	return put_markdown(t, out);
	default:		return put_text(t, false, out);
	}
}

int
table_escape(struct buf *out, const char *text)
{
	int e = 0;

	for (; *text != 0 && e == 0; text++)
		switch (*text) {
		case '<':	e = buf_put_fmt(out, "&lt;"); break;
		case '>':	e = buf_put_fmt(out, "&gt;"); break;
		case '&':	e = buf_put_fmt(out, "&amp;"); break;
		case '"':	e = buf_put_fmt(out, "&quot;"); break;
		default:	e = buf_put(out, text, 1);
		}
	return e;
}

/* Begins a cell of column i, as .n if it holds numbers, and as .w if a narrow screen should not show it. */
static int
put_html_cell(const struct table *t, size_t i, const char *tag, struct buf *out)
{
	const struct table_column *c = &t->column[i];
	bool wide = c->turn > HTML_TURN;

	if (!c->number && !wide)
		return buf_put_fmt(out, "<%s>", tag);
	return buf_put_fmt(out, "<%s class=\"%s%s%s\">", tag, c->number ? "n" : "", c->number && wide ? " " : "",
	    wide ? "w" : "");
}

int
table_html(const struct table *t, struct buf *out)
{
	const char *p = (const char *)t->text.p;
	int e = t->error < 0 ? t->error : buf_put_fmt(out, "<table>\n<tr>");

	for (size_t i = 0; i < t->columns && e == 0; i++) {
		e = put_html_cell(t, i, "th", out);
		e = e < 0 ? e : table_escape(out, t->column[i].head);
		e = e < 0 ? e : buf_put_fmt(out, "</th>");
	}
	for (size_t i = 0; i < t->cells && e == 0; i++) {
		if (i % t->columns == 0)
			e = buf_put_fmt(out, "</tr>\n<tr>");
		e = e < 0 ? e : put_html_cell(t, i % t->columns, "td", out);
		e = e < 0 ? e : table_escape(out, next_cell(&p, false));
		e = e < 0 ? e : buf_put_fmt(out, "</td>");
	}
	return e < 0 ? e : buf_put_fmt(out, "</tr>\n</table>\n");
}
