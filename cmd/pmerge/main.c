/* main - weight files in, one weight file out; or what is in them.  See pmerge(1). */
#include "front.h"
#include "front_progress.h"
#include "pmerge/export_onnx.h"
#include "pmerge/show.h"

#include "base/clk.h"
#include "base/err.h"
#include "source/suffix.h"
#include "net/merge/merge.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATTERNS 256	/* most of a kind */

static const char usage[] =
    "pmerge [-o file] [--mean | --weights a:b... | --ema decay | --join] [--pick pattern]\n"
    "              [--drop pattern] [--rename rule] [--state | --no-state] [--average | --no-average]\n"
    "              [--to format] file ...\n"
    "       pmerge --to onnx [--logits] [--net net [--net-opt key=value] [--shape CxHxW] [--classes n]] ... file ...\n"
    "       pmerge --split n -o prefix file\n"
    "       pmerge --list | --verify file ...\n"
    "       pmerge --diff [--tolerance x] file file";
static const char help[] =
    "  -o, --output FILE     where the tensors go (default: standard output): .params for MXNet, .onnx a model\n"
    "  --mean                the mean of the files (default for several)\n"
    "  --weights A:B:...     a weighted mean, a weight each file\n"
    "  --ema DECAY           the exponential moving average of the files in their order\n"
    "  --join                each tensor from the one file that has it\n"
    "  --split N             N files of whole tensors, OUTPUT-00001-of-0000N.safetensors and so on\n"
    "  --pick PATTERN        only tensors of these names       --drop PATTERN  not those\n"
    "  --rename RULE         other names: REGEX=TEXT, from:TABLE, to:TABLE; these three again for more\n"
    "  --state, --no-state   keep or drop optimizer state (kept: of a single file alone)\n"
    "  --average, --no-average  the moving average in place of the weights, or only these\n"
    "  --to safetensors|params|onnx  whatever OUTPUT is called\n"
    "  --logits              a model gives the numbers before the softmax, not probabilities\n"
    "  --net NAME|FILE.lua   its net, where the weights do not hold the graph, with\n"
    "  --net-opt KEY=VALUE   an option of its script; again for more   --shape CxHxW   --classes N\n"
    "  --list                a line a tensor: name, type, shape, and what its numbers are like\n"
    "  --verify              names each file that is broken and each tensor of numbers that are not finite\n"
    "  --diff                a line a tensor that differs by more than --tolerance X (0); exit 1 when one does\n"
    "  --help  --version\n";

enum {
	O_AVERAGE = 256, O_CLASSES, O_DIFF, O_DROP, O_EMA, O_HELP, O_JOIN, O_LIST, O_LOGITS, O_MEAN, O_NET, O_NETOPT,
	O_NOAVERAGE, O_NOSTATE, O_PICK, O_RENAME, O_SHAPE, O_SPLIT, O_STATE, O_TO, O_TOLERANCE, O_VERIFY, O_VERSION,
	    O_WEIGHTS
};

static const struct option longs[] = {
	{ "average", no_argument, NULL, O_AVERAGE },
	{ "classes", required_argument, NULL, O_CLASSES },
	{ "diff", no_argument, NULL, O_DIFF },
	{ "drop", required_argument, NULL, O_DROP },
	{ "ema", required_argument, NULL, O_EMA },
	{ "help", no_argument, NULL, O_HELP },
	{ "join", no_argument, NULL, O_JOIN },
	{ "list", no_argument, NULL, O_LIST },
	{ "logits", no_argument, NULL, O_LOGITS },
	{ "mean", no_argument, NULL, O_MEAN },
	{ "net", required_argument, NULL, O_NET },
	{ "net-opt", required_argument, NULL, O_NETOPT },
	{ "no-average", no_argument, NULL, O_NOAVERAGE },
	{ "no-state", no_argument, NULL, O_NOSTATE },
	{ "output", required_argument, NULL, 'o' },
	{ "pick", required_argument, NULL, O_PICK },
	{ "rename", required_argument, NULL, O_RENAME },
	{ "shape", required_argument, NULL, O_SHAPE },
	{ "split", required_argument, NULL, O_SPLIT },
	{ "state", no_argument, NULL, O_STATE },
	{ "to", required_argument, NULL, O_TO },
	{ "tolerance", required_argument, NULL, O_TOLERANCE },
	{ "verify", no_argument, NULL, O_VERIFY },
	{ "version", no_argument, NULL, O_VERSION },
	{ "weights", required_argument, NULL, O_WEIGHTS },
	{ NULL, 0, NULL, 0 }
};

/* What the command line asks for; verb is its option, O_MEAN when none was given. */
struct args {
	struct merge_opt merge;
	struct rename_rules *rename;
	char		*pick[PATTERNS], *drop[PATTERNS];
	double		 share[MERGE_FILES];
	const char	*out, *weights;
	double		 decay, began_s;
	double		 tolerance;	/* below 0: nothing was said */
	uint32_t	 parts;
	struct onnx_net	 net;
	bool		 logits;
	int		 stop_fd, stopped;	/* -1: not yet; the exit status of who was asked to stop */
	int		 verb, state, average, kind;	/* -1 when nothing was said, but for the verb */
};

static void
set_verb(struct args *a, int verb)
{
	if (a->verb != 0 && a->verb != verb)
		front_wrong("more than one of --mean, --weights, --ema, --join, --split, --list, --verify and --diff");
	a->verb = verb;
}

static void
add_pattern(const char *option, char **list, uint32_t *n, char *pattern)
{
	if (*n == PATTERNS)
		front_wrong("%s: more than %d patterns", option, PATTERNS);
	list[(*n)++] = pattern;
}

static void
add_rule(struct args *a, const char *rule)
{
	if (a->rename == NULL && rename_new(&a->rename) < 0)
		front_die("--rename", ERR_NOMEM);
	if (rename_add(a->rename, rule) < 0)
		front_wrong("--rename: %s", err_line());
}

static int
kind_of(const char *text)
{
	static const char *const formats[] = {
		[TENSORS_SAFE] = "safetensors", [TENSORS_PARAMS] = "params", [TENSORS_ONNX] = "onnx",
	};

	for (int i = 0; i < (int)(sizeof(formats) / sizeof(*formats)); i++)
		if (strcmp(text, formats[i]) == 0)
			return i;
	front_wrong("--to: '%.64s' is none of safetensors, params, onnx", text);
}

/* What was said, or what the output's name says. */
static enum tensors_kind
kind_for(const struct args *a)
{
	if (a->kind >= 0)
		return (enum tensors_kind)a->kind;
	if (suffix_is(a->out, strlen(a->out), ".params"))
		return TENSORS_PARAMS;
	return suffix_is(a->out, strlen(a->out), ".onnx") ? TENSORS_ONNX : TENSORS_SAFE;
}

static void
parse_arguments(struct args *a, int argc, char *argv[])
{
	int c;

	while ((c = getopt_long(argc, argv, "o:", longs, NULL)) != -1)
		switch (c) {
		case 'o':	a->out = optarg; break;
		case O_AVERAGE:	a->average = MERGE_AVERAGES; break;
		case O_CLASSES:	a->net.classes = (uint32_t)front_num("--classes", optarg, 1, 1 << 24); break;
		case O_DROP:	add_pattern("--drop", a->drop, &a->merge.ndrop, optarg); break;
		case O_LOGITS:	a->logits = true; break;
		case O_NET:	a->net.name = optarg; break;
		case O_NETOPT:
			if (script_opt_take(a->net.option, &a->net.noption, optarg) < 0)
				front_wrong("--net-opt: %s", err_line());
			break;
		case O_PICK:	add_pattern("--pick", a->pick, &a->merge.npick, optarg); break;
		case O_RENAME:	add_rule(a, optarg); break;
		case O_SHAPE:	front_shape("--shape", optarg, &a->net.c, &a->net.h, &a->net.w); break;
		case O_NOAVERAGE: a->average = MERGE_WEIGHTS; break;
		case O_STATE:	a->state = 1; break;
		case O_NOSTATE:	a->state = 0; break;
		case O_TO:	a->kind = kind_of(optarg); break;
		case O_TOLERANCE: a->tolerance = front_real("--tolerance", optarg, 0, 1e30); break;
		case O_DIFF: case O_JOIN: case O_LIST: case O_MEAN: case O_VERIFY:
			set_verb(a, c);
			break;
		case O_EMA:
			set_verb(a, c);
			a->decay = front_real("--ema", optarg, 0, 1);
			break;
		case O_WEIGHTS:
			set_verb(a, c);
			a->weights = optarg;
			break;
		case O_SPLIT:
			set_verb(a, c);
			a->parts = (uint32_t)front_num("--split", optarg, 1, 99999);
			break;
		case O_HELP:	front_help();
		case O_VERSION:	printf("pmerge (tally) %s\n", TALLY_VERSION); front_flush(); exit(0);
		default:	front_usage();
		}
	if (optind == argc)
		front_usage();
	if (argc - optind > MERGE_FILES)
		front_wrong("more than %d files", MERGE_FILES);
	a->merge.path = argv + optind;
	a->merge.n = (uint32_t)(argc - optind);
}

/* An option that would change nothing is a mistake. */
static void
check_options(const struct args *a)
{
	bool shows = a->verb == O_LIST || a->verb == O_VERIFY || a->verb == O_DIFF, merges = !shows &&
	    a->verb != O_SPLIT;
	bool onnx = merges && kind_for(a) == TENSORS_ONNX, net = onnx && a->net.name != NULL;
	const struct { bool said, fits; const char *option, *with; } all[] = {
		{ strcmp(a->out, "-") != 0, !shows, "output", "what is written" },
		{ a->merge.npick > 0, merges, "pick", "what is merged" },
		{ a->merge.ndrop > 0, merges, "drop", "what is merged" },
		{ a->rename != NULL, merges, "rename", "what is merged" },
		{ a->state >= 0, merges, a->state ? "state" : "no-state", "what is merged" },
		{ a->average >= 0, merges, a->average == MERGE_AVERAGES ? "average" : "no-average", "what is merged" },
		{ a->kind >= 0, merges, "to", "what is merged" },
		{ a->logits, onnx, "logits", "a model of ONNX" },
		{ a->net.name != NULL, onnx, "net", "a model of ONNX" },
		{ a->net.noption > 0, net, "net-opt", "--net" },
		{ a->net.c > 0, net, "shape", "--net" },
		{ a->net.classes > 0, net, "classes", "--net" },
		{ a->tolerance >= 0, a->verb == O_DIFF, "tolerance", "--diff" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].said && !all[i].fits)
			front_wrong("--%s: goes with %s alone", all[i].option, all[i].with);
}

/* A weight each file, as in 3:1 or 0.75:0.25; shares are of their sum. */
static void
parse_weights(struct args *a)
{
	char *text = strdup(a->weights), *rest = text, *one;
	double sum = 0;
	uint32_t n = 0;

	if (text == NULL)
		front_die("--weights", err_nomem());
	for (; (one = strsep(&rest, ":")) != NULL; n++) {
		if (n == a->merge.n)
			break;
		sum += a->share[n] = front_real("--weights", one, 0, 1e30);
	}
	if (n != a->merge.n || one != NULL || !(sum > 0))
		front_wrong("--weights: '%.64s' is not a weight for each of %u files", a->weights, a->merge.n);
	for (uint32_t i = 0; i < n; i++)
		a->share[i] /= sum;
	free(text);
}

/* average = decay * average + (1 - decay) * file, beginning with the first, is a mean of these shares. */
static void
weigh_series(struct args *a)
{
	double share = 1;

	for (uint32_t i = a->merge.n; i-- > 0; share *= a->decay)
		a->share[i] = i > 0 ? share * (1 - a->decay) : share;
}

/* A pipe or a device is written as it is, and needs no tidying. */
static bool
is_file(const char *out)
{
	struct stat st;

	return strcmp(out, "-") != 0 && (stat(out, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)));
}

/* Who is asked to stop leaves nothing half written: before this is called, nothing is. */
static int
watch_merge(void *arg, uint64_t done, uint64_t all)
{
	struct args *a = arg;
	struct progress_line line = { 0 };
	double ran = clk_s() - a->began_s;

	if (a->stop_fd < 0 && is_file(a->out))
		a->stop_fd = front_stop_fd();
	if (a->stop_fd >= 0 && (a->stopped = front_stopped(a->stop_fd)) > 0)
		return err_fail(ERR_STOP, "stopped");
	if (!progress_due())
		return 0;
	progress_add(&line, "%.1f of %.1f MB", (double)done * 1e-6, (double)all * 1e-6);
	line.head = (unsigned)strlen(line.text);
	if (ran > 0.5 && done > 0) {
		progress_add(&line, ", %.1f MB/s", (double)done * 1e-6 / ran);
		progress_left(&line, ran * (double)(all - done) / (double)done);
	}
	progress_draw(&line, 1);
	return 0;
}

/* The exit status of what was written. */
static int
status_of(const struct args *a, int e)
{
	if (e < 0 && a->stopped == 0)
		front_die(NULL, e);
	return a->stopped;
}

static int
run_merge(struct args *a)
{
	struct merge_opt *o = &a->merge;

	for (uint32_t i = 0; i < o->n; i++)
		a->share[i] = 1.0 / o->n;
	if (a->verb == O_WEIGHTS)
		parse_weights(a);
	if (a->verb == O_EMA)
		weigh_series(a);
	o->step = watch_merge;
	o->arg = a;
	o->share = a->verb == O_JOIN ? NULL : a->share;
	o->rename = a->rename;
	o->pick = a->pick;
	o->drop = a->drop;
	o->kind = kind_for(a);
	o->average = a->average >= 0 ? (enum merge_average)a->average : o->kind == TENSORS_SAFE ? MERGE_BOTH :
	    MERGE_AVERAGES;
	o->position = (o->n == 1 || o->share == NULL) && o->average == MERGE_BOTH;
	o->state = a->state >= 0 ? a->state : o->position && o->kind == TENSORS_SAFE;
	if (strcmp(a->out, "-") == 0 && isatty(STDOUT_FILENO))
		front_wrong("weights do not go to a terminal: say -o FILE or > FILE");
	return status_of(a, o->kind == TENSORS_ONNX ? onnx_make(o, &a->net, a->logits, a->out) : merge_run(o, a->out));
}

static int
run_split(struct args *a)
{
	if (a->merge.n != 1 || strcmp(a->out, "-") == 0)
		front_usage();
	return status_of(a, merge_split(a->merge.path[0], a->parts, a->out, watch_merge, a));
}

int
main(int argc, char *argv[])
{
	static struct args a = { .out = "-", .state = -1, .average = -1, .kind = -1, .tolerance = -1, .stop_fd = -1 };
	int status;

	front_init(argv[0], usage, help);
	parse_arguments(&a, argc, argv);
	check_options(&a);
	a.began_s = clk_s();
	progress_start(PROGRESS_SILENT);
	switch (a.verb) {
	case O_LIST:	status = show_list(a.merge.path, a.merge.n); break;
	case O_VERIFY:	status = show_faults(a.merge.path, a.merge.n); break;
	case O_DIFF:	status = a.merge.n == 2 ? show_diff(a.merge.path, a.tolerance > 0 ? a.tolerance : 0) :
	    (front_usage(), 0); break;
	case O_SPLIT:	status = run_split(&a); break;
	default:	status = run_merge(&a);
	}
	progress_clear();
	rename_free(a.rename);
	front_flush();
	return status != 0 ? status : front_status();
}
