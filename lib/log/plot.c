/* plot - draws figures of measurements with gnuplot(1). */
#include "log/plot.h"
#include "log/plot_figure.h"

#include "base/datadir.h"
#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME_COLUMNS	36	/* most of a name beside a line */
#define NAME_TEXT	16	/* the same in a text, and in a narrow picture */
#define PAIRS		8	/* most runs in a picture with both measures */
#define WIDE		900	/* pixels of a picture */
#define HIGH		380	/* fewest pixels of a figure without dots, and of one in a narrow picture */
#define HIGH_NARROW	270
#define TEXT_WIDE	38	/* fewest columns and lines of a figure in text */
#define TEXT_HIGH	10

extern char **environ;

/* The grid of figures in a picture or text.  Sizes are pixels, or columns and lines. */
struct layout {
	enum plot_kind kind;
	unsigned columns, rows;
	unsigned wide, high;		/* size of the whole */
	unsigned panel;			/* height of a figure */
	unsigned top;			/* height of the title */
	size_t	 most;			/* characters of a name */
	size_t	 names;			/* characters beside each figure of a picture; 0: those of the figure */
};

/* gnuplot's strings in single quotes end with their line, and a doubled quote is one. */
static int
put_string(struct buf *out, const char *text, size_t most)
{
	size_t n = strlen(text), cut = n > most ? most / 2 : n, again = n - (most - cut - 2);
	int e = buf_put(out, "'", 1);

	while (cut < n && cut > 0 && (text[cut] & 0xc0) == 0x80)
		cut--;
	while (cut < n && (text[again] & 0xc0) == 0x80)
		again++;
	for (size_t i = 0; i < n && e == 0; i++) {
		if (i == cut) {		/* names of runs differ at either end */
			e = buf_put_fmt(out, "..");
			i = again;
		}
		if (e == 0)
			e = text[i] == '\'' ? buf_put_fmt(out, "''") :
			    buf_put(out, (unsigned char)text[i] < ' ' ? " " : &text[i], 1);
	}
	return e < 0 ? e : buf_put(out, "'", 1);
}

static int
put_points(const struct plot_figure *f, struct buf *out)
{
	ERR_TRY(buf_put_fmt(out, "$data << END\n"));
	for (size_t l = 0; l < f->lines; l++) {
		for (size_t i = f->line[l].first; i < f->line[l].first + f->line[l].n; i++)
			ERR_TRY(buf_put_fmt(out, "%.9g %.9g\n", f->point[i][0], f->point[i][1]));
		ERR_TRY(buf_put_fmt(out, "\n\n"));
	}
	return buf_put_fmt(out, "END\n");
}

/* The lines of a figure as arrays: names, styles, ends and places of names. */
static int
put_lines(const struct plot_figure *f, size_t most, struct buf *out)
{
	static const char *const arrays[] = { "name", "place", "colour", "mark", "dashed", "end_x", "end_y" };
	int e = buf_put_fmt(out, "lines = %zu\n", f->lines);

	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays) && e == 0; i++)
		e = buf_put_fmt(out, "array %s[%zu]\n", arrays[i], f->lines);
	for (size_t l = 0; l < f->lines && e == 0; l++) {
		const struct plot_line *p = &f->line[l];
		const double *end = f->point[p->first + p->n - 1];

		e = buf_put_fmt(out, "i = %zu\nplace[i] = %.4f\ncolour[i] = '#%06x'\nmark[i] = %u\ndashed[i] = %d\n"
		    "end_x[i] = %.9g\nend_y[i] = %.9g\nname[i] = ", l + 1, p->label, p->colour, p->mark, p->dashed,
		    end[0], end[1]);
		e = e < 0 ? e : put_string(out, p->name, most);
		e = e < 0 ? e : buf_put(out, "\n", 1);
	}
	return e;
}

static size_t
find_longest_name(const struct plot_figure *f, size_t most)
{
	size_t longest = 0;

	for (size_t l = 0; l < f->lines; l++)
		if (strlen(f->line[l].name) > longest)
			longest = strlen(f->line[l].name);
	return longest < most ? longest : most;
}

/* Figure number k of the layout. */
static int
put_figure(struct plot_figure *f, const struct layout *a, unsigned k, const char *script, struct buf *out)
{
	/* Lines of text, or of names in a picture, between the axes of a figure. */
	const double inside = a->kind == PLOT_TEXT ? a->panel - 5.0 : (a->panel - 90.0) / 15;

	ERR_TRY(plot_figure_place_names(f, 1 / inside));
	ERR_TRY(buf_put_fmt(out,
	    "k = %u\nxlabel = '%s'\nylabel = '%s'\ndots = %d\nrows = %u\nwhole = %d\nlog_positions = %d\n", k,
	    f->xlabel, f->ylabel, f->dots, f->rows, f->whole, f->log_positions));
	ERR_TRY(buf_put_fmt(out, "logarithmic = %d\nfrom = %.9g\nto = %.9g\nlow = %.9g\nmost = %.9g\n", f->log, f->from,
	    f->to, f->low, f->high));
	ERR_TRY(buf_put_fmt(out, "first = '%s'\nsecond = '%s'\nlongest = %zu\n", f->first != NULL ? f->first : "",
	    f->second != NULL ? f->second : "", a->names > 0 && !f->dots ? a->names : find_longest_name(f, a->most)));
	ERR_TRY(put_lines(f, a->most, out));
	ERR_TRY(put_points(f, out));
	ERR_TRY(buf_put_fmt(out, "load "));
	ERR_TRY(put_string(out, script, PATH_MAX));
	return buf_put(out, "\n", 1);
}

/* The least height of a figure, in lines of text or pixels. */
static unsigned
count_needed_height(const struct plot_figure *f, enum plot_kind kind, bool narrow)
{
	unsigned names = (unsigned)(f->first != NULL ? f->lines / 2 : f->lines), high = 100 + 15 * names, least;

	if (kind == PLOT_TEXT && !f->dots)
		return names + 5 > TEXT_HIGH ? names + 5 : TEXT_HIGH;
	if (kind == PLOT_TEXT)
		return f->rows + 5;
	if (f->dots)
		return 100 + 20 * f->rows;
	least = narrow ? HIGH_NARROW : HIGH;
	return high > least ? high : least;
}

/*
 * All figures have the height of the one that needs the most, and in a picture the same width between their axes'
 * ends.  They stand below each other in a picture.  In a text, as
 * many as fit stand in a grid.
 */
static struct layout
choose_layout(const struct plot_figure *f, unsigned n, const struct plot_opt *opt)
{
	const bool narrow = opt->kind != PLOT_TEXT && opt->wide > 0 && opt->wide < WIDE;
	struct layout a = { .kind = opt->kind, .columns = 1, .rows = n, .wide = opt->wide > 0 ? opt->wide : WIDE,
		.top = opt->title[0] != 0 ? 40 : 10,
		.most = opt->kind == PLOT_TEXT || narrow ? NAME_TEXT : NAME_COLUMNS };

	for (unsigned i = 0; i < n; i++) {
		unsigned high = count_needed_height(&f[i], opt->kind, narrow);
		size_t names = 0;

		a.panel = high > a.panel ? high : a.panel;
		if (opt->kind != PLOT_TEXT && !f[i].dots)
			names = find_longest_name(&f[i], a.most);
		a.names = names > a.names ? names : a.names;
	}
	if (opt->kind == PLOT_TEXT) {
		a.top = 1;
		a.high = opt->high;
		while (n > a.columns && a.columns < opt->wide / TEXT_WIDE)
			a.columns++;
		a.rows = (n + a.columns - 1) / a.columns;
		while (a.rows > 1 && (opt->high - a.top) / a.rows < a.panel)
			a.rows--;
		a.panel = (opt->high - a.top) / a.rows;
		return a;
	}
	a.high = a.top + a.panel * n;
	return a;
}

/* Makes a file without a name that holds p[0..n). */
static int
make_memory_file(const void *p, size_t n)
{
	int fd = memfd_create("plot", MFD_CLOEXEC);

	if (fd >= 0 && (io_write(fd, p, n) < 0 || lseek(fd, 0, SEEK_SET) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Fails with the first line that gnuplot wrote. */
static int
report_gnuplot_error(int fd)
{
	char text[512];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	char *p = text;

	text[n > 0 ? n : 0] = 0;
	p += strspn(p, " \n\t^");
	p[strcspn(p, "\n")] = 0;
	return err_fail(ERR_SYS, "gnuplot: %s", *p != 0 ? p : "failed");
}

/* Runs gnuplot on the commands in `in`.  The picture goes to out, messages to err. */
static int
run_gnuplot(int in, int out, int err)
{
	char *argv[] = { (char[]){ "gnuplot" }, (char[]){ "-" }, NULL };
	posix_spawn_file_actions_t to;
	int e, status = 0;
	pid_t pid;

	if (posix_spawn_file_actions_init(&to) != 0)
		return err_nomem();
	posix_spawn_file_actions_adddup2(&to, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&to, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&to, err, STDERR_FILENO);
	e = posix_spawnp(&pid, argv[0], &to, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&to);
	if ((errno = e) != 0)
		return err_sys("gnuplot");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys("wait for gnuplot");
	return status == 0 ? 0 : report_gnuplot_error(err);
}

/* Appends the contents of a file. */
static int
append_file(int fd, struct buf *out)
{
	off_t n = lseek(fd, 0, SEEK_END);

	if (n < 0)
		return err_sys("a temporary file");
	ERR_TRY(buf_room(out, (size_t)n));
	ERR_TRY(io_pread(fd, out->p + out->n, (size_t)n, 0));
	out->n += (size_t)n;
	return 0;
}

/* Runs gnuplot on commands, and appends the picture. */
static int
draw_commands(const struct buf *commands, struct buf *out)
{
	int fd[3] = { make_memory_file(commands->p, commands->n), make_memory_file("", 0), make_memory_file("", 0) };
	int e = fd[0] < 0 || fd[1] < 0 || fd[2] < 0 ? err_sys("a temporary file") : run_gnuplot(fd[0], fd[1], fd[2]);

	e = e < 0 ? e : append_file(fd[1], out);
	for (int i = 0; i < 3; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return e;
}

/* Writes the commands that draw n figures, or those of them that fit. */
static int
write_commands(struct plot_figure *f, unsigned n, const struct plot_opt *opt, unsigned *omitted, struct buf *out)
{
	static const char *const kinds[] = { [PLOT_PNG] = "png", [PLOT_SVG] = "svg", [PLOT_TEXT] = "text" };
	struct layout a = choose_layout(f, n, opt);
	unsigned drawn = n < a.columns * a.rows ? n : a.columns * a.rows;
	char script[PATH_MAX];
	int e = datadir_find("plot/epochs.gp", script);

	if (omitted != NULL)
		*omitted = n - drawn;
	e = e < 0 ? e : buf_put_fmt(out, "kind = '%s'\nwide = %u\nhigh = %u\npanel = %u\ntop = %u\ncolumns = %u\n"
	    "title = ", kinds[opt->kind], a.wide, a.high, a.panel, a.top, a.columns);
	e = e < 0 ? e : put_string(out, opt->title, 80);
	e = e < 0 ? e : buf_put(out, "\n", 1);
	for (unsigned k = 0; k < drawn && e == 0; k++)
		e = put_figure(&f[k], &a, k, script, out);
	return e < 0 ? e : buf_put_fmt(out, "unset multiplot\n");
}

int
plot_draw(const struct curve_rows *rows, const struct rate_list *rates, const struct plot_opt *opt, struct buf *out,
    unsigned *omitted)
{
	struct plot_figure f[PLOT_FIGURE_KINDS];
	struct buf commands = { 0 };
	size_t before = out->n;
	unsigned n = 0;
	int e = 0;

	for (unsigned i = 0; i < PLOT_FIGURE_KINDS && e == 0; i++) {
		if ((opt->figures & 1u << i) == 0)
			continue;
		e = plot_figure_make(i, rows, rates, opt->spread, opt->kind == PLOT_TEXT ? 1 : PAIRS, &f[n]);
		if (e < 0 || f[n].lines == 0)
			plot_figure_free(&f[n]);
		else
			n++;
	}
	if (e == 0)
		e = n == 0 ? err_fail(ERR_ITEM, "nothing to draw") : write_commands(f, n, opt, omitted, &commands);
	e = e < 0 ? e : draw_commands(&commands, out);
	if (e == 0 && out->n > before && out->p[before] == '\f')	/* text begins with a form feed */
		memmove(out->p + before, out->p + before + 1, --out->n - before);
	for (unsigned i = 0; i < n; i++)
		plot_figure_free(&f[i]);
	buf_free(&commands);
	return e;
}

int
plot_file(const struct curve_rows *rows, const struct rate_list *rates, const struct plot_opt *opt, const char *path)
{
	struct buf picture = { 0 };
	int e;

	if ((e = plot_draw(rows, rates, opt, &picture, NULL)) == 0)
		e = io_replace(path, picture.p, picture.n);
	buf_free(&picture);
	return e;
}
