/* netstat-logging - logs the traffic of interfaces or a command, a line a period.  See netstat-logging(1). */
#include "front.h"
#include "front_option.h"
#include "netstat-logging_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "netstat-logging [-q] [-d seconds] [-i interface] [-o file] [-p seconds] [option ...]\n"
			    "       [command [argument ...]]";
static const char help[] =
    "Logs the traffic of network interfaces or of a command, a line a period, and a summary.\n"
    "  -d, --duration SECONDS   stop after this time (at SIGINT or SIGTERM)\n"
    "  -i, --interface NAME     watch this interface; repeatable (that of the default route)\n"
    "  -o, --output FILE        write the lines to this file; - is standard output\n"
    "  -p, --period SECONDS     time between lines, at least 0.1 (1)\n"
    "  -q, --quiet              no summary\n"
    "      --count packets|calls  how to count a command (packets as root, else calls)\n"
    "      --filter             copy a training log and add the traffic of each epoch\n"
    "      --json               lines of JSON\n"
    "      --mark REGEX         with --filter: add the traffic after these lines, too\n"
    "  -h, --help, --version\n"
    "With a command, only its traffic counts, and its exit status is passed on.\n";

enum { COUNT = 256, FILTER, HELP, JSON, MARK, VERSION };

static const struct option longs[] = {
	{ "count", required_argument, NULL, COUNT },
	{ "duration", required_argument, NULL, 'd' },
	{ "filter", no_argument, NULL, FILTER },
	{ "help", no_argument, NULL, HELP },
	{ "interface", required_argument, NULL, 'i' },
	{ "json", no_argument, NULL, JSON },
	{ "mark", required_argument, NULL, MARK },
	{ "output", required_argument, NULL, 'o' },
	{ "period", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "version", no_argument, NULL, VERSION },
	{ NULL, 0, NULL, 0 }
};

static void
add_interface(struct options *o, const char *name)
{
	for (size_t i = 0; i < o->interfaces; i++)
		if (strcmp(o->interface[i], name) == 0)
			front_wrong("-i: %s is given twice", name);
	if (o->interfaces == SOURCES)
		front_wrong("-i: more than %d interfaces", SOURCES);
	o->interface[o->interfaces++] = name;
}

static enum meter_by
parse_count_method(const char *text)
{
	if (strcmp(text, "packets") == 0)
		return METER_PACKETS;
	if (strcmp(text, "calls") != 0)
		front_wrong("--count: '%.64s' is not packets or calls", text);
	return METER_CALLS;
}

static void
compile_mark(const char *text, regex_t *r)
{
	char why[256];
	int e = regcomp(r, text, REG_EXTENDED | REG_NOSUB);

	if (e != 0) {
		regerror(e, r, why, sizeof(why));
		front_wrong("--mark: '%.64s': %s", text, why);
	}
}

static void
check_options(const struct options *o)
{
	if (o->argv != NULL && o->interfaces > 0)
		front_wrong("-i and a command exclude each other");
	if (o->argv != NULL && o->duration_s > 0)
		front_wrong("--duration and a command exclude each other; use timeout(1)");
	if (o->argv == NULL && o->by != METER_BEST)
		front_wrong("--count: needs a command");
	if (o->mark != NULL && !o->filter)
		front_wrong("--mark: only with --filter");
	if (o->filter && o->output != NULL && strcmp(o->output, "-") == 0)
		front_wrong("-o -: --filter writes the log to standard output; name a file");
}

int
main(int argc, char *argv[])
{
	struct options o = { .period_s = 1 };
	regex_t mark;
	int c;

	front_init(argv[0], usage, help);
	/* "+": options after the command are its own. */
	while ((c = front_getopt(argc, argv, "+d:i:o:p:q", longs)) != -1)
		switch (c) {
		case 'd': o.duration_s = front_real("-d", optarg, 0.1, 1e9); break;
		case 'i': add_interface(&o, optarg); break;
		case 'o': o.output = optarg; break;
		case 'p': o.period_s = front_real("-p", optarg, 0.1, 1e6); break;
		case 'q': o.quiet = true; break;
		case COUNT: o.by = parse_count_method(optarg); break;
		case FILTER: o.filter = true; break;
		case HELP: front_help();
		case JSON: o.json = true; break;
		case MARK:
			if (o.mark != NULL)
				front_wrong("--mark: given twice; join the expressions with |");
			compile_mark(optarg, &mark);
			o.mark = &mark;
			break;
		case VERSION: printf("netstat-logging (tally) %s\n", TALLY_VERSION); front_flush(); return 0;
		}
	if (argv[optind] != NULL)
		o.argv = argv + optind;
	/* Bytes that two processes exchange through memory are no traffic that the system counts. */
	if (o.argv != NULL)
		setenv("TALLY_TRANSPORT", "tcp", 0);
	check_options(&o);
	c = run(&o);
	if (o.mark != NULL)
		regfree(&mark);
	return c;
}
