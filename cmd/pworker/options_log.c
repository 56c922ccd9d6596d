/* options_log - the options that say what is told of a run. */
#include "pworker/pworker.h"
#include "front.h"

#include <stdio.h>
#include <string.h>

#define TRACE_STEPS_USUAL	20

static const char help[] =
    "usage: pworker ... [options that say what is told of a run]\n"
    "  --frequent N (50)       steps between two lines for people\n"
    "  --log-style mxnet|mxnet-2015|tensorflow (mxnet)  their words\n"
    "  --trace FILE[:N|:A-B]   a time line of the first N (20) steps, or of A to B, for chrome://tracing\n";

enum { O_FREQUENT, O_HELP, O_STYLE, O_TRACE };

static const struct option longs[] = {
	{ "frequent", required_argument, NULL, O_FREQUENT },
	{ "help-log", no_argument, NULL, O_HELP },
	{ "log-style", required_argument, NULL, O_STYLE },
	{ "trace", required_argument, NULL, O_TRACE },
	{ NULL, 0, NULL, 0 }
};

/* FILE, FILE:N or FILE:A-B.  What stands behind a colon is no name, but where a folder's follows it. */
static void
parse_trace(struct pworker *p, char *text)
{
	char *steps = strrchr(text, ':'), *to, whole[80];

	if (strcmp(text, "-") == 0 || strncmp(text, "-:", 2) == 0)
		front_wrong("--trace: a file, as standard output is where the rows go");
	snprintf(whole, sizeof(whole), "%s", text);
	p->trace = text;
	p->trace_first = 1;
	p->trace_steps = TRACE_STEPS_USUAL;
	if (steps == NULL || strchr(steps, '/') != NULL)
		return;
	*steps++ = 0;
	if (*text == 0 || *steps == 0 || steps[strspn(steps, "0123456789-")] != 0)
		front_wrong("--trace: '%.64s' is not FILE, FILE:N or FILE:A-B", whole);
	if ((to = strchr(steps, '-')) != NULL) {
		*to++ = 0;
		p->trace_first = (uint64_t)front_num("--trace", steps, 1, INT64_MAX);
		p->trace_steps = (uint64_t)front_num("--trace", to, (int64_t)p->trace_first,
		    INT64_MAX) - p->trace_first + 1;
	} else {
		p->trace_steps = (uint64_t)front_num("--trace", steps, 1, INT64_MAX);
	}
}

static void
apply_log_option(struct pworker *p, int c, char *text)
{
	switch (c) {
	case O_FREQUENT: p->frequent = (uint64_t)front_num("--frequent", text, 1, INT64_MAX); break;
	case O_HELP:	worker_help(help);
	case O_STYLE:
		if (!worker_log_style(text, &p->style))
			front_wrong("--log-style: '%.64s' is none of mxnet, mxnet-2015 and tensorflow", text);
		break;
	case O_TRACE:	parse_trace(p, text); break;
	}
}

const struct worker_theme worker_tell_theme = { longs, apply_log_option, NULL };
