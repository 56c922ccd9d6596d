/* plot - figures by epoch into a picture. */
#include "log/plot.h"

#include "base/err.h"
#include "base/io.h"
#include "base/datadir.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const struct {
	const char *name;
	enum logline_measure measure[2];
} figure[] = {
#define FIGURE(name, a, b) { name, { a, b } },
	PLOT_FIGURES(FIGURE)
#undef FIGURE
};
#define FIGURE_COUNT	(sizeof(figure) / sizeof(*figure))

unsigned
plot_figures(const char *names)
{
	unsigned set = 0;
	size_t i, n;

	for (;; names += n + 1) {
		n = strcspn(names, ",");
		for (i = 0; i < FIGURE_COUNT; i++)
			if (strlen(figure[i].name) == n && strncmp(names, figure[i].name, n) == 0)
				break;
		if (i == FIGURE_COUNT)
			return 0;
		set |= 1u << i;
		if (names[n] == 0)
			return set;
	}
}

/* What is about a whole run has no place. */
static bool
is_placed(const struct curve_row *r)
{
	return r->at != LOGLINE_WHOLE;
}

static int
write_data(const struct curve_rows *rows, struct buf *out)
{
	int e = buf_put_fmt(out, "$data << END\n");

	for (size_t i = 0; i < rows->n && e == 0; i++) {
		const struct curve_row *r = &rows->row[i];

		if (i > 0 && r->run != r[-1].run)
			e = buf_put_fmt(out, "\n\n");
		e = e < 0 ? e : is_placed(r) ? buf_put_fmt(out, "%llu", (unsigned long long)r->at) :
		    buf_put_fmt(out, "NaN");
		for (int m = 0; m < LOGLINE_MEASURES && e == 0; m++)
			e = r->has[m] && isfinite(r->value[m]) ? buf_put_fmt(out, " %.9g", r->value[m]) :
			    buf_put_fmt(out, " NaN");
		e = e < 0 ? e : buf_put(out, "\n", 1);
	}
	return e < 0 ? e : buf_put_fmt(out, "END\n");
}

/*
 * gnuplot's strings in single quotes know one escape: a quote is doubled.  They end with their line, and a log's name
 * may have lines: what stood in the next one would be commands.
 */
static int
write_titles(const struct curve_rows *rows, struct buf *out)
{
	char name[LOGLINE_LABEL];
	int e = buf_put_fmt(out, "array title[%u]\n", rows->runs);

	for (uint32_t run = 0; run < rows->runs && e == 0; run++) {
		curve_name(rows, run, name);
		e = buf_put_fmt(out, "title[%u] = '", run + 1);
		for (const char *p = name; *p != 0 && e == 0; p++)
			e = *p == '\'' ? buf_put_fmt(out, "''") : buf_put(out, (unsigned char)*p < ' ' ? " " : p, 1);
		e = e < 0 ? e : buf_put_fmt(out, "'\n");
	}
	return e;
}

/* An unnamed file that holds p[0..n), read from its start. */
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

/* gnuplot's first words on the matter, for the line that says that it failed. */
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

/* Runs gnuplot on what in holds, then on script; the picture goes to out, complaints to err. */
static int
run_gnuplot(int in, char *script, int out, int err)
{
	char *argv[] = { (char[]){ "gnuplot" }, (char[]){ "-" }, script, NULL };
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

/* Which figures of a set have data. */
static unsigned
select_figures_with_data(const struct curve_rows *rows, unsigned set)
{
	unsigned have = 0;

	for (size_t i = 0; i < rows->n; i++)
		for (size_t f = 0; f < FIGURE_COUNT; f++)
			for (int k = 0; k < 2; k++) {
				int m = figure[f].measure[k];

				if (is_placed(&rows->row[i]) && rows->row[i].has[m] && isfinite(rows->row[i].value[m]))
					have |= 1u << f;
			}
	return have & set;
}

/* Whether no run has two places: then there is no line to draw. */
static bool
is_single(const struct curve_rows *rows)
{
	for (size_t i = 0, last = SIZE_MAX; i < rows->n; i++) {
		if (!is_placed(&rows->row[i]))
			continue;
		if (last < i && rows->row[last].run == rows->row[i].run)
			return false;
		last = i;
	}
	return true;
}

/* The columns of $data that have a number, from 1. */
static int
write_columns_with_data(const struct curve_rows *rows, struct buf *text)
{
	int e = buf_put_fmt(text, "have = ' ");

	for (int m = 0; m < LOGLINE_MEASURES && e == 0; m++)
		for (size_t i = 0; i < rows->n; i++)
			if (rows->row[i].has[m] && isfinite(rows->row[i].value[m])) {
				e = buf_put_fmt(text, "%d ", m + 2);
				break;
			}
	return e < 0 ? e : buf_put_fmt(text, "'\n");
}

/* The runs that have a place, from 0. */
static int
write_shown_runs(const struct curve_rows *rows, struct buf *text)
{
	uint32_t last = UINT32_MAX;
	int e = buf_put_fmt(text, "shown = '");

	for (size_t i = 0; i < rows->n && e == 0; i++)
		if (is_placed(&rows->row[i]) && rows->row[i].run != last)
			e = buf_put_fmt(text, "%u ", last = rows->row[i].run);
	return e < 0 ? e : buf_put_fmt(text, "'\n");
}

static int
write_script(const struct curve_rows *rows, enum plot_kind kind, unsigned figures, unsigned wide, struct buf *text)
{
	static const char *const kinds[] = { [PLOT_PNG] = "png", [PLOT_SVG] = "svg", [PLOT_TEXT] = "text" };
	bool by_step = false, validated = false;
	int e;

	for (size_t i = 0; i < rows->n; i++) {
		by_step |= rows->row[i].by_step;
		validated |= rows->row[i].has[LOGLINE_VAL_SECONDS];
	}
	e = buf_put_fmt(text, "kind = '%s'\nwide = %u\nruns = %u\nby = '%s'\nsingle = %d\nvalidated = %d\n",
	    kinds[kind], wide,
	    rows->runs, by_step ? "step" : "epoch", is_single(rows), validated);
	e = e < 0 ? e : write_columns_with_data(rows, text);
	e = e < 0 ? e : write_shown_runs(rows, text);
	e = e < 0 ? e : buf_put_fmt(text, "figures = '");

	for (size_t f = 0; f < FIGURE_COUNT && e == 0; f++)
		if ((figures & 1u << f) != 0)
			e = buf_put_fmt(text, "%s ", figure[f].name);
	e = e < 0 ? e : buf_put_fmt(text, "'\n");
	e = e < 0 ? e : write_titles(rows, text);
	return e < 0 ? e : write_data(rows, text);
}

/* Appends all that a file holds. */
static int
append_file(int fd, struct buf *out)
{
	off_t n = lseek(fd, 0, SEEK_END);
	int e;

	if (n < 0)
		return err_sys("a temporary file");
	if ((e = buf_room(out, (size_t)n)) < 0 || (e = io_pread(fd, out->p + out->n, (size_t)n, 0)) < 0)
		return e;
	out->n += (size_t)n;
	return 0;
}

int
plot_draw(const struct curve_rows *rows, enum plot_kind kind, unsigned figures, unsigned wide, struct buf *out)
{
	struct buf text = { 0 };
	char script[PATH_MAX];
	int e, fd[3] = { -1, -1, -1 };

	if ((figures = select_figures_with_data(rows, figures)) == 0)
		return err_fail(ERR_ITEM, "nothing to draw");
	if ((e = datadir_find("plot/epochs.gp", script)) < 0)
		return e;
	e = write_script(rows, kind, figures, wide, &text);
	if (e == 0 && ((fd[0] = make_memory_file(text.p, text.n)) < 0 || (fd[1] = make_memory_file("", 0)) < 0 ||
	    (fd[2] = make_memory_file("", 0)) < 0))
		e = err_sys("a temporary file");
	if (e == 0 && (e = run_gnuplot(fd[0], script, fd[1], fd[2])) == 0)
		e = append_file(fd[1], out);
	for (int i = 0; i < 3; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	buf_free(&text);
	return e;
}

int
plot_file(const struct curve_rows *rows, enum plot_kind kind, unsigned figures, const char *path)
{
	struct buf picture = { 0 };
	struct io_new f;
	int e;

	if ((e = io_create(&f, path)) < 0)
		return e;
	if ((e = plot_draw(rows, kind, figures, 0, &picture)) == 0 && (e = io_write(f.fd, picture.p, picture.n)) == 0)
		e = io_commit(&f);
	else
		io_abandon(&f);
	buf_free(&picture);
	return e;
}
