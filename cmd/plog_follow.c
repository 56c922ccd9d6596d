/* plog_follow - logs that still grow: what is new in them, and its table line by line. */
#include "front.h"
#include "front_progress.h"
#include "plog_follow.h"

#include "base/err.h"
#include "log/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE	65536u	/* bytes that are read as one line at most */
#define LOGS	1024	/* most logs at once */
#define WAIT_MS	1000	/* where a file system does not tell of what others write, it is looked after so often */
#define NARROW	40	/* columns in which nothing can be drawn */

struct grower {
	const char *path;
	int	 fd;		/* -1 when it has ended */
	bool	 pipe;		/* its end is its end */
	struct buf part;	/* of a line that has not ended */
	unsigned long long line;
	unsigned started, ends;	/* workers that begin and end in it */
};

struct view {
	const struct follow_opt *o;
	struct curve *curve;
	struct machine_list *machines;
	struct grower log[LOGS];
	size_t	 logs;
	int	 notes;		/* of inotify(7) */
	struct buf table;	/* as it was printed last */
	bool	 terminal;
};

int
plog_line(struct curve *c, struct machine_list *m, const char *path, const char *line)
{
	int e = machine_take(m, line);

	if (e == 0)
		e = curve_take(c, line);
	if (e == ERR_NOMEM || (e == ERR_LIMIT && c->n == CURVE_MOST))
		front_die(path, e);
	return e;
}

const char *
plog_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != 0 ? slash + 1 : path;
}

unsigned
plog_wide(void)
{
	unsigned wide = progress_wide(STDOUT_FILENO);

	return wide >= NARROW ? wide : 80;
}

/* The whole lines among what was read; the rest waits for its end. */
static void
read_new_lines(struct view *v, struct grower *g)
{
	char *p = (char *)g->part.p, *end = p + g->part.n, *nl;
	unsigned started = v->machines->started, ends = v->curve->ends;
	int e;

	while (p < end && ((nl = memchr(p, '\n', (size_t)(end - p))) != NULL || end - p >= LINE)) {
		if (nl == NULL)
			nl = p + LINE - 1;
		*nl = 0;
		g->line++;
		if ((e = plog_line(v->curve, v->machines, g->path, p)) < 0) {
			err_within("line %llu", g->line);
			front_warn(g->path, e);
		}
		p = nl + 1;
	}
	g->part.n = (size_t)(end - p);
	if (g->part.n > 0)
		memmove(g->part.p, p, g->part.n);
	g->started += v->machines->started - started;
	g->ends += v->curve->ends - ends;
}

/*
 * The end is reached: of a file that was cut off since, or whose name is another one's by now?
 * Then all of it is new.
 */
static bool
begins_again(struct view *v, struct grower *g)
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
	v->machines->started -= g->started;
	v->curve->ends -= g->ends;
	g->started = g->ends = 0;
	g->part.n = 0;
	g->line = 0;
	curve_begin(v->curve, v->o->compare ? plog_name(g->path) : "");
	return true;
}

/* All that is there now.  True when anything was. */
static bool
read_until_end(struct view *v, struct grower *g)
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
		if (n == 0 && !g->pipe && begins_again(v, g))
			continue;
		if (n == 0 && g->pipe) {
			if (g->fd != STDIN_FILENO)
				close(g->fd);
			g->fd = -1;
		}
		if (n <= 0)
			break;
		g->part.n += (size_t)n;
		any = true;
		if (v->o->compare && v->logs > 1)
			curve_begin(v->curve, plog_name(g->path));
		read_new_lines(v, g);
		if (g->pipe)
			break;	/* another read would block */
	}
	return any;
}

/* Epochs that are over: a later one has begun, or all has ended. */
static void
drop_unfinished_rows(const struct curve *c, struct curve_rows *rows, bool ended)
{
	while (!ended && rows->n > 0 && rows->row[rows->n - 1].run == c->run && rows->row[rows->n - 1].at >= c->highest)
		rows->n--;
}

/*
 * The whole table again from the screen's top, on a terminal; else the lines that are new, or all
 * when columns changed.
 */
static void
show_new_rows(struct view *v, bool ended)
{
	struct table t = { 0 };
	struct curve_rows rows;
	struct buf text = { 0 };
	int e;

	if ((e = curve_rows(v->curve, v->o->by_rank, &rows)) < 0)
		front_die(NULL, e);
	if (!v->terminal)
		drop_unfinished_rows(v->curve, &rows, ended);
	e = rows.n > 0 ? curve_table(&rows, v->o->by_rank, &t) : 0;
	if (e == 0 && rows.n > 0)
		e = table_put(&t, TABLE_TEXT, &text);
	if (e == 0 && v->terminal && v->o->plot && rows.n > 0 && !v->o->by_rank)
		e = plot_draw(&rows, PLOT_TEXT, v->o->figures, plog_wide(), &text);
	if ((e < 0 && e != ERR_ITEM) || (e = buf_terminate(&text)) < 0)
		front_die(NULL, e);
	if (v->terminal)
		printf("\033[H\033[2J%.*s", (int)text.n, (const char *)text.p);
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
		struct grower *g = &v->log[v->logs];
		bool in = strcmp(*p, "-") == 0;
		struct stat st;

		if (v->logs == LOGS)
			front_wrong("more than %d logs", LOGS);
		*g = (struct grower){ .path = *p, .fd = in ? STDIN_FILENO : open(*p, O_RDONLY | O_CLOEXEC) };
		if (g->fd < 0 || fstat(g->fd, &st) < 0)
			front_die(*p, err_sys("open"));
		g->pipe = in || S_ISFIFO(st.st_mode);
		if (!g->pipe)
			inotify_add_watch(v->notes, *p, IN_MODIFY);
		v->logs++;
	}
}

/* Until something may have come.  True when it has. */
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
	/* A pipe that has nothing must not be read. */
	for (size_t i = 0; i < v->logs; i++)
		if (v->log[i].fd >= 0 && (!v->log[i].pipe || p[i].revents != 0))
			any |= read_until_end(v, &v->log[i]);
	return any;
}

static bool
have_all_ended(const struct view *v)
{
	bool open = false;

	for (size_t i = 0; i < v->logs; i++)
		open |= v->log[i].fd >= 0;
	return !open || (v->machines->started > 0 && v->curve->ends >= v->machines->started);
}

void
follow(const struct follow_opt *o, struct curve *c, struct machine_list *m)
{
	struct view *v = calloc(1, sizeof(*v));
	bool any = true;

	if (v == NULL)
		front_die(NULL, err_nomem());
	if ((v->notes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) < 0)
		front_die(NULL, err_sys("inotify"));
	v->o = o;
	v->curve = c;
	v->machines = m;
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
	}
	buf_free(&v->table);
	close(v->notes);
	free(v);
}
