/* messages - writes the events of training as lines for people, in the wording of MXNet or TensorFlow. */
#include "pworker/log.h"
#include "front.h"
#include "front_progress.h"

#include "base/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LISTED	500	/* bytes of a list of arrays */

static const char *const names[] = {
	[PWORKER_CONSOLE] = "console",
	[PWORKER_MXNET] = "mxnet", [PWORKER_MXNET_2015] = "mxnet-2015", [PWORKER_TENSORFLOW] = "tensorflow",
};

bool
pworker_log_style(const char *name, enum pworker_style *style)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0) {
			*style = (enum pworker_style)i;
			return true;
		}
	return false;
}

bool
pworker_log_speaks(const struct pworker_log *l)
{
	return !l->sync || l->rank == 0;
}

/* Other programs search for these lines, so they begin without the tool's name. */
static void __attribute__((format(printf, 1, 2)))
print_line(const char *fmt, ...)
{
	va_list ap;

	progress_clear();
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* The figure of a line, and its name in MXNet: the loss if outputs are values, which have no accuracy. */
static double
get_metric(const struct train_event *ev)
{
	return ev->accuracy < 0 ? ev->loss : ev->accuracy;
}

static const char *
name_metric(const struct train_event *ev)
{
	return ev->accuracy < 0 ? "mse" : "accuracy";
}

/* Whether a multiple of `frequent` steps has passed.  In an elastic job this worker may lack the step itself. */
static bool
is_line_due(struct pworker_log *l, const struct train_event *ev)
{
	const uint64_t steps = ev->batch + 1;
	const uint64_t before = l->trained > 1 && l->at_epoch == ev->epoch ? l->at_steps : ev->batch;

	l->at_epoch = ev->epoch;
	l->at_steps = steps;
	return l->style == PWORKER_TENSORFLOW ? l->trained % l->frequent == 0 :
	    steps / l->frequent > before / l->frequent;
}

/* After every `frequent` steps: MXNet's Speedometer, or the line of TensorFlow's MNIST example. */
static void
print_speed(struct pworker_log *l, const struct train_event *ev)
{
	l->seconds += ev->seconds;
	l->samples += (double)ev->samples;
	l->correct += ev->samples > 0 ? get_metric(ev) * (double)ev->samples : 0;
	l->batches++;
	l->trained++;
	if (l->style == PWORKER_CONSOLE || !is_line_due(l, ev))
		return;
	if (l->style == PWORKER_TENSORFLOW && ev->samples > 0)
		print_line("After %" PRIu64 " training steps (%" PRIu64 " global steps), "
		    "loss on training batch is %g, %s is %g. (%.3f sec/batch)", l->trained, ev->updates,
		    ev->loss, name_metric(ev), get_metric(ev), l->seconds / (double)l->batches);
	else if (l->samples > 0 && l->seconds > 0 && l->style == PWORKER_MXNET)
		print_line("Epoch[%" PRIu64 "] Batch [%" PRIu64 "]\tSpeed: %.2f samples/sec\tTrain-%s=%f",
		    ev->epoch, ev->batch + 1, l->samples / l->seconds, name_metric(ev), l->correct / l->samples);
	else if (l->samples > 0 && l->seconds > 0)
		print_line("Iter[%" PRIu64 "] Batch [%" PRIu64 "]\tSpeed: %.2f samples/sec", ev->epoch, ev->batch + 1,
		    l->samples / l->seconds);
	l->seconds = l->samples = l->correct = 0;
	l->batches = 0;
}

static void
print_epoch(struct pworker_log *l, const struct train_event *ev)
{
	const char *word = l->style == PWORKER_MXNET_2015 ? "Iteration" : "Epoch";

	if (l->style != PWORKER_TENSORFLOW) {
		l->seconds = l->samples = l->correct = 0;
		l->batches = 0;
	}
	if (!pworker_log_speaks(l))
		return;
	if (l->style == PWORKER_TENSORFLOW && ev->kind == TRAIN_VALIDATION)
		print_line("After %" PRIu64 " training steps, loss on validation is %g, %s is %g.",
		    l->trained, ev->loss, name_metric(ev), get_metric(ev));
	if (l->style == PWORKER_TENSORFLOW)
		return;
	print_line("%s[%" PRIu64 "] %s-%s=%f", word, ev->epoch, ev->kind == TRAIN_EPOCH ? "Train" : "Validation",
	    name_metric(ev), get_metric(ev));
	if (ev->kind == TRAIN_EPOCH)
		print_line("%s[%" PRIu64 "] Time cost=%.3f", word, ev->epoch, ev->seconds);
}

void
pworker_log_rates(const struct pworker_log *l)
{
	double lowest, steepest;

	if (lr_find_rates(&l->rates, &lowest, &steepest))
		front_say("the loss falls fastest at --lr %.2g and is lowest at %.2g%s; try --lr %.2g", steepest,
		    lowest, l->found ? ", before it diverges" : "", lowest / 10);
	else
		front_say("the loss of %zu steps does not fall clearly at any rate; "
		    "try more --steps or a larger --batch", l->rates.n);
}

/* Which arrays start from the file of --start. */
static void
say_start_arrays(const struct train_event *ev)
{
	if (ev->samples > 0 && strlen(ev->text) <= LISTED)
		front_say("%" PRIu64 " arrays start from the file, all but %s", ev->batch, ev->text);
	else if (ev->samples > 0)
		front_say("%" PRIu64 " arrays start from the file, all but %" PRIu64 ": %.*s ...", ev->batch,
		    ev->samples, LISTED, ev->text);
	else
		front_say("all %" PRIu64 " arrays start from the file", ev->batch);
}

static void
say_best_epoch(const struct pworker_log *l, const struct train_event *ev)
{
	const char *measure = ev->accuracy < 0 ? "loss" : "accuracy";
	const uint64_t epoch = ev->epoch + (l->style == PWORKER_CONSOLE);

	if (ev->kind == TRAIN_BEST)
		front_say("epoch %" PRIu64 " is the best %s%s: validation %s %f", epoch,
		    *ev->text != 0 ? "for " : "so far", ev->text, measure, fabs(ev->accuracy));
	else
		front_say("ends: %" PRIu64 " epochs were no better than epoch %" PRIu64 ", validation %s %f",
		    ev->samples, epoch, measure, fabs(ev->accuracy));
}

static void
say_left_out(const struct pworker_log *l, const struct train_event *ev)
{
	if (ev->left_out > 0)
		front_say("%s of epoch %" PRIu64 " left out %" PRIu64 " record%s",
		    ev->kind == TRAIN_EPOCH ? "training" : "validation",
		    ev->epoch + (l->style == PWORKER_CONSOLE), ev->left_out, ev->left_out == 1 ? "" : "s");
}

static void
say_end(const struct pworker_log *l, const struct train_event *ev)
{
	const bool steps = l->steps > 0 && ev->step >= l->steps;

	if (l->trained == 0 && pworker_log_speaks(l) &&
	    (steps || (l->epoch_steps > 0 && ev->step / l->epoch_steps >= l->epochs)))
		front_say("trained nothing: %" PRIu64 " steps are done already, as many as --%s asks for", ev->step,
		    steps ? "steps" : "epochs");
	if (l->style == PWORKER_TENSORFLOW)
		print_line("total step: %" PRIu64 ", global_step: %" PRIu64, l->trained, ev->updates);
}

/* What all workers would say, worker 0 says. */
static bool
is_said_here(const struct pworker_log *l, const struct train_event *ev)
{
	switch (ev->kind) {
	case TRAIN_WORKERS:	return l->rank == 0 || ev->batch > 0;
	case TRAIN_BATCHES:	return l->rank == 0 && ev->batch > 0;
	case TRAIN_KERNELS:	return l->rank == 0 || ev->samples > 0;
	default:		return true;
	}
}

void
pworker_log_say(struct pworker_log *l, const struct train_event *ev)
{
	switch (ev->kind) {
	case TRAIN_BAD:
		front_warn(NULL, err_fail(ERR_ITEM, "%s", ev->text));
		break;
	case TRAIN_UNSAVED:
		front_warn("no checkpoint", err_fail(ERR_SYS, "%s", ev->text));
		break;
	case TRAIN_UNTIDY:
		front_warn(NULL, err_fail(ERR_SYS, "%s", ev->text));
		break;
	case TRAIN_NO_CUT:
		if (l->train->cut == 0)
			front_say("no cut: %s", ev->text);
		else
			front_warn("no cut", err_fail(ERR_SYS, "%s", ev->text));
		break;
	case TRAIN_FROM:
		say_start_arrays(ev);
		break;
	case TRAIN_BEST:
	case TRAIN_EARLY:
		say_best_epoch(l, ev);
		break;
	case TRAIN_CACHE:
		front_say("%" PRIu64 " images in memory, %s", ev->samples, ev->text);
		break;
	case TRAIN_WAIT:
		front_say("waiting for %s", ev->text);
		break;
	case TRAIN_SET:
		if (l->rank == 0)
			front_say("after step %" PRIu64 ": %s", ev->samples, ev->text);
		break;
	case TRAIN_REMARK:
	case TRAIN_WORKERS:
	case TRAIN_BATCHES:
	case TRAIN_KERNELS:
		if (is_said_here(l, ev))
			front_say("%s", ev->text);
		break;
	case TRAIN_START:
		if (l->style == PWORKER_CONSOLE)
			pworker_log_console(l, ev);
		if (l->style == PWORKER_TENSORFLOW)
			print_line("session started");
		if (ev->again)
			front_say("was started again; goes on at step %" PRIu64, ev->step);
		break;
	case TRAIN_STEP:
		print_speed(l, ev);
		break;
	case TRAIN_EPOCH:
	case TRAIN_VALIDATION:
		say_left_out(l, ev);
		if (l->style == PWORKER_CONSOLE)
			pworker_log_console(l, ev);
		else
			print_epoch(l, ev);
		break;
	case TRAIN_SAVE:
		snprintf(l->saved, sizeof(l->saved), "%s", ev->text);
		if (l->style == PWORKER_CONSOLE)
			pworker_log_console(l, ev);
		else
			print_line("Saved checkpoint to \"%s\"", ev->text);
		break;
	case TRAIN_END:
		say_end(l, ev);
		break;
	}
}
