/* netstat-logging - logs the traffic of interfaces or a command, a line a period.  See netstat-logging(1). */
#include "front.h"
#include "front_option.h"
#include "netstat-logging_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char netstat_usage[] =
    "netstat-logging [-q] [-d seconds] [-i interface] [-o file] [-p seconds]\n"
    "       [option ...] [command [argument ...]]";
static const char netstat_help[] =
    "Logs the traffic of network interfaces or of a command, a line a period.\n"
    "What is watched:\n"
    "  -i, --interface NAME     watch this one; again for more (default route's)\n"
    "      --count packets|calls  how to count a command's traffic (root: packets)\n"
    "  -d, --duration SECONDS   stop after this time (at SIGINT or SIGTERM)\n"
    "  -p, --period SECONDS     time between lines, at least 0.1 (1)\n"
    "What is written:\n"
    "  -o, --output FILE        write the lines to this file; - is standard output\n"
    "      --json               lines of JSON\n"
    "  -q, --quiet              print no summary\n"
    "  -h, --help, --version\n"
    "Training logs:\n"
    "      --filter             copy a training log and add the traffic of each epoch\n"
    "      --mark REGEX         with --filter: add the traffic after these lines, too\n"
    "With a command, only its traffic counts, and its exit status is passed on.\n";

static void
add_interface(void *options, const char *option, char *name)
{
	struct netstat_opt *o = options;

	for (size_t i = 0; i < o->interfaces; i++)
		if (strcmp(o->interface[i], name) == 0)
			front_wrong("%s: %s is given twice", option, name);
	if (o->interfaces == SOURCES)
		front_wrong("%s: more than %d interfaces", option, SOURCES);
	o->interface[o->interfaces++] = name;
}

static void
compile_mark(void *options, const char *option, char *text)
{
	struct netstat_opt *o = options;
	char why[256];
	int e;

	if (o->marks)
		front_wrong("%s: given twice; join the expressions with |", option);
	if ((e = regcomp(&o->mark, text, REG_EXTENDED | REG_NOSUB)) != 0) {
		regerror(e, &o->mark, why, sizeof(why));
		front_wrong("%s: '%.64s': %s", option, text, why);
	}
	o->marks = true;
}

#define MEMBER(m)	FRONT_MEMBER(struct netstat_opt, m)

static const struct front_word methods[] = { { "packets", METER_PACKETS }, { "calls", METER_CALLS }, { NULL, 0 } };
static const struct front_option option_table[] = {
	{ "count", FRONT_WORD, MEMBER(by), .words = methods, .text = "not packets or calls" },
	{ "duration", FRONT_REAL, MEMBER(duration_s), 0.1, 1e9, .letter = 'd' },
	{ "filter", FRONT_FLAG, MEMBER(filter) },
	{ "interface", FRONT_VALUE, .apply = add_interface, .letter = 'i' },
	{ "json", FRONT_FLAG, MEMBER(json) },
	{ "mark", FRONT_VALUE, .apply = compile_mark },
	{ "output", FRONT_TEXT, MEMBER(output), .letter = 'o' },
	{ "period", FRONT_REAL, MEMBER(period_s), 0.1, 1e6, .letter = 'p' },
	{ "quiet", FRONT_FLAG, MEMBER(quiet), .letter = 'q' },
	{ 0 }
};

static void
check_options(const struct netstat_opt *o)
{
	if (o->argv != NULL && o->interfaces > 0)
		front_wrong("-i and a command exclude each other");
	if (o->argv != NULL && o->duration_s > 0)
		front_wrong("--duration and a command exclude each other; use timeout(1)");
	if (o->argv == NULL && o->by != METER_BEST)
		front_wrong("--count: needs a command");
	if (o->marks && !o->filter)
		front_wrong("--mark: only with --filter");
	if (o->filter && o->output != NULL && strcmp(o->output, "-") == 0)
		front_wrong("-o -: --filter writes the log to standard output; name a file");
	if (o->json && o->output == NULL && (o->argv != NULL || o->filter))
		front_wrong("--json: needs -o with a command or --filter");
	if (o->filter && o->argv == NULL)
		front_output("-o", o->output, (const char *const[]){ "/dev/stdin" }, 1);
}

int
main(int argc, char *argv[])
{
	struct netstat_opt o = { .period_s = 1 };
	int status;

	front_init(argv[0], netstat_usage, netstat_help);
	front_options(&argc, &argv, FRONT_FIRST, option_table, &o);	/* options after the command are its own */
	if (argv[optind] != NULL)
		o.argv = argv + optind;
	/* Bytes that two processes exchange through memory are no traffic that the system counts. */
	if (o.argv != NULL)
		setenv("TALLY_TRANSPORT", "tcp", 0);
	check_options(&o);
	status = netstat_run(&o);
	if (o.marks)
		regfree(&o.mark);
	return status;
}
