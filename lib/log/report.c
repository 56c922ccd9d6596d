/* report - a run's tables and figures as one page of HTML that needs nothing beside it. */
#include "log/report.h"

#include "base/err.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    "body { font: 15px/1.5 system-ui, \"DejaVu Sans\", sans-serif; max-width: 60rem; "
    "margin: 2rem auto; padding: 0 1rem; }\n"
    "table { border-collapse: collapse; display: block; overflow-x: auto; }\n"
    "th, td { padding: .2rem .8rem; text-align: left; border-bottom: 1px solid #ddd; white-space: nowrap; }\n"
    ".n { text-align: right; font-variant-numeric: tabular-nums; }\n"
    "svg { max-width: 100%; height: auto; }\n</style>\n<title>";

/* A heading and the table below it; nothing for an empty table, which is freed. */
static int
put_section(const char *name, struct table *t, int e, struct buf *out)
{
	if (e == 0 && t->cells > 0) {
		e = buf_put_fmt(out, "<h2>%s</h2>\n", name);
		e = e < 0 ? e : table_html(t, out);
	}
	table_free(t);
	return e;
}

/* gnuplot's SVG begins with an XML declaration and a document type, which have no place inside a page. */
static int
put_figures(const struct curve_rows *rows, unsigned figures, struct buf *out)
{
	struct buf svg = { 0 };
	const char *from;
	int e = plot_draw(rows, PLOT_SVG, figures, 0, &svg);

	if (e == ERR_ITEM) {	/* nothing to draw is no fault of a report */
		buf_free(&svg);
		return 0;
	}
	e = e < 0 ? e : buf_terminate(&svg);
	if (e == 0) {
		from = strstr((const char *)svg.p, "<svg");
		e = from == NULL ? err_fail(ERR_FORMAT, "gnuplot: no picture") : buf_put_fmt(out, "<h2>Figures</h2>\n");
		e = e < 0 ? e : buf_put(out, from, strlen(from));
	}
	buf_free(&svg);
	return e;
}

int
report_html(const struct curve_rows *rows, const struct machine_list *machines, unsigned figures, const char *title,
    struct buf *out)
{
	struct table t = { 0 };
	int e = buf_put(out, head, sizeof(head) - 1);

	e = e < 0 ? e : table_escape(out, title);
	e = e < 0 ? e : buf_put_fmt(out, "</title>\n</head>\n<body>\n<h1>");
	e = e < 0 ? e : table_escape(out, title);
	e = e < 0 ? e : buf_put_fmt(out, "</h1>\n");
	e = e < 0 ? e : put_section("Runs", &t, curve_compare(rows, &t), out);
	e = e < 0 ? e : put_section("Machines", &t, machine_table(machines, &t), out);
	e = e < 0 || rows->n == 0 ? e : put_figures(rows, figures, out);
	e = e < 0 ? e : put_section("Epochs", &t, curve_table(rows, false, &t), out);
	return e < 0 ? e : buf_put_fmt(out, "</body>\n</html>\n");
}
