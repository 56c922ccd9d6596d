/* progress - shows the progress of training in one line on a terminal. */
#include "pworker/log.h"
#include "front_progress.h"

#include "base/clk.h"

#include <inttypes.h>
#include <string.h>

uint64_t
pworker_log_steps(const struct pworker_log *l)
{
	uint64_t n = l->epochs * l->epoch_steps;

	return n == 0 || (l->steps > 0 && l->steps < n) ? l->steps : n;
}

static void
draw_training_progress(struct pworker_log *l, const struct train_event *ev)
{
	struct progress_line line = { 0 };
	double ran = clk_s() - l->first_s;
	uint64_t all = pworker_log_steps(l);

	progress_add(&line, "epoch %" PRIu64, ev->epoch + 1);
	if (l->epoch_steps > 0)
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
	progress_add(&line, ", loss %.4f", ev->loss);
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
