/*
 * front_progress - how far long work is: lines at the bottom of a terminal, drawn again in their place.
 *
 * Drawn is where standard error is a terminal that can move its cursor: TERM is set and not "dumb".  Elsewhere the
 * first line alone is printed as a line like any other, after 2 s, 4 s, 8 s and so on, then every minute.  A line that
 * is too wide for the terminal loses parts that can be spared, and is cut then.
 * Without NO_COLOR (https://no-color.org: set and not empty) a line's head is coloured.
 *
 * A process has one such place, so there is nothing to pass around; the messages of cmd/front.h clear it themselves.
 * Threads: all calls from one.
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
	unsigned head;			/* bytes at the front that are coloured */
	enum progress_mood mood;
	struct progress_part {
		unsigned from, turn;
	}	 part[PROGRESS_PARTS];	/* progress_spare() fills them in */
	unsigned parts;
};

enum progress_else { PROGRESS_PLAIN, PROGRESS_SILENT };	/* where nothing can be drawn */

void	 progress_start(enum progress_else otherwise);
/* Lines can be drawn; before progress_start() they cannot. */
bool	 progress_draws(void);
/* Is it time to draw again, or to print? */
bool	 progress_due(void);
/* The most lines that the terminal has room for, with two to spare; at most PROGRESS_LINES. */
unsigned progress_room(void);
/* n is at most PROGRESS_LINES.  Control bytes in a text become question marks. */
void	 progress_draw(const struct progress_line *line, unsigned n);
/* Before anything else is written to the terminal; without effect where nothing is drawn. */
void	 progress_clear(void);

/* Append to a line's text what fits; ", 5 min left" and the like. */
void	 progress_add(struct progress_line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void	 progress_left(struct progress_line *l, double seconds);
/*
 * What is appended from here on, up to the next such call, is a part that goes where the line is too wide, those of
 * turn 1 before those of turn 2 and so on; of turn 0 never.
 */
void	 progress_spare(struct progress_line *l, unsigned turn);
/* Columns of a terminal, 80 where descriptor fd is none. */
unsigned progress_wide(int fd);

#endif
