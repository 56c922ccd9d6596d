/* plog - logs in, tables and figures out.  See plog(1). */
#include "front.h"
#include "plog_follow.h"

#include "base/err.h"
#include "base/io.h"
#include "log/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE	65536	/* bytes that are read as one line at most */

static const char usage[] = "plog [-cfr] [--format form] [--html file] [--png file] [--svg file] [option ...]\n"
			    "       [log ...]";
static const char help[] =
    "  -c, --compare        each log is a run of its own: a line a run\n"
    "  -f, --follow         go on while the logs grow\n"
    "  -r, --ranks          a row for each rank, not the mean of all\n"
    "  --figures LIST       of accuracy|loss|time|speed|traffic, with commas between (all)\n"
    "  --format text|markdown|tsv|json (text)\n"
    "  --html FILE          a report that needs nothing else: tables and figures\n"
    "  --machines           the machines and their hardware instead\n"
    "  --plot               draw on the terminal\n"
    "  --png FILE, --svg FILE  draw into a file\n"
    "  --help, --version\n"
    "Without a log, or where it is -, standard input is read.\n";

enum { O_FIGURES = 256, O_FORMAT, O_HELP, O_HTML, O_MACHINES, O_PLOT, O_PNG, O_SVG, O_VERSION };

static const struct option longs[] = {
	{ "compare", no_argument, NULL, 'c' },
	{ "figures", required_argument, NULL, O_FIGURES },
	{ "follow", no_argument, NULL, 'f' },
	{ "format", required_argument, NULL, O_FORMAT },
	{ "help", no_argument, NULL, O_HELP },
	{ "html", required_argument, NULL, O_HTML },
	{ "machines", no_argument, NULL, O_MACHINES },
	{ "plot", no_argument, NULL, O_PLOT },
	{ "png", required_argument, NULL, O_PNG },
	{ "ranks", no_argument, NULL, 'r' },
	{ "svg", required_argument, NULL, O_SVG },
	{ "version", no_argument, NULL, O_VERSION },
	{ NULL, 0, NULL, 0 }
};

struct options {
	const char *html, *png, *svg;
	enum table_form form;
	unsigned figures;
	bool	 compare, follow, by_rank, machines, plot;
};

/* A row that is broken costs a warning: the file's first one with its place, the rest as a count. */
static void
read_log(struct curve *c, struct machine_list *m, const char *path)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	size_t before = c->n, machines = m->n;
	unsigned long long at = 0, bad = 0;
	char line[LINE];
	int e;

	if (f == NULL)
		front_die(path, err_sys("open"));
	while (fgets(line, sizeof(line), f) != NULL) {
		at++;
		if ((e = plog_line(c, m, path, line)) < 0 && bad++ == 0) {
			err_within("line %llu", at);
			front_warn(path, e);
		}
	}
	if (ferror(f))
		front_die(path, err_sys("read"));
	if (f != stdin)
		fclose(f);
	if (bad > 1)
		front_say("%s: %llu rows are broken", path, bad);
	if (c->n == before && m->n == machines) {
		err_note(0, "no measurements in it");
		front_warn(path, ERR_FORMAT);
	}
}

static void
print_table(const struct table *t, enum table_form form)
{
	struct buf text = { 0 };
	int e = t->columns > 0 ? table_put(t, form, &text) : 0;

	if (e < 0)
		front_die(NULL, e);
	if (text.n > 0)
		fwrite(text.p, 1, text.n, stdout);
	front_flush();
	buf_free(&text);
}

/* The table that is asked for. */
static void
print_tables(const struct options *o, struct curve *c, const struct machine_list *m, const struct curve_rows *means)
{
	struct table t = { 0 };
	struct curve_rows rows = { 0 };
	int e;

	if (o->machines)
		e = machine_table(m, &t);
	else if (o->compare && !o->by_rank)
		e = curve_compare(means, &t);
	else if ((e = curve_rows(c, o->by_rank, &rows)) == 0)
		e = curve_table(&rows, o->by_rank, &t);
	if (e < 0)
		front_die(NULL, e);
	print_table(&t, o->form);
	table_free(&t);
	curve_rows_free(&rows);
}

static void
write_report(const struct options *o, const struct curve_rows *means, const struct machine_list *m, const char *title)
{
	struct buf page = { 0 };
	struct io_new f;
	int e;

	if ((e = report_html(means, m, o->figures, title, &page)) < 0 || (e = io_create(&f, o->html)) < 0)
		front_die(o->html, e);
	if ((e = io_write(f.fd, page.p, page.n)) < 0 || (e = io_commit(&f)) < 0) {
		io_abandon(&f);
		front_die(o->html, e);
	}
	buf_free(&page);
}

static void
draw_here(const struct options *o, const struct curve_rows *means)
{
	struct buf text = { 0 };
	int e = plot_draw(means, PLOT_TEXT, o->figures, plog_wide(), &text);

	if (e < 0)
		front_die("--plot", e);
	fwrite(text.p, 1, text.n, stdout);
	front_flush();
	buf_free(&text);
}

/* What is made of the logs once they are read; the table first, since a figure may fail. */
static void
write_output(const struct options *o, struct curve *c, const struct machine_list *m, const char *title)
{
	struct curve_rows means;
	int e;

	if ((e = curve_rows(c, false, &means)) < 0)
		front_die(NULL, e);
	if (!o->follow)
		print_tables(o, c, m, &means);
	if (o->plot && !o->follow && means.n > 0)
		draw_here(o, &means);
	if (o->png != NULL && means.n > 0 && (e = plot_file(&means, PLOT_PNG, o->figures, o->png)) < 0)
		front_die(o->png, e);
	if (o->svg != NULL && means.n > 0 && (e = plot_file(&means, PLOT_SVG, o->figures, o->svg)) < 0)
		front_die(o->svg, e);
	if (o->html != NULL)
		write_report(o, &means, m, title);
	curve_rows_free(&means);
}

int
main(int argc, char *argv[])
{
	char dash[] = "-", *in[] = { dash, NULL };
	struct options o = { .figures = PLOT_ALL };
	struct machine_list machines = { 0 };
	struct curve curve = { 0 };
	int c;

	front_init(argv[0], usage, help);
	while ((c = getopt_long(argc, argv, "cfr", longs, NULL)) != -1)
		switch (c) {
		case 'c':	o.compare = true; break;
		case 'f':	o.follow = true; break;
		case 'r':	o.by_rank = true; break;
		case O_FIGURES:
			if ((o.figures = plot_figures(optarg)) == 0)
				front_wrong("--figures: '%.64s' is not a list of accuracy, loss, time, speed, traffic",
				    optarg);
			break;
		case O_FORMAT:
			if ((o.form = table_form(optarg)) == TABLE_FORMS)
				front_wrong("--format: '%.64s' is not text, markdown, tsv or json", optarg);
			break;
		case O_HELP:	front_help();
		case O_HTML:	o.html = optarg; break;
		case O_MACHINES: o.machines = true; break;
		case O_PLOT:	o.plot = true; break;
		case O_PNG:	o.png = optarg; break;
		case O_SVG:	o.svg = optarg; break;
		case O_VERSION:	printf("plog (tally) %s\n", TALLY_VERSION); front_flush(); return 0;
		default:	front_usage();
		}
	if (o.follow && (o.machines || o.form != TABLE_TEXT))
		front_wrong("-f: only with text, and not with --machines");
	argv = argv[optind] != NULL ? argv + optind : in;
	if (o.follow)
		follow(&(struct follow_opt){ argv, o.by_rank, o.compare, o.plot, o.figures }, &curve, &machines);
	for (char **log = argv; *log != NULL && !o.follow; log++) {
		if (o.compare)
			curve_begin(&curve, plog_name(*log));
		read_log(&curve, &machines, *log);
	}
	write_output(&o, &curve, &machines, argv[1] == NULL ? argv[0] : "Runs");
	curve_free(&curve);
	machine_free(&machines);
	return front_status();
}
