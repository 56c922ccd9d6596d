/* plog_follow - reads logs while they grow, and shows the table as it grows. */
#include "front.h"
#include "plog_follow.h"

#include "base/err.h"
#include "base/grow.h"
#include "log/plot.h"
#include "log/tsv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE	65536u	/* bytes of the longest line */
#define LOGS	1024	/* most logs at once */
#define WAIT_MS	1000	/* time between looks at files that inotify does not report, as on network file systems */
#define NARROW	40	/* fewest columns of a drawing */

struct followed_log {
	const char *path;
	int	 fd;		/* -1 if it has ended */
	bool	 pipe;		/* it cannot grow after its end */
	struct buf part;	/* start of a line whose end has not arrived */
	unsigned long long line;
	bool	 begun;		/* it has had the head of a worker */
	uint64_t *rank;		/* the workers whose rows have begun and not ended; one started again has two heads */
	size_t	 ranks, ranks_cap;
};

struct view {
	const struct follow_opt *o;
	struct logs *all;
	struct followed_log log[LOGS];
	size_t	 logs;
	int	 notes;		/* descriptor of inotify(7) */
	struct buf table;	/* as printed last */
	bool	 terminal;
};

int
plog_line(struct logs *l, const char *path, const char *line)
{
	int e = machine_add_line(&l->machines, line);

	if (e == 0)
		e = rate_add_line(&l->rates, line);
	if (e == 0)
		e = spread_add_line(&l->spread, plog_name(path), line);
	if (e == 0)
		e = curve_add_line(&l->curve, line);
	if (e == ERR_NOMEM || (e == ERR_LIMIT && l->curve.n == CURVE_MOST))
		front_die(path, e);
	return e;
}

const char *
plog_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (strcmp(path, "-") == 0)
		return "standard input";
	return slash != NULL && slash[1] != 0 ? slash + 1 : path;
}

void
plog_screen(unsigned *wide, unsigned *high)
{
	struct winsize w = { 0 };
	bool terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0;

	*wide = terminal && w.ws_col >= NARROW ? w.ws_col : 80;
	*high = terminal && w.ws_row >= PLOG_LOW ? w.ws_row : 24;
}

/* The position of a rank among those that have not ended, or their number. */
static size_t
find_rank(const struct followed_log *g, uint64_t rank)
{
	size_t i = 0;

	while (i < g->ranks && g->rank[i] != rank)
		i++;
	return i;
}

static void
add_rank(struct followed_log *g, uint64_t rank)
{
	uint64_t *p;

	g->begun = true;
	if (find_rank(g, rank) < g->ranks)
		return;
	if ((p = grow_by_one(g->rank, g->ranks, &g->ranks_cap, sizeof(*p))) == NULL)
		front_die(g->path, ERR_NOMEM);
	g->rank = p;
	g->rank[g->ranks++] = rank;
}

/* Notes which workers have begun and ended. */
static void
note_worker(struct followed_log *g, const char *line)
{
	const char *rank = strstr(line, " rank=");
	struct tsv_row r;
	size_t i;

	if (strncmp(line, "# tally ", 8) == 0 && strstr(line, " tool=pworker ") != NULL && rank != NULL)
		add_rank(g, strtoull(rank + strlen(" rank="), NULL, 10));
	if (strstr(line, "\tend") != NULL && tsv_parse(line, &r) > 0 && r.event == TSV_END && r.role == TSV_WORKER &&
	    (i = find_rank(g, r.rank)) < g->ranks)
		g->rank[i] = g->rank[--g->ranks];
}

/* Adds the complete lines among the bytes read. */
static void
read_new_lines(struct view *v, struct followed_log *g)
{
	char *p = (char *)g->part.p, *end = p + g->part.n, *nl;
	int e;

	while (p < end && ((nl = memchr(p, '\n', (size_t)(end - p))) != NULL || end - p >= LINE)) {
		if (nl == NULL)
			nl = p + LINE - 1;
		*nl = 0;
		g->line++;
		if ((e = plog_line(v->all, g->path, p)) < 0) {
			err_within("line %llu", g->line);
			front_warn(g->path, e);
		}
		note_worker(g, p);
		p = nl + 1;
	}
	g->part.n = (size_t)(end - p);
	if (g->part.n > 0)
		memmove(g->part.p, p, g->part.n);
}

/* At the end of a file: starts again if the file was truncated, or replaced by another of its name. */
static bool
reopen_log(struct view *v, struct followed_log *g)
{
	struct stat old, named;
	int fd = -1;

	if (fstat(g->fd, &old) < 0)
		return false;
	if (stat(g->path, &named) == 0 && (named.st_ino != old.st_ino || named.st_dev != old.st_dev))
		fd = open(g->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		close(g->fd);
		g->fd = fd;
		inotify_add_watch(v->notes, g->path, IN_MODIFY);
	} else if (old.st_size >= lseek(g->fd, 0, SEEK_CUR) || lseek(g->fd, 0, SEEK_SET) < 0) {
		return false;
	}
	front_say("%s: begins again", g->path);
	g->begun = false;
	g->ranks = 0;
	g->part.n = 0;
	g->line = 0;
	curve_begin(&v->all->curve, "");
	return true;
}

/* Reads what a log has now.  Returns whether that was anything. */
static bool
read_until_end(struct view *v, struct followed_log *g)
{
	bool any = false;
	ssize_t n;

	while (g->fd >= 0) {
		if (buf_room(&g->part, LINE) < 0)
			front_die(g->path, err_nomem());
		n = read(g->fd, g->part.p + g->part.n, LINE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			front_die(g->path, err_sys("read"));
		if (n == 0 && !g->pipe && reopen_log(v, g))
			continue;
		if (n == 0 && g->pipe) {
			if (g->fd != STDIN_FILENO)
				close(g->fd);
			g->fd = -1;
			/* Its last line may have no end: this is one. */
			if (g->part.n > 0) {
				g->part.p[g->part.n] = '\n';
				n = 1;
			}
		}
		if (n <= 0)
			break;
		g->part.n += (size_t)n;
		any = true;
		read_new_lines(v, g);
		if (g->pipe)
			break;	/* another read would block */
	}
	return any;
}

/* An epoch is finished when a later one has begun, or all logs have ended. */
static void
drop_unfinished_rows(const struct curve *c, struct curve_rows *rows, bool ended)
{
	while (!ended && rows->n > 0 && rows->row[rows->n - 1].run == c->run && rows->row[rows->n - 1].at >= c->highest)
		rows->n--;
}

/* Drops the oldest lines of a table, but for its head, so that `lines` are left. */
static void
keep_last_lines(struct buf *text, unsigned lines)
{
	uint8_t *head = memchr(text->p, '\n', text->n), *from = text->p + text->n;

	for (unsigned n = 0; from > head + 1; from--)
		if (from[-1] == '\n' && ++n == lines)
			break;
	if (from <= head + 1)
		return;
	memmove(head + 1, from, (size_t)(text->p + text->n - from));
	text->n -= (size_t)(from - head - 1);
}

/* Draws the table again on a terminal, at most a screen of it, and the figures below it. */
static void
draw_screen(struct view *v, const struct curve_rows *rows, struct buf *text)
{
	struct plot_opt opt = { .kind = PLOT_TEXT, .figures = v->o->figures, .title = v->o->title,
	    .spread = &v->all->spread };
	bool plot = v->o->plot && !v->o->by_rank;
	unsigned high;
	int e = 0;

	plog_screen(&opt.wide, &high);
	opt.high = high * 2 / 3;
	keep_last_lines(text, plot ? high - opt.high - 1 : high - 1);
	if (plot)
		e = plot_draw(rows, &v->all->rates, &opt, text, NULL);
	if ((e < 0 && e != ERR_ITEM) || (e = buf_terminate(text)) < 0)
		front_die(NULL, e);
	printf("\033[H\033[2J%.*s", (int)text->n, (const char *)text->p);
}

/* On a terminal draws everything again.  Elsewhere prints the new lines, or all if the columns have changed. */
static void
show_new_rows(struct view *v, bool ended)
{
	struct table t = { 0 };
	struct curve_rows rows;
	struct buf text = { 0 };
	unsigned wide, high;
	int e;

	if ((e = curve_rows(&v->all->curve, v->o->by_rank, &rows)) < 0)
		front_die(NULL, e);
	if (!v->terminal)
		drop_unfinished_rows(&v->all->curve, &rows, ended);
	curve_table(&rows, v->o->by_rank, &t);
	plog_screen(&wide, &high);
	table_fit(&t, v->o->all ? UINT_MAX : wide);
	if ((e = rows.n > 0 ? table_put(&t, TABLE_TEXT, &text) : 0) < 0 || (e = buf_terminate(&text)) < 0)
		front_die(NULL, e);
	if (v->terminal && rows.n > 0)
		draw_screen(v, &rows, &text);
	else if (v->table.n <= text.n && (v->table.n == 0 || memcmp(v->table.p, text.p, v->table.n) == 0))
		fwrite(text.p + v->table.n, 1, text.n - v->table.n, stdout);
	else
		printf("%.*s", (int)text.n, (const char *)text.p);
	front_flush();
	table_free(&t);
	curve_rows_free(&rows);
	buf_free(&v->table);
	v->table = text;
}

static void
open_logs(struct view *v)
{
	for (char *const *p = v->o->path; *p != NULL; p++) {
		struct followed_log *g = &v->log[v->logs];
		bool in = strcmp(*p, "-") == 0;
		struct stat st;

		if (v->logs == LOGS)
			front_wrong("more than %d logs", LOGS);
		*g = (struct followed_log){ .path = *p, .fd = in ? STDIN_FILENO : open(*p, O_RDONLY | O_CLOEXEC) };
		if (g->fd < 0 || fstat(g->fd, &st) < 0)
			front_die(*p, err_sys("open"));
		g->pipe = in || S_ISFIFO(st.st_mode);
		if (!g->pipe)
			inotify_add_watch(v->notes, *p, IN_MODIFY);
		v->logs++;
	}
}

/* Waits until a log may have grown.  Returns whether one has. */
static bool
wait_for_change(struct view *v)
{
	struct pollfd p[LOGS + 1];
	char events[4096];
	bool any = false;

	for (size_t i = 0; i < v->logs; i++)
		p[i] = (struct pollfd){ .fd = v->log[i].pipe ? v->log[i].fd : -1, .events = POLLIN };
	p[v->logs] = (struct pollfd){ .fd = v->notes, .events = POLLIN };
	if (poll(p, v->logs + 1, WAIT_MS) < 0 && errno != EINTR)
		front_die(NULL, err_sys("poll"));
	if (p[v->logs].revents != 0 && read(v->notes, events, sizeof(events)) < 0 && errno != EAGAIN)
		front_die(NULL, err_sys("inotify"));
	/* Reading an empty pipe would block. */
	for (size_t i = 0; i < v->logs; i++)
		if (v->log[i].fd >= 0 && (!v->log[i].pipe || p[i].revents != 0))
			any |= read_until_end(v, &v->log[i]);
	return any;
}

static bool
have_all_ended(const struct view *v)
{
	bool grows = false, begun = false, runs = false;

	for (size_t i = 0; i < v->logs; i++) {
		grows |= v->log[i].fd >= 0;
		begun |= v->log[i].begun;
		runs |= v->log[i].ranks > 0;
	}
	return !grows || (begun && !runs);
}

void
plog_follow(const struct follow_opt *o, struct logs *l)
{
	struct view *v = calloc(1, sizeof(*v));
	bool any = true;

	if (v == NULL)
		front_die(NULL, err_nomem());
	if ((v->notes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) < 0)
		front_die(NULL, err_sys("inotify"));
	v->o = o;
	v->all = l;
	v->terminal = isatty(STDOUT_FILENO);
	open_logs(v);
	for (size_t i = 0; i < v->logs; i++)
		if (!v->log[i].pipe)
			read_until_end(v, &v->log[i]);
	while (!have_all_ended(v)) {
		if (any)
			show_new_rows(v, false);
		any = wait_for_change(v);
	}
	show_new_rows(v, true);
	for (size_t i = 0; i < v->logs; i++) {
		if (v->log[i].fd > STDIN_FILENO)
			close(v->log[i].fd);
		buf_free(&v->log[i].part);
		free(v->log[i].rank);
	}
	buf_free(&v->table);
	close(v->notes);
	free(v);
}
