/* options_log - what a run reports. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "base/io.h"
#include "record/beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACE_STEPS_USUAL	20

static const char log_help[] =
    "usage: pworker ... [options that say what a run reports]\n"
    "  --frequent N (50)    steps between two lines of progress\n"
    "  --log FILE           write the log's rows to a file, not to standard output\n"
    "  --log-style console|mxnet|mxnet-2015|tensorflow  words of lines for people;\n"
    "                       console on a terminal, mxnet elsewhere\n"
    "  --profile N          measure each layer in N steps on random samples, and exit\n"
    "  --trace FILE[:N|:A-B]  a time line of the first N (20) steps, or of A to B\n";

static void
parse_style(struct pworker *p, const char *option, char *text)
{
	if (!pworker_log_style(text, &p->style))
		front_wrong("%s: '%.64s' is none of console, mxnet, mxnet-2015 and tensorflow", option, text);
}

/* FILE, FILE:N or FILE:A-B.  A colon before a slash belongs to the file's name. */
static void
parse_trace(struct pworker *p, const char *option, char *text)
{
	char *steps = strrchr(text, ':'), *to, whole[80];

	if (strcmp(text, "-") == 0 || strncmp(text, "-:", 2) == 0)
		front_wrong("%s: needs a file; standard output has the log", option);
	snprintf(whole, sizeof(whole), "%s", text);
	p->trace = text;
	p->trace_first = 1;
	p->trace_steps = TRACE_STEPS_USUAL;
	if (steps == NULL || strchr(steps, '/') != NULL)
		return;
	*steps++ = 0;
	if (*text == 0 || *steps == 0 || steps[strspn(steps, "0123456789-")] != 0)
		front_wrong("%s: '%.64s' is not FILE, FILE:N or FILE:A-B", option, whole);
	if ((to = strchr(steps, '-')) != NULL) {
		*to++ = 0;
		p->trace_first = (uint64_t)front_num(option, steps, 1, INT64_MAX);
		p->trace_steps = (uint64_t)front_num(option, to, (int64_t)p->trace_first, INT64_MAX) -
		    p->trace_first + 1;
	} else {
		p->trace_steps = (uint64_t)front_num(option, steps, 1, INT64_MAX);
	}
}

static const struct pworker_option log_options[] = {
	{ "frequent", PWORKER_WHOLE, PWORKER_MEMBER(frequent), 1, 0x1p63, .needs = NEED_TRAINING | NEED_RUN },
	{ "help-log", PWORKER_HELP, .text = log_help },
	{ "log", PWORKER_TEXT, PWORKER_MEMBER(log), .needs = NEED_TRAINING | NEED_RUN },
	{ "log-style", PWORKER_VALUE, .apply = parse_style, .needs = NEED_TRAINING | NEED_RUN },
	{ "profile", PWORKER_WHOLE, PWORKER_MEMBER(profile), 1, 1e6, .needs = NEED_TRAINING | NEED_RUN },
	{ "trace", PWORKER_VALUE, .apply = parse_trace, .needs = NEED_TRAINING | NEED_RUN },
	{ 0 }
};

/* Refuses a log that would replace what the run reads, or the names of classes beside it. */
static void
check_log_path(const struct pworker *p, const char *option, const char *path)
{
	const char *const in[] = { p->train.resume, p->train.start, p->mean };
	struct buf list = { 0 };
	char *rest, *one, *names;

	if (path == NULL)
		return;
	front_output(option, path, in, sizeof(in) / sizeof(in[0]));
	if (buf_put_fmt(&list, "%s%s%s", p->train.data.path != NULL ? p->train.data.path : "",
	    p->train.val != NULL ? "," : "", p->train.val != NULL ? p->train.val : "") < 0 || buf_terminate(&list) < 0)
		front_die(NULL, ERR_NOMEM);
	for (rest = (char *)list.p; (one = strsep(&rest, ",")) != NULL;) {
		if ((names = beside_name(one, ".labels")) == NULL)
			front_die(NULL, err_nomem());
		front_output(option, path, (const char *const[]){ one, names }, 2);
		free(names);
	}
	buf_free(&list);
}

static void
settle_log_options(struct pworker *p)
{
	const char *style = getenv("TALLY_LOG_STYLE");

	check_log_path(p, "--log", p->log);
	check_log_path(p, "--trace", p->trace);
	if (p->trace != NULL && p->log != NULL && io_is_same(p->trace, p->log))
		front_wrong("--trace: %s: is the file of --log", p->trace);
	if (pworker_given(p, "log-style") != PWORKER_ABSENT)
		return;
	if (style != NULL && *style != 0)
		parse_style(p, "TALLY_LOG_STYLE", (char *)style);
	else
		p->style = isatty(STDOUT_FILENO) ? PWORKER_CONSOLE : PWORKER_MXNET;
}

const struct pworker_theme pworker_log_theme = { log_options, settle_log_options };
