/* console - shows the events of training on a terminal: lines for people, and one line of progress. */
#include "pworker/log.h"
#include "front.h"
#include "front_progress.h"

#include "base/clk.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define LARGE		1e6	/* losses from which on digits after the point say nothing */
#define TOP5_CLASSES	50	/* least classes of a net whose top-5 accuracy says something */

uint64_t
pworker_log_epochs(const struct pworker_log *l)
{
	return l->epoch_steps > 0 && l->epochs < UINT32_MAX ? l->epochs : 0;
}

uint64_t
pworker_log_steps(const struct pworker_log *l)
{
	uint64_t n = pworker_log_epochs(l) * l->epoch_steps;

	return n == 0 || (l->steps > 0 && l->steps < n) ? l->steps : n;
}

static void
draw_training_progress(struct pworker_log *l, const struct train_event *ev)
{
	struct progress_line line = { 0 };
	double ran = clk_s() - l->first_s;
	uint64_t all = pworker_log_steps(l);

	progress_add(&line, "epoch %" PRIu64, ev->epoch + 1);
	if (pworker_log_epochs(l) > 0)
		progress_add(&line, "/%" PRIu64, l->epochs);
	line.head = (unsigned)strlen(line.text);
	/* On a narrow line, loss and time left are worth more than the speed. */
	progress_spare(&line, 2);
	progress_add(&line, ", batch %" PRIu64, ev->batch + 1);
	if (l->epoch_steps > 0)
		progress_add(&line, "/%" PRIu64, l->epoch_steps);
	progress_spare(&line, 1);
	progress_add(&line, ", %.1f samples/s", l->shown_samples / l->shown_seconds);
	progress_spare(&line, 3);
	progress_add(&line, ev->loss < LARGE ? ", loss %.4f" : ", loss %.4g", ev->loss);
	progress_spare(&line, 4);
	/* The time so far includes validations and checkpoints. */
	if (all > ev->step && ev->step > l->first_step && ran > 0.5)
		progress_left(&line, ran * (double)(all - ev->step) / (double)(ev->step - l->first_step));
	progress_draw(&line, 1);
	l->shown_samples = l->shown_seconds = 0;
}

void
pworker_log_progress(struct pworker_log *l, const struct train_event *ev)
{
	switch (ev->kind) {
	case TRAIN_START:
		l->epoch_steps = ev->batch;
		l->first_step = ev->step;
		l->first_s = clk_s();
		progress_start(PROGRESS_SILENT);
		break;
	case TRAIN_STEP:
		l->shown_samples += (double)ev->samples;
		l->shown_seconds += ev->seconds;
		if (ev->samples > 0 && l->shown_seconds > 0 && progress_due())
			draw_training_progress(l, ev);
		break;
	case TRAIN_END:
		progress_clear();
		break;
	default:
		break;
	}
}

static void
add_figures(struct progress_line *line, const struct pworker_log *l, const struct train_event *ev)
{
	progress_add(line, ev->loss < LARGE ? "loss %.4f" : "loss %.4g", ev->loss);
	if (ev->accuracy >= 0)
		progress_add(line, ", accuracy %.4f", ev->accuracy);
	if (ev->top5 >= 0 && l->train->ps.graph->classes >= TOP5_CLASSES)
		progress_add(line, ", top-5 %.4f", ev->top5);
}

static void
print_epoch_line(const struct pworker_log *l, const struct train_event *ev)
{
	struct progress_line line = { 0 };
	uint64_t all = pworker_log_steps(l);
	double ran = clk_s() - l->first_s;

	progress_add(&line, "epoch %" PRIu64, ev->epoch + 1);
	if (pworker_log_epochs(l) > 0)
		progress_add(&line, " of %" PRIu64, l->epochs);
	progress_add(&line, ev->kind == TRAIN_EPOCH ? ": " : ": validation ");
	add_figures(&line, l, ev);
	if (ev->kind == TRAIN_EPOCH && ev->seconds > 0)
		progress_add(&line, ", %.0f samples/s", (double)(ev->samples - ev->before) / ev->seconds);
	if (ev->kind == TRAIN_EPOCH && all > ev->step && ev->step > l->first_step && ran > 0.5)
		progress_left(&line, ran * (double)(all - ev->step) / (double)(ev->step - l->first_step));
	progress_clear();
	fprintf(stderr, "%s\n", line.text);
}

void
pworker_log_console(struct pworker_log *l, const struct train_event *ev)
{
	switch (ev->kind) {
	case TRAIN_START:
		if (l->rank == 0 && l->train->save == NULL)
			front_say("the weights are not saved; --save PREFIX saves them after each epoch");
		break;
	case TRAIN_EPOCH:
	case TRAIN_VALIDATION:
		if (pworker_log_speaks(l) && ev->samples > 0)
			print_epoch_line(l, ev);
		break;
	default:
		progress_clear();
		fprintf(stderr, "saved %s\n", ev->text);
	}
}

void
pworker_log_stopped(const struct pworker_log *l)
{
	bool terminal = isatty(STDERR_FILENO) && isatty(STDOUT_FILENO);

	if (l->rank != 0 || (l->style != PWORKER_CONSOLE && !terminal))
		return;
	if (l->saved[0] == 0)
		front_say("stopped; nothing is saved%s", l->train->save == NULL ? " without --save" : "");
	else
		front_say("stopped; %s is saved: to go on, give the same options and --resume %s", l->saved, l->saved);
}
