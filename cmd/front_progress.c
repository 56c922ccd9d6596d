/* front_progress - the progress of long work: lines at the bottom of a terminal, which are redrawn in place. */
#include "front_progress.h"
#include "front.h"

#include "base/clk.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define AGAIN_S	0.25	/* time between two drawings */
#define FIRST_S	2.0	/* time before the first plain line */
#define MOST_S	60.0	/* most time between two plain lines */

static struct {
	bool	 draws, prints, colour;
	double	 began_s, next_s;
	unsigned drawn;				/* lines on the terminal */
	unsigned width[PROGRESS_LINES];		/* columns of each */
} at;

void
progress_start(enum progress_else otherwise)
{
	const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");

	at.draws = isatty(STDERR_FILENO) && term != NULL && *term != 0 && strcmp(term, "dumb") != 0;
	at.prints = !at.draws && otherwise == PROGRESS_PLAIN;
	at.colour = at.draws && (plain == NULL || *plain == 0);
	at.began_s = clk_s();
	at.next_s = at.began_s + (at.draws ? 0 : FIRST_S);
}

bool
progress_draws(void)
{
	return at.draws;
}

bool
progress_due(void)
{
	return (at.draws || at.prints) && clk_s() >= at.next_s;
}

unsigned
progress_wide(int fd)
{
	struct winsize w = { 0 };

	return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}

unsigned
progress_room(void)
{
	struct winsize w = { 0 };
	unsigned rows = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 ? w.ws_row : 24;

	return rows < 4 ? 1 : rows - 2 < PROGRESS_LINES ? rows - 2 : PROGRESS_LINES;
}

/* The bytes of UTF-8 that fit in so many columns, if each character has one. */
static unsigned
fit_columns(const char *text, unsigned cols, unsigned *width)
{
	unsigned n = 0;

	for (*width = 0; text[n] != 0; n++)
		if (((unsigned char)text[n] & 0xc0) != 0x80 && ++*width > cols) {
			--*width;
			break;
		}
	return n;
}

/* The line without its parts of turns 1 to `turn`. */
static void
drop_parts(const struct progress_line *l, unsigned turn, struct progress_line *out)
{
	unsigned end = (unsigned)strlen(l->text);

	*out = *l;
	for (unsigned i = l->parts; i-- > 0; end = l->part[i].from) {
		unsigned from = l->part[i].from;

		if (l->part[i].turn == 0 || l->part[i].turn > turn)
			continue;
		memmove(out->text + from, out->text + end, strlen(out->text + end) + 1);
		out->head -= from < l->head ? end - from : 0;
	}
}

static void
print_progress_line(const struct progress_line *whole, unsigned i, unsigned cols)
{
	static const char *const colour[] = { [PROGRESS_BUSY] = "1", [PROGRESS_GOOD] = "32", [PROGRESS_BAD] = "31" };
	struct progress_line l = *whole;
	char *text = l.text;
	unsigned n, head;

	for (unsigned turn = 1; turn <= PROGRESS_PARTS && text[fit_columns(text, cols, &n)] != 0; turn++)
		drop_parts(whole, turn, &l);
	for (char *p = text; *p != 0; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	n = fit_columns(text, cols, &at.width[i]);
	head = l.head < n ? l.head : n;
	if (at.colour && head > 0)
		fprintf(stderr, "\033[%sm%.*s\033[0m%.*s", colour[l.mood], (int)head, text, (int)(n - head),
		    text + head);
	else
		fprintf(stderr, "%.*s", (int)n, text);
}

void
progress_draw(const struct progress_line *line, unsigned n)
{
	/* The last column stays free: some terminals go to the next line when it is written. */
	unsigned cols = progress_wide(STDERR_FILENO) - 1;
	double now = clk_s(), gone = now - at.began_s;

	if (at.prints)
		front_say("%s", line->text);
	at.next_s = now + (gone < MOST_S ? gone : MOST_S);
	if (!at.draws)
		return;
	flockfile(stderr);
	progress_clear();
	at.next_s = now + AGAIN_S;
	for (unsigned i = 0; i < n; i++) {
		if (i > 0)
			fputc('\n', stderr);
		print_progress_line(&line[i], i, cols > 0 ? cols : 1);
	}
	at.drawn = n;
	fflush(stderr);
	funlockfile(stderr);
}

/* If the terminal is narrower now, it has broken the lines. */
static void
clear_lines(void)
{
	unsigned cols = progress_wide(STDERR_FILENO), rows = 0;

	for (unsigned i = 0; i < at.drawn; i++)
		rows += at.width[i] > cols ? (at.width[i] + cols - 1) / cols : 1;
	fputc('\r', stderr);
	if (rows > 1)
		fprintf(stderr, "\033[%uA", rows - 1);
	fputs("\033[J", stderr);
	fflush(stderr);
	at.drawn = 0;
	at.next_s = 0;
}

void
progress_clear(void)
{
	flockfile(stderr);
	if (at.drawn > 0)
		clear_lines();
	funlockfile(stderr);
}

void
progress_add(struct progress_line *l, const char *fmt, ...)
{
	size_t n = strlen(l->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->text + n, PROGRESS_TEXT - n, fmt, ap);
	va_end(ap);
}

void
progress_spare(struct progress_line *l, unsigned turn)
{
	assert(l->parts < PROGRESS_PARTS);
	l->part[l->parts++] = (struct progress_part){ (unsigned)strlen(l->text), turn };
}

void
progress_left(struct progress_line *l, double s)
{
	if (s >= 10 * 3600)
		progress_add(l, ", %ld h left", (long)(s / 3600 + 0.5));
	else if (s >= 3600)
		progress_add(l, ", %ld h %02ld min left", (long)(s / 3600), (long)(s / 60) % 60);
	else if (s >= 60)
		progress_add(l, ", %ld min left", (long)(s / 60 + 0.5));
	else
		progress_add(l, ", %ld s left", (long)(s + 0.5));
}
