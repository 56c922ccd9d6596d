/* plog - makes tables and figures of training logs.  See plog(1). */
#include "front.h"
#include "front_option.h"
#include "plog_follow.h"

#include "base/err.h"
#include "base/io.h"
#include "log/profile.h"
#include "log/report.h"
#include "log/tfevents.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>

#define LINE	65536	/* bytes of the longest line */

static const char plog_usage[] =
    "plog [-cfr] [--format form] [--html file] [--png file] [--svg file]\n"
    "       [option ...] [log ...]";
static const char plog_help[] =
    "Tables:\n"
    "  -c, --compare   a line for each log, a run       -r, --ranks  a line a rank\n"
    "  --all           all columns, not those that fit the screen\n"
    "  --format text|markdown|tsv|csv|json (text)       --csv  as --format csv\n"
    "  --machines      the machines and their hardware instead\n"
    "  --profile       profiles of pworker --profile instead of logs\n"
    "Figures:\n"
    "  --png FILE, --svg FILE  draw into a file         --plot  draw on the terminal\n"
    "  --figures LIST  accuracy|loss|time|speed|traffic|rate|lr|staleness|histogram\n"
    "  --html FILE     write a self-contained report: tables and figures\n"
    "  --tensorboard DIR  write event files for TensorBoard, a folder for each run\n"
    "Other:\n"
    "  -f, --follow    continue while the logs grow     -h, --help, --version\n"
    "Without a log, or if it is -, plog reads standard input.\n";

struct plog_opt {
	const char *html, *png, *svg, *tensorboard;
	enum table_form form;
	unsigned figures;
	bool	 all, compare, follow, by_rank, machines, plot, profile;
	bool	 form_given, figures_given;
};

static void
parse_figures(void *options, const char *option, char *text)
{
	struct plog_opt *o = options;

	o->figures_given = true;
	if ((o->figures = plot_figures(text)) == 0)
		front_wrong("%s: '%.64s' is not a list of accuracy, loss, time, speed, traffic, rate, lr, staleness, "
		    "histogram", option, text);
}

/* --csv has no value. */
static void
parse_form(void *options, const char *option, char *text)
{
	struct plog_opt *o = options;

	o->form_given = true;
	if ((o->form = text != NULL ? table_form(text) : TABLE_CSV) == TABLE_FORMS)
		front_wrong("%s: '%.64s' is not text, markdown, tsv, csv or json", option, text);
}

#define MEMBER(m)	FRONT_MEMBER(struct plog_opt, m)

static const struct front_option option_table[] = {
	{ "all", FRONT_FLAG, MEMBER(all) },
	{ "compare", FRONT_FLAG, MEMBER(compare), .letter = 'c' },
	{ "csv", FRONT_ACTION, .apply = parse_form },
	{ "figures", FRONT_VALUE, .apply = parse_figures },
	{ "follow", FRONT_FLAG, MEMBER(follow), .letter = 'f' },
	{ "format", FRONT_VALUE, .apply = parse_form },
	{ "html", FRONT_TEXT, MEMBER(html) },
	{ "machines", FRONT_FLAG, MEMBER(machines) },
	{ "plot", FRONT_FLAG, MEMBER(plot) },
	{ "png", FRONT_TEXT, MEMBER(png) },
	{ "profile", FRONT_FLAG, MEMBER(profile) },
	{ "ranks", FRONT_FLAG, MEMBER(by_rank), .letter = 'r' },
	{ "svg", FRONT_TEXT, MEMBER(svg) },
	{ "tensorboard", FRONT_TEXT, MEMBER(tensorboard) },
	{ 0 }
};

/* Who draws on the terminal, or chooses figures, wants no table, unless its options are given too. */
static bool
wants_table(const struct plog_opt *o)
{
	bool chosen = o->figures_given && (o->png != NULL || o->svg != NULL || o->html != NULL);

	return (!o->plot && !chosen) || o->form_given || o->all || o->compare || o->by_rank || o->machines;
}

/* Warns of the first malformed row of a file with its line, and of the others with their number. */
static void
read_log(struct logs *l, const struct plog_opt *o, struct table *profile, const char *path)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	size_t before = l->curve.n + l->machines.n + l->rates.n + profile->cells, measures = l->curve.n;
	unsigned long long at = 0, bad = 0;
	char line[LINE];
	bool head = false;
	int e;

	if (f == NULL)
		front_die(path, err_sys("open"));
	while (fgets(line, sizeof(line), f) != NULL) {
		at++;
		head |= strncmp(line, "# tally ", 8) == 0;
		e = profile->columns > 0 ? profile_read(line, profile) : plog_line(l, path, line);
		if (e < 0 && bad++ == 0) {
			err_within("line %llu", at);
			front_warn(path, e);
		}
	}
	if (ferror(f))
		front_die(path, err_sys("read"));
	if (f != stdin)
		fclose(f);
	if (bad > 1)
		front_say("%s: %llu rows are malformed", path, bad);
	if (l->curve.n + l->machines.n + l->rates.n + profile->cells == before && (!head || profile->columns > 0)) {
		err_note(0, "no measurements: neither rows of log(5) nor lines of MXNet or TensorFlow");
		front_warn(path, ERR_FORMAT);
	} else if (o->compare && !o->machines && l->curve.n == measures) {
		err_note(0, "no epoch and no step, so it has no line");
		front_warn(path, ERR_ITEM);
	}
}

/* Returns the lines of the terminal that the table and its remark take. */
static unsigned
print_table(struct table *t, const struct plog_opt *o)
{
	struct buf text = { 0 };
	unsigned wide, high, omitted, lines = 0;
	int e;

	plog_screen(&wide, &high);
	omitted = table_fit(t, o->all ? UINT_MAX : wide);
	e = t->columns > 0 ? table_put(t, o->form, &text) : 0;
	if (e < 0)
		front_die(NULL, e);
	if (text.n > 0)
		fwrite(text.p, 1, text.n, stdout);
	front_flush();
	for (size_t i = 0; i < text.n; i++)
		lines += text.p[i] == '\n';
	buf_free(&text);
	if (omitted == 0 || o->form != TABLE_TEXT)
		return lines;
	front_say("%u more column%s: use --all", omitted, omitted > 1 ? "s" : "");
	return lines + 1;
}

static unsigned
print_tables(const struct plog_opt *o, struct logs *l, const struct curve_rows *means, const char *title)
{
	struct table t = { 0 };
	struct curve_rows rows = { 0 };
	unsigned lines;
	int e;

	if (o->machines)
		machine_table(&l->machines, &t);
	else if (o->compare && !o->by_rank)
		curve_compare(means, title, &t);
	else if ((e = curve_rows(&l->curve, o->by_rank, &rows)) < 0)
		front_die(NULL, e);
	else
		curve_table(&rows, o->by_rank, &t);
	lines = print_table(&t, o);
	table_free(&t);
	curve_rows_free(&rows);
	return lines;
}

/* Whether a name says that the file is of another kind. */
static bool
is_of_other_kind(const char *path, const char *kind)
{
	static const char *const kinds[] = { ".png", ".svg", ".html", ".jpg", ".jpeg", ".pdf", ".gif", ".csv", ".tsv",
	    ".txt", ".md" };
	size_t n = strlen(path);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i] + 1, kind) != 0 && n > strlen(kinds[i]) &&
		    strcasecmp(path + n - strlen(kinds[i]), kinds[i]) == 0)
			return true;
	return false;
}

/*
 * Refuses to replace a file that does not begin as SVG, HTML or PNG, such as a log, which is what remains of a run, and
 * the name of another kind of file.
 */
static void
check_output(const char *option, const char *path)
{
	struct stat st;
	/* Opening a pipe would wait for its writer, which is plog. */
	FILE *f = path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "r") : NULL;
	int first = f != NULL ? getc(f) : EOF;

	if (first != EOF && first != '<' && first != 0x89)
		front_wrong("%s: %s exists and is no figure; name the file to write before the logs", option, path);
	if (f != NULL)
		fclose(f);
	if (path != NULL && strcmp(path, "-") == 0)
		front_wrong("%s: needs a file", option);
	if (path != NULL && is_of_other_kind(path, option + 2))
		front_wrong("%s: %s is the name of another kind of file; name it FILE.%s", option, path, option + 2);
}

static void
write_report(const struct plog_opt *o, const struct logs *l, const struct curve_rows *means, const char *title)
{
	struct plot_opt opt = { .kind = PLOT_SVG, .figures = o->figures, .title = title,
	    .spread = &l->spread };
	struct buf page = { 0 };
	int e;

	if ((e = report_html(means, &l->machines, &l->rates, &opt, &page)) < 0 ||
	    (e = io_replace(o->html, page.p, page.n)) < 0)
		front_die(o->html, e);
	buf_free(&page);
}

/*
 * Draws at most a screen, from which the table's lines are taken if enough are left, and a line for the prompt.
 * Figures that are omitted take another line.
 */
static void
draw_text(const struct plog_opt *o, const struct logs *l, const struct curve_rows *means, const char *title,
    unsigned table)
{
	struct plot_opt opt = { .kind = PLOT_TEXT, .figures = o->figures, .title = title,
	    .spread = &l->spread };
	struct buf text = { 0 };
	unsigned omitted = 0;
	int e;

	plog_screen(&opt.wide, &opt.high);
	opt.high -= opt.high > table + PLOG_LOW ? table + 1 : 1;
	e = plot_draw(means, &l->rates, &opt, &text, &omitted);
	if (e == 0 && omitted > 0) {
		opt.high--;
		text.n = 0;
		e = plot_draw(means, &l->rates, &opt, &text, &omitted);
	}
	front_must("--plot", e);
	fwrite(text.p, 1, text.n, stdout);
	front_flush();
	buf_free(&text);
	if (omitted > 0)
		front_say("%u more figure%s: choose with --figures", omitted, omitted > 1 ? "s" : "");
}

static void
draw_file(const struct plog_opt *o, enum plot_kind kind, const struct logs *l, const struct curve_rows *means,
    const char *title, const char *path)
{
	struct plot_opt opt = { .kind = kind, .figures = o->figures, .title = title,
	    .spread = &l->spread };
	int e = plot_file(means, &l->rates, &opt, path);

	if (e < 0)
		front_die(path, e);
}

/* A run may have ended before its first step, and a log of rates or of a server has no epochs. */
static void
check_measurements(const struct plog_opt *o, const struct logs *l, const struct curve_rows *means, const char *title)
{
	bool draws = o->plot || o->png != NULL || o->svg != NULL || o->html != NULL;

	if (means->n > 0 || o->compare || o->machines || (draws && l->rates.n > 0) ||
	    (o->html != NULL && l->machines.n > 0) || front_status() != 0)
		return;
	err_note(0, l->rates.n > 0 ? "no epoch and no step; draw its rates with --plot, --png, --svg or --html" :
	    "no epoch and no step; print its machines with --machines");
	front_warn(title, ERR_ITEM);
}

/* Prints the table first, since a figure may fail. */
static void
write_output(const struct plog_opt *o, struct logs *l, const char *title)
{
	struct curve_rows means;
	unsigned table = 0;
	bool any;
	int e;

	/* Programs read the numbers of runs. */
	if (o->form == TABLE_TEXT || o->form == TABLE_MARKDOWN || !wants_table(o))
		curve_label_logs(&l->curve);
	if ((e = curve_rows(&l->curve, false, &means)) < 0)
		front_die(NULL, e);
	any = means.n + l->rates.n > 0;
	if (!o->follow && wants_table(o))
		table = print_tables(o, l, &means, title);
	if (o->plot && !o->follow && any)
		draw_text(o, l, &means, title, table);
	if (o->png != NULL && any)
		draw_file(o, PLOT_PNG, l, &means, title, o->png);
	if (o->svg != NULL && any)
		draw_file(o, PLOT_SVG, l, &means, title, o->svg);
	if (o->html != NULL && (any || l->machines.n > 0))
		write_report(o, l, &means, title);
	if (o->tensorboard != NULL && (e = tfevents_write(&means, o->tensorboard)) < 0)
		front_die(o->tensorboard, e);
	check_measurements(o, l, &means, title);
	curve_rows_free(&means);
}

/* The title of figures and reports: the names of up to three logs, or their number. */
static void
make_title(char *const *log, char *title, size_t size)
{
	size_t n = 0;

	title[0] = 0;
	while (log[n] != NULL)
		n++;
	for (size_t i = 0; i < n && n <= 3; i++)
		snprintf(title + strlen(title), size - strlen(title), "%s%s", i > 0 ? ", " : "", plog_name(log[i]));
	if (n > 3)
		snprintf(title, size, "%zu logs", n);
}

/* The name of a log's runs: its file, or its path if another log has the same.  --tensorboard numbers its folders. */
static const char *
name_runs(char *const *logs, const char *log)
{
	for (; *logs != NULL; logs++)
		if (strcmp(*logs, log) != 0 && strcmp(plog_name(*logs), plog_name(log)) == 0)
			return log;
	return plog_name(log);
}

int
main(int argc, char *argv[])
{
	char dash[] = "-", *in[] = { dash, NULL };
	struct plog_opt o = { .figures = PLOT_ALL };
	struct logs logs = { .rates = { 0 } };
	struct table profile = { 0 };
	char title[256];

	front_init(argv[0], plog_usage, plog_help);
	front_options(&argc, &argv, FRONT_ANYWHERE, option_table, &o);
	if (o.follow && (o.compare || o.machines || o.form != TABLE_TEXT))
		front_wrong("-f: only with text, and not with --compare or --machines");
	if (o.figures_given && !o.plot && !o.html && !o.png && !o.svg)
		front_wrong("--figures: only with --plot, --png, --svg or --html");
	if (o.plot && o.form_given && o.form != TABLE_TEXT && o.form != TABLE_MARKDOWN)
		front_wrong("--plot: writes to standard output, as --csv and --format do; use one of them");
	if (o.profile && (o.compare || o.follow || o.by_rank || o.machines || o.plot || o.html || o.png || o.svg ||
	    o.tensorboard))
		front_wrong("--profile: only with --all, --csv and --format");
	if (o.profile)
		profile_columns(&profile);
	check_output("--html", o.html);
	check_output("--png", o.png);
	check_output("--svg", o.svg);
	argv = argv[optind] != NULL ? argv + optind : in;
	make_title(argv, title, sizeof(title));
	if (o.follow)
		plog_follow(&(struct follow_opt){ argv, o.all, o.by_rank, o.plot, o.figures, title }, &logs);
	for (char **log = argv; *log != NULL && !o.follow; log++) {
		if (o.compare)
			curve_begin(&logs.curve, o.tensorboard != NULL ? plog_name(*log) : name_runs(argv, *log));
		if (argv[1] != NULL)
			curve_log(&logs.curve, name_runs(argv, *log));
		read_log(&logs, &o, &profile, *log);
	}
	if (o.profile)
		print_table(&profile, &o);
	else
		write_output(&o, &logs, title);
	curve_free(&logs.curve);
	machine_free(&logs.machines);
	rate_free(&logs.rates);
	spread_free(&logs.spread);
	table_free(&profile);
	return front_status();
}
