/* pworker_tell - the options that say what is told of a run. */
#include "pworker.h"
#include "front.h"

static const char help[] =
    "usage: pworker ... [options that say what is told of a run]\n"
    "  --frequent N (50)       steps between two lines for people\n"
    "  --log-style NAME (mxnet)  their words: mxnet, mxnet-2015, tensorflow\n";

enum { O_FREQUENT, O_HELP, O_STYLE };

static const struct option longs[] = {
	{ "frequent", required_argument, NULL, O_FREQUENT },
	{ "help-log", no_argument, NULL, O_HELP },
	{ "log-style", required_argument, NULL, O_STYLE },
	{ NULL, 0, NULL, 0 }
};

static void
take(struct pworker *p, int c, char *text)
{
	switch (c) {
	case O_FREQUENT: p->frequent = (uint64_t)front_num("--frequent", text, 1, INT64_MAX); break;
	case O_HELP:	worker_help(help);
	case O_STYLE:
		if (!worker_log_style(text, &p->style))
			front_wrong("--log-style: '%.64s' is none of mxnet, mxnet-2015 and tensorflow", text);
		break;
	}
}

const struct worker_theme worker_tell_theme = { longs, take, NULL };
