/*
 * front_progress - shows the progress of long work in lines at the bottom of a terminal, which it redraws in place.
 *
 * It draws if standard error is a terminal that can move its cursor: TERM is set and not "dumb".  Elsewhere it prints
 * the first line alone, as an ordinary line, after 2 s, 4 s, 8 s and so on, then every minute.  If a line is too wide
 * for the terminal, it omits the parts that can be spared, and truncates the rest.  It colours the head of a line
 * unless NO_COLOR (https://no-color.org) is set and not empty.
 *
 * A process has one progress display.  The messages of cmd/front.h clear it.  Threads: all calls from one.
 */
#ifndef CMD_FRONT_PROGRESS_H
#define CMD_FRONT_PROGRESS_H

#include <stdbool.h>

#define PROGRESS_TEXT	256
#define PROGRESS_LINES	64	/* most lines */
#define PROGRESS_PARTS	8	/* most parts of a line */

enum progress_mood { PROGRESS_BUSY, PROGRESS_GOOD, PROGRESS_BAD };

struct progress_line {
	char	 text[PROGRESS_TEXT];
	unsigned head;			/* bytes of the coloured head */
	enum progress_mood mood;
	struct progress_part {
		unsigned from, turn;
	}	 part[PROGRESS_PARTS];	/* progress_spare() fills them in */
	unsigned parts;
};

enum progress_else { PROGRESS_PLAIN, PROGRESS_SILENT };	/* what to do if it cannot draw */

void	 progress_start(enum progress_else otherwise);
/* Whether lines can be drawn.  False before progress_start(). */
bool	 progress_draws(void);
/* Whether it is time to draw or print again. */
bool	 progress_due(void);
/* Returns the lines of the terminal less two, at most PROGRESS_LINES. */
unsigned progress_room(void);
/* n is at most PROGRESS_LINES.  Control bytes in a text become question marks. */
void	 progress_draw(const struct progress_line *line, unsigned n);
/* Removes the lines.  Call this before writing anything else to the terminal. */
void	 progress_clear(void);

/* Append text as far as it fits; progress_left() appends ", 5 min left" and the like. */
void	 progress_add(struct progress_line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void	 progress_left(struct progress_line *l, double seconds);
/*
 * Begins a part of the line, up to the next such call.  If the line is too wide, it omits the parts of turn 1, then
 * those of turn 2 and so on.  Parts of turn 0 stay.
 */
void	 progress_spare(struct progress_line *l, unsigned turn);
/* The columns of the terminal at descriptor fd, 80 if that is no terminal. */
unsigned progress_wide(int fd);

#endif
