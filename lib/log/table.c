/* table - cells in rows and columns, as text for people and for programs. */
#include "log/table.h"

#include <assert.h>
#include <stdio.h>

static const char *const forms[] = {
	[TABLE_TEXT] = "text", [TABLE_MARKDOWN] = "markdown", [TABLE_TSV] = "tsv", [TABLE_JSON] = "json",
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
table_column(struct table *t, const char *head, const char *key, bool number)
{
	assert(t->columns < TABLE_COLUMNS && t->cells == 0);
	t->column[t->columns].head = head;
	t->column[t->columns].key = key;
	t->column[t->columns++].number = number;
}

/* A cell breaks no line and no row. */
static int
put_cell_text(struct buf *out, const char *text)
{
	size_t at = out->n;
	int e = buf_put(out, text, strlen(text) + 1);

	for (; e == 0 && out->p[at] != 0; at++)
		if (out->p[at] < ' ')
			out->p[at] = ' ';
	return e;
}

int
table_cell(struct table *t, const char *text, const char *exact)
{
	int e = put_cell_text(&t->text, text != NULL ? text : "");

	e = e < 0 ? e : put_cell_text(&t->text, text == NULL ? "" : exact != NULL ? exact : text);
	t->cells += e == 0;
	return e;
}

void
table_free(struct table *t)
{
	buf_free(&t->text);
	*t = (struct table){ 0 };
}

/* Columns of a text, not bytes. */
static size_t
count_columns(const char *text)
{
	size_t n = 0;

	for (; *text != 0; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* The cell at p, which moves to the next one: for people, or exactly. */
static const char *
next_cell(const char **p, bool exact)
{
	const char *text = *p, *other = text + strlen(text) + 1;

	*p = other + strlen(other) + 1;
	return exact ? other : text;
}

static int
put_padded(struct buf *out, const char *text, size_t wide, bool right)
{
	size_t n = count_columns(text), blanks = wide > n ? wide - n : 0;
	int e = 0;

	if (right)
		e = buf_put_fmt(out, "%*s", (int)blanks, "");
	e = e < 0 ? e : buf_put(out, text, strlen(text));
	return e < 0 || right ? e : buf_put_fmt(out, "%*s", (int)blanks, "");
}

/* Columns two blanks apart, or bars between them. */
static int
put_line(const struct table *t, const char *const *cell, const size_t *wide, bool bars, struct buf *out)
{
	int e = bars ? buf_put(out, "| ", 2) : 0;

	for (size_t i = 0; i < t->columns && e == 0; i++) {
		if (i > 0)
			e = bars ? buf_put(out, " | ", 3) : buf_put(out, "  ", 2);
		e = e < 0 ? e : put_padded(out, cell[i], wide[i], t->column[i].number);
	}
	while (e == 0 && !bars && out->n > 0 && out->p[out->n - 1] == ' ')
		out->n--;
	return e < 0 ? e : buf_put_fmt(out, "%s\n", bars ? " |" : "");
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

static int
put_text(const struct table *t, bool bars, struct buf *out)
{
	const char *cell[TABLE_COLUMNS], *p = (const char *)t->text.p;
	size_t wide[TABLE_COLUMNS];
	int e;

	for (size_t i = 0; i < t->columns; i++) {
		wide[i] = count_columns(t->column[i].head);
		cell[i] = t->column[i].head;
	}
	for (size_t i = 0; i < t->cells; i++) {
		size_t n = count_columns(next_cell(&p, false));

		if (n > wide[i % t->columns])
			wide[i % t->columns] = n;
	}
	e = put_line(t, cell, wide, bars, out);
	e = e < 0 || !bars ? e : put_rule(t, wide, out);
	p = (const char *)t->text.p;
	for (size_t i = 0; i < t->cells && e == 0; i++) {
		const char *text = next_cell(&p, false);

		cell[i % t->columns] = *text == 0 ? "-" : text;
		if ((i + 1) % t->columns == 0)
			e = put_line(t, cell, wide, bars, out);
	}
	return e;
}

static int
put_tsv(const struct table *t, struct buf *out)
{
	const char *p = (const char *)t->text.p;
	int e = 0;

	for (size_t i = 0; i < t->columns && e == 0; i++)
		e = buf_put_fmt(out, "%s%s", i > 0 ? "\t" : "", t->column[i].key);
	e = e < 0 ? e : buf_put(out, "\n", 1);
	for (size_t i = 0; i < t->cells && e == 0; i++)
		e = buf_put_fmt(out, "%s%s", next_cell(&p, true), (i + 1) % t->columns == 0 ? "\n" : "\t");
	return e;
}

static int
put_json_string(struct buf *out, const char *text)
{
	int e = buf_put(out, "\"", 1);

	for (; *text != 0 && e == 0; text++)
		e = *text == '"' || *text == '\\' ? buf_put_fmt(out, "\\%c", *text) : buf_put(out, text, 1);
	return e < 0 ? e : buf_put(out, "\"", 1);
}

/* nan and inf are no numbers in JSON. */
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
table_number(struct table *t, double v, int digits)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	char text[64], exact[64];
	double scaled = v;
	int i = 0;

	snprintf(exact, sizeof(exact), digits < 0 ? "%.0f" : "%.9g", v);
	if (digits < 0) {
		for (; i < 6 && scaled >= 1000; i++)
			scaled /= 1024;
		snprintf(text, sizeof(text), "%.*f %s", i == 0 ? 0 : i < 4 ? 2 : 3, scaled, units[i]);
	} else {
		snprintf(text, sizeof(text), "%.*f", digits, v);
	}
	return table_cell(t, text, exact);
}

int
table_put(const struct table *t, enum table_form form, struct buf *out)
{
	switch (form) {
	case TABLE_TSV:		return put_tsv(t, out);
	case TABLE_JSON:	return put_json(t, out);
	default:		return put_text(t, form == TABLE_MARKDOWN, out);
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

int
table_html(const struct table *t, struct buf *out)
{
	const char *p = (const char *)t->text.p;
	int e = buf_put_fmt(out, "<table>\n<tr>");

	for (size_t i = 0; i < t->columns && e == 0; i++) {
		e = buf_put_fmt(out, "<th%s>", t->column[i].number ? " class=\"n\"" : "");
		e = e < 0 ? e : table_escape(out, t->column[i].head);
		e = e < 0 ? e : buf_put_fmt(out, "</th>");
	}
	for (size_t i = 0; i < t->cells && e == 0; i++) {
		if (i % t->columns == 0)
			e = buf_put_fmt(out, "</tr>\n<tr>");
		e = e < 0 ? e : buf_put_fmt(out, "<td%s>", t->column[i % t->columns].number ? " class=\"n\"" : "");
		e = e < 0 ? e : table_escape(out, next_cell(&p, false));
		e = e < 0 ? e : buf_put_fmt(out, "</td>");
	}
	return e < 0 ? e : buf_put_fmt(out, "</tr>\n</table>\n");
}
