/* report - tables and figures as one self-contained page of HTML. */
#include "log/report.h"

#include "base/err.h"

#define NARROW	430	/* pixels of figures for a telephone */

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    "body { font: 15px/1.5 system-ui, \"DejaVu Sans\", sans-serif; max-width: 72rem; "
    "margin: 2rem auto; padding: 0 1rem; }\n"
    "table { border-collapse: collapse; max-width: 100%; }\n"
    "th, td { padding: .2rem .6rem; text-align: left; vertical-align: bottom; border-bottom: 1px solid #ddd; "
    "overflow-wrap: break-word; }\n"
    "td:first-child { min-width: 5rem; }\n"
    ".n { text-align: right; font-variant-numeric: tabular-nums; }\n"
    "td.n { white-space: nowrap; }\n"
    "svg { max-width: 100%; height: auto; }\n"
    ".t { display: none; }\n"
    "@media (max-width: 40rem) {\n"	/* a telephone */
    "body { font-size: 14px; margin-top: 1rem; padding: 0 .5rem; }\n"
    "th, td { padding: .2rem .4rem; }\n"
    ".w { display: none; }\n"
    ".t { display: contents; }\n}\n"
    "</style>\n<title>";

/* Puts a heading and its table, unless the table is empty. */
static int
put_section(const char *name, struct table *t, struct buf *out)
{
	int e = 0;

	if (t->cells > 0) {
		e = buf_put_fmt(out, "<h2>%s</h2>\n", name);
		e = e < 0 ? e : table_html(t, out);
	}
	return e;
}

/* Puts a picture without gnuplot's titles of it and its lines, which a browser shows beside the pointer. */
static int
put_untitled(const char *svg, struct buf *out)
{
	static const char end_tag[] = "</title>";
	const char *title, *end;

	while ((title = strstr(svg, "<title>")) != NULL && (end = strstr(title, end_tag)) != NULL) {
		ERR_TRY(buf_put(out, svg, (size_t)(title - svg)));
		svg = end + sizeof(end_tag) - 1;
	}
	return buf_put(out, svg, strlen(svg));
}

/*
 * Puts the figures in an element of that class.  Omits the XML declaration and the document type of gnuplot's SVG,
 * which are not allowed inside a page.
 */
static int
put_figures(const struct curve_rows *rows, const struct rate_list *rates, const struct plot_opt *opt, const char *class,
    struct buf *out)
{
	struct buf svg = { 0 };
	const char *from;
	int e = plot_draw(rows, rates, opt, &svg, NULL);

	e = e < 0 ? e : buf_terminate(&svg);
	if (e == 0) {
		from = strstr((const char *)svg.p, "<svg");
		e = from == NULL ? err_fail(ERR_FORMAT, "gnuplot: no picture")
		    : buf_put_fmt(out, "<div class=\"%s\">\n", class);
		e = e < 0 ? e : put_untitled(from, out);
		e = e < 0 ? e : buf_put_fmt(out, "</div>\n");
	}
	buf_free(&svg);
	return e;
}

/* Puts the figures twice: for a wide and for a narrow screen. */
static int
put_both_figures(const struct curve_rows *rows, const struct rate_list *rates, const struct plot_opt *opt,
    struct buf *out)
{
	struct plot_opt untitled = *opt;	/* the page has the title */
	size_t start = out->n;
	int e;

	untitled.title = "";
	ERR_TRY(buf_put_fmt(out, "<h2>Figures</h2>\n"));
	if ((e = put_figures(rows, rates, &untitled, "w", out)) == 0) {
		untitled.wide = NARROW;
		e = put_figures(rows, rates, &untitled, "t", out);
	}
	if (e != ERR_ITEM)
		return e;
	out->n = start;	/* a report may have no figures */
	return 0;
}

/* The heading of the table of measures. */
static const char *
name_positions(const struct curve_rows *rows)
{
	size_t steps = 0;

	for (size_t i = 0; i < rows->n; i++)
		steps += rows->row[i].by_step;
	return steps == 0 ? "Epochs" : steps == rows->n ? "Steps" : "Epochs and steps";
}

int
report_html(const struct curve_rows *rows, const struct machine_list *machines, const struct rate_list *rates,
    const struct plot_opt *opt, struct buf *out)
{
	struct table runs = { 0 }, hosts = { 0 }, epochs = { 0 };
	int e = buf_put(out, head, sizeof(head) - 1);

	curve_compare(rows, opt->title, &runs);
	machine_table(machines, &hosts);
	curve_table(rows, false, &epochs);
	e = e < 0 ? e : table_escape(out, opt->title);
	e = e < 0 ? e : buf_put_fmt(out, "</title>\n</head>\n<body>\n<h1>");
	e = e < 0 ? e : table_escape(out, opt->title);
	e = e < 0 ? e : buf_put_fmt(out, "</h1>\n");
	e = e < 0 ? e : put_section("Runs", &runs, out);
	e = e < 0 ? e : put_section("Machines", &hosts, out);
	e = e < 0 || rows->n + rates->n == 0 ? e : put_both_figures(rows, rates, opt, out);
	e = e < 0 ? e : put_section(name_positions(rows), &epochs, out);
	table_free(&runs);
	table_free(&hosts);
	table_free(&epochs);
	return e < 0 ? e : buf_put_fmt(out, "</body>\n</html>\n");
}
