/* progress - draws a line of progress for each worker, below the scrolling output. */
#include "dlaunch/dlaunch.h"
#include "front.h"
#include "front_progress.h"

#include "base/clk.h"
#include "base/err.h"
#include "log/logline.h"
#include "log/tsv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE	1024	/* longer lines are not parsed */

/* The progress of one worker, read from its log.  A value that is not known is 0, NAN or LOGLINE_WHOLE. */
struct state {
	uint64_t epochs, epoch_steps, steps;	/* length of the whole run, from the comment at the log's head */
	uint64_t at;				/* the epoch, or the step if by_step */
	bool	 by_step, known;
	uint64_t step, first_step;		/* the last and the first step seen */
	double	 first_s;			/* when first_step was seen */
	double	 speed, loss;
};

struct dlaunch_watch {
	const struct hosts *hosts;
	const struct roster *roster;
	struct state *state;		/* [roster->n] */
	bool	 same;			/* standard output is a terminal too, perhaps the same one */
};

static uint64_t
parse_key_number(const char *line, const char *key)
{
	const char *p = strstr(line, key);

	return p != NULL ? strtoull(p + strlen(key), NULL, 10) : 0;
}

static void
read_log_line(struct state *s, const char *line)
{
	struct logline l;
	struct tsv_row r;

	if (strncmp(line, "# tally ", 8) == 0) {
		s->epochs = parse_key_number(line, " epochs=");
		s->epoch_steps = parse_key_number(line, " epoch_steps=");
		s->steps = parse_key_number(line, " steps=");
		return;
	}
	if (logline_parse(line, &l) <= 0)
		return;
	if (l.at != LOGLINE_WHOLE) {
		s->at = l.at;
		s->by_step = l.by_step;
		s->known = true;
	}
	if (l.has[LOGLINE_SPEED])
		s->speed = l.value[LOGLINE_SPEED];
	if (l.has[LOGLINE_TRAIN_LOSS])
		s->loss = l.value[LOGLINE_TRAIN_LOSS];
	if (tsv_parse(line, &r) <= 0 || r.event != TSV_STEP)
		return;
	s->at = r.epoch;
	s->by_step = false;
	s->known = true;
	s->step = r.step;
	s->loss = r.loss;
	s->speed = r.samples_per_s;
	if (s->first_s == 0) {
		s->first_step = r.step;
		s->first_s = clk_s();
	}
}

static void
handle_lines(void *arg, const struct member *m, bool out, const char *text, size_t n)
{
	struct dlaunch_watch *w = arg;
	struct state *s = &w->state[m - w->roster->m];
	const char *end = text + n, *nl;
	char line[LINE];

	(void)out;
	if (m->child.role != JOB_WORKER)
		return;
	for (; text < end && (nl = memchr(text, '\n', (size_t)(end - text))) != NULL; text = nl + 1)
		if (nl - text < LINE) {
			memcpy(line, text, (size_t)(nl - text));
			line[nl - text] = 0;
			read_log_line(s, line);
		}
}

bool
dlaunch_is_row(const char *line, size_t n, bool *log)
{
	static const char head[] = "time_s\t", first[] = "# tally ";
	struct tsv_row r;
	char text[LINE];

	*log |= n >= sizeof(first) - 1 && memcmp(line, first, sizeof(first) - 1) == 0;
	if (n > 1 && memcmp(line, "# ", 2) == 0)
		return *log;
	if (n >= sizeof(text))
		return false;
	memcpy(text, line, n);
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return strncmp(text, head, sizeof(head) - 1) == 0 || tsv_parse(text, &r) > 0;
}

static bool
shows_line(void *arg, const char *line, size_t n)
{
	bool log = true;

	(void)arg;
	return !dlaunch_is_row(line, n, &log);
}

static void
add_worker_state(struct progress_line *l, const struct state *s)
{
	uint64_t all = s->epochs * s->epoch_steps;
	double ran = clk_s() - s->first_s;

	if (all == 0 || (s->steps > 0 && s->steps < all))
		all = s->steps;
	if (!s->known)
		progress_add(l, ": runs");
	else if (s->by_step)
		progress_add(l, ": step %" PRIu64, s->at);
	else if (s->epochs > 0 && s->epoch_steps > 0)
		progress_add(l, ": epoch %" PRIu64 "/%" PRIu64, s->at + 1, s->epochs);
	else
		progress_add(l, ": epoch %" PRIu64, s->at + 1);
	progress_spare(l, 3);
	if (s->step > 0 && s->epoch_steps > 0)
		progress_add(l, ", batch %" PRIu64 "/%" PRIu64, (s->step - 1) % s->epoch_steps + 1, s->epoch_steps);
	progress_spare(l, 2);
	if (s->speed > 0)
		progress_add(l, ", %.1f samples/s", s->speed);
	progress_spare(l, 4);
	if (s->loss > 0)
		progress_add(l, ", loss %.4f", s->loss);
	progress_spare(l, 5);
	if (s->step > s->first_step && all > s->step && ran > 0.5)
		progress_left(l, ran * (double)(all - s->step) / (double)(s->step - s->first_step));
}

static void
fill_worker_line(const struct dlaunch_watch *w, uint32_t i, struct progress_line *l)
{
	const struct member *m = &w->roster->m[i];
	char name[32], how[64];

	roster_name(m, name);
	*l = (struct progress_line){ .mood = PROGRESS_BUSY };
	progress_add(l, "%s", name);
	progress_spare(l, 1);
	progress_add(l, " on %s", w->hosts->host[m->host].login);
	l->head = (unsigned)strlen(l->text);
	progress_spare(l, 0);
	switch (m->state) {
	case ROSTER_WAITING:
		progress_add(l, ": not started");
		break;
	case ROSTER_RUNNING:
		add_worker_state(l, &w->state[i]);
		break;
	case ROSTER_ENDED:
		l->mood = m->status == 0 ? PROGRESS_GOOD : PROGRESS_BAD;
		roster_end_text(m->status, how);
		progress_add(l, ": %s, after %.1f s", how, m->seconds);
		break;
	case ROSTER_LOST:
		l->mood = PROGRESS_BAD;
		progress_add(l, ": lost with its host");
		break;
	}
}

/* Draws the workers that fit, and the number of the others. */
static void
draw_workers(void *arg)
{
	struct progress_line line[PROGRESS_LINES];
	const struct dlaunch_watch *w = arg;
	unsigned n = 0, room, more = 0;

	if (!progress_due())
		return;
	room = progress_room();
	for (uint32_t i = 0; i < w->roster->n; i++)
		if (w->roster->m[i].child.role == JOB_WORKER && (w->roster->m[i].state != ROSTER_WAITING ||
		    !roster_reserve(w->roster, &w->roster->m[i]))) {
			more += n == room;
			if (n < room)
				fill_worker_line(w, i, &line[n++]);
		}
	if (more > 0) {
		line[n - 1] = (struct progress_line){ .text = "" };
		progress_add(&line[n - 1], "and %u more workers", more + 1);
	}
	progress_draw(line, n);
}

static void
hide_workers(void *arg, bool err)
{
	const struct dlaunch_watch *w = arg;

	if (err || w->same)
		progress_clear();
}

struct launch_watch
dlaunch_watch(const struct hosts *h, const struct roster *r, bool console)
{
	bool (*shows)(void *, const char *, size_t) = console ? shows_line : NULL;
	struct dlaunch_watch *w;

	progress_start(PROGRESS_SILENT);
	if (!progress_draws())
		return (struct launch_watch){ .shows = shows };
	w = calloc(1, sizeof(*w));
	if (w == NULL || (w->state = calloc(r->n, sizeof(*w->state))) == NULL)
		front_die(NULL, err_nomem());
	w->hosts = h;
	w->roster = r;
	w->same = isatty(STDOUT_FILENO);
	return (struct launch_watch){ w, handle_lines, shows, hide_workers, draw_workers };
}

void
dlaunch_watch_end(struct launch_watch *l)
{
	struct dlaunch_watch *w = l->arg;

	progress_clear();
	if (w != NULL)
		free(w->state);
	free(w);
}
