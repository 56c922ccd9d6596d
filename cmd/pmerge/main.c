/* main - merges weight files into one, splits one, or shows their contents.  See pmerge(1). */
#include "front.h"
#include "front_option.h"
#include "front_progress.h"
#include "front_wait.h"
#include "pmerge/pmerge.h"

#include "base/clk.h"
#include "base/err.h"
#include "source/suffix.h"
#include "net/merge/merge.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATTERNS 256	/* most patterns of --pick, and of --drop */

static const char pmerge_usage[] =
    "pmerge [-o file] [--mean | --weights a:b... | --ema decay | --join]\n"
    "              [--pick pattern] [--drop pattern] [--rename rule] [--to format]\n"
    "              [option ...] file ...\n"
    "       pmerge --to onnx [--net net] [option ...] file ...\n"
    "       pmerge --split n -o prefix file\n"
    "       pmerge --list | --verify file ...\n"
    "       pmerge --diff [--tolerance x] file file";
static const char pmerge_help[] =
    "Merging:\n"
    "  --mean (the default)  --weights A:B:...  --ema DECAY  a moving average\n"
    "  --join  all tensors of all files         --force  if preprocessing differs\n"
    "Tensors:\n"
    "  --pick PATTERN  keep only these          --drop PATTERN  leave these out\n"
    "  --rename RULE   REGEX=TEXT, from:TABLE, to:TABLE; these three again for more\n"
    "  --state, --no-state  keep optimizer state, or not (kept of a single file)\n"
    "  --average, --no-average  moving average  --mean-image  keep it in an export\n"
    "Output:\n"
    "  -o, --output FILE (standard output)      --split N  files of whole tensors\n"
    "  --to safetensors|params|onnx  by default that of FILE's name: .params, .onnx\n"
    "  --logits  output what precedes the softmax          -h, --help  --version\n"
    "  --net NAME|FILE.lua  --net-opt KEY=VALUE  --shape CxHxW  --classes N  for ONNX\n"
    "Looking at files:\n"
    "  --list  each tensor   --verify  name broken files, and NaN or infinite numbers\n"
    "  --diff  tensors that differ by more than --tolerance X (0); then exit with 1\n";

enum verb { MERGE, MEAN, WEIGHTS, EMA, JOIN, SPLIT, LIST, VERIFY, DIFF, VERBS };

/* The command line. */
struct args {
	struct merge_opt merge;
	struct rename_rules *rename;
	char		*pick[PATTERNS], *drop[PATTERNS];
	double		 share[MERGE_FILES];
	const char	*out, *weights;
	double		 decay, began_s;
	double		 tolerance;	/* below 0: not given */
	uint32_t	 parts;
	struct onnx_net	 net;
	bool		 logits, exports;	/* exports: --rename to:TABLE */
	int		 stop_fd, stopped;	/* -1: not open yet; the exit status after a signal, or 0 */
	enum verb	 verb;
	int		 state, average, kind;	/* -1: not given */
};

static void
choose_verb(void *args, const char *option, char *text)
{
	static const char *const names[VERBS] = { "", "--mean", "--weights", "--ema", "--join", "--split", "--list",
		"--verify", "--diff" };
	struct args *a = args;
	enum verb verb = MEAN;

	while (strcmp(names[verb], option) != 0)
		verb++;
	if (a->verb != MERGE && a->verb != verb)
		front_wrong("more than one of --mean, --weights, --ema, --join, --split, --list, --verify and --diff");
	a->verb = verb;
	if (verb == EMA)
		a->decay = front_real(option, text, 0, 1);
	else if (verb == SPLIT)
		a->parts = (uint32_t)front_num(option, text, 1, 99999);
	else if (verb == WEIGHTS)
		a->weights = text;
}

static void
add_pattern(void *args, const char *option, char *pattern)
{
	struct args *a = args;
	bool picks = strcmp(option, "--pick") == 0;
	uint32_t *n = picks ? &a->merge.npick : &a->merge.ndrop;

	if (*n == PATTERNS)
		front_wrong("%s: more than %d patterns", option, PATTERNS);
	(picks ? a->pick : a->drop)[(*n)++] = pattern;
}

static void
add_rule(void *args, const char *option, char *rule)
{
	struct args *a = args;

	if (a->rename == NULL && rename_new(&a->rename) < 0)
		front_die(option, ERR_NOMEM);
	if (rename_add(a->rename, rule) < 0)
		front_wrong("%s: %s", option, err_line());
	a->exports |= strncmp(rule, "to:", 3) == 0;
}

static void
add_net_option(void *args, const char *option, char *text)
{
	struct args *a = args;

	if (script_opt_take(a->net.option, &a->net.noption, text) < 0)
		front_wrong("%s: %s", option, err_line());
}

static void
parse_net_shape(void *args, const char *option, char *text)
{
	struct args *a = args;

	front_shape(option, text, &a->net.c, &a->net.h, &a->net.w);
}

#define MEMBER(m)	FRONT_MEMBER(struct args, m)

static const struct front_word formats[] = {
	{ "safetensors", TENSORS_SAFE }, { "params", TENSORS_PARAMS }, { "onnx", TENSORS_ONNX }, { NULL, 0 }
};
static const struct front_option merge_options[] = {
	{ "average", FRONT_SET, MEMBER(average), MERGE_AVERAGES },
	{ "classes", FRONT_WHOLE, MEMBER(net.classes), 1, 1 << 24 },
	{ "diff", FRONT_ACTION, .apply = choose_verb },
	{ "drop", FRONT_VALUE, .apply = add_pattern },
	{ "ema", FRONT_VALUE, .apply = choose_verb },
	{ "force", FRONT_FLAG, MEMBER(merge.force) },
	{ "join", FRONT_ACTION, .apply = choose_verb },
	{ "list", FRONT_ACTION, .apply = choose_verb },
	{ "logits", FRONT_FLAG, MEMBER(logits) },
	{ "mean", FRONT_ACTION, .apply = choose_verb },
	{ "mean-image", FRONT_FLAG, MEMBER(merge.mean_image) },
	{ "net", FRONT_TEXT, MEMBER(net.name) },
	{ "net-opt", FRONT_VALUE, .apply = add_net_option },
	{ "no-average", FRONT_SET, MEMBER(average), MERGE_WEIGHTS },
	{ "no-state", FRONT_SET, MEMBER(state), 0 },
	{ "output", FRONT_TEXT, MEMBER(out), .letter = 'o' },
	{ "pick", FRONT_VALUE, .apply = add_pattern },
	{ "rename", FRONT_VALUE, .apply = add_rule },
	{ "shape", FRONT_VALUE, .apply = parse_net_shape },
	{ "split", FRONT_VALUE, .apply = choose_verb },
	{ "state", FRONT_SET, MEMBER(state), 1 },
	{ "to", FRONT_WORD, MEMBER(kind), .words = formats, .text = "none of safetensors, params, onnx" },
	{ "tolerance", FRONT_REAL, MEMBER(tolerance), 0, 1e30 },
	{ "verify", FRONT_ACTION, .apply = choose_verb },
	{ "weights", FRONT_VALUE, .apply = choose_verb },
	{ 0 }
};

/* The format of --to, or that of the output's name. */
static enum tensors_kind
get_kind(const struct args *a)
{
	static const char *const pickles[] = { ".pt", ".pth", ".ckpt", ".pkl" };
	static const char *const others[] = { ".h5", ".hdf5", ".keras", ".npz", ".npy", ".pb", ".tflite", ".gguf" };

	if (a->kind >= 0)
		return (enum tensors_kind)a->kind;
	for (size_t i = 0; i < sizeof(pickles) / sizeof(*pickles); i++)
		if (suffix_is(a->out, strlen(a->out), pickles[i]))
			front_wrong("%s: pmerge writes no pickles; name it .safetensors, which PyTorch reads with "
			    "safetensors.torch.load_file()", a->out);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (suffix_is(a->out, strlen(a->out), others[i]))
			front_wrong("%s: pmerge writes .safetensors, .params and .onnx; --to chooses one whatever "
			    "the name", a->out);
	if (suffix_is(a->out, strlen(a->out), ".params"))
		return TENSORS_PARAMS;
	return suffix_is(a->out, strlen(a->out), ".onnx") ? TENSORS_ONNX : TENSORS_SAFE;
}

static void
parse_arguments(struct args *a, int argc, char *argv[])
{
	front_options(&argc, &argv, FRONT_ANYWHERE, merge_options, a);
	if (optind == argc)
		front_missing(argc, "no file of weights is named");
	if (argc - optind > MERGE_FILES)
		front_wrong("more than %d files", MERGE_FILES);
	a->merge.path = argv + optind;
	a->merge.n = (uint32_t)(argc - optind);
}

/* Refuses an option without effect. */
static void
check_options(const struct args *a)
{
	bool shows = a->verb == LIST || a->verb == VERIFY || a->verb == DIFF;
	bool merges = !shows && a->verb != SPLIT;
	bool onnx = merges && get_kind(a) == TENSORS_ONNX, net = onnx && a->net.name != NULL;
	const struct { bool said, fits; const char *option, *with; } all[] = {
		{ strcmp(a->out, "-") != 0, !shows, "output", "merging and --split" },
		{ a->merge.npick > 0, merges, "pick", "merging" },
		{ a->merge.ndrop > 0, merges, "drop", "merging" },
		{ a->rename != NULL, merges, "rename", "merging" },
		{ a->state >= 0, merges, a->state ? "state" : "no-state", "merging" },
		{ a->average >= 0, merges, a->average == MERGE_AVERAGES ? "average" : "no-average", "merging" },
		{ a->merge.force, merges, "force", "merging" },
		{ a->merge.mean_image, merges && !onnx, "mean-image", "merging to safetensors or params" },
		{ a->kind >= 0, merges, "to", "merging" },
		{ a->logits, onnx, "logits", "ONNX models" },
		{ a->net.name != NULL, onnx, "net", "ONNX models" },
		{ a->net.noption > 0, net, "net-opt", "--net" },
		{ a->net.c > 0, net, "shape", "--net" },
		{ a->net.classes > 0, net, "classes", "--net" },
		{ a->tolerance >= 0, a->verb == DIFF, "tolerance", "--diff" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].said && !all[i].fits)
			front_wrong("--%s: goes only with %s", all[i].option, all[i].with);
	if (a->verb == DIFF && a->merge.n != 2)
		front_wrong("--diff: needs two files, not %u", a->merge.n);
}

/* Parses a weight for each file, as in 3:1 or 0.75:0.25.  Shares are parts of their sum. */
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

/* The average, average = decay * average + (1 - decay) * file from the first file on, is a mean with these shares. */
static void
weigh_series(struct args *a)
{
	double share = 1;

	for (uint32_t i = a->merge.n; i-- > 0; share *= a->decay)
		a->share[i] = i > 0 ? share * (1 - a->decay) : share;
}

/* A pipe or a device is written directly, so that no partial file has to be removed. */
static bool
is_file(const char *out)
{
	struct stat st;

	return strcmp(out, "-") != 0 && (stat(out, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)));
}

/* A signal ends the merge without a partial file.  Nothing is written before the first call. */
static int
watch_merge(void *arg, uint64_t done, uint64_t all)
{
	struct args *a = arg;
	struct progress_line line = { 0 };
	double ran = clk_s() - a->began_s;

	front_wait_end();
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

static void
say_idle_pattern(void *arg, const char *pattern)
{
	(void)arg;
	front_say("--drop: no tensor is called %s", pattern);
}

/* Returns the exit status; dies of an error. */
static int
finish_output(const struct args *a, int e)
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
	if (a->verb == WEIGHTS)
		parse_weights(a);
	if (a->verb == EMA)
		weigh_series(a);
	o->step = watch_merge;
	o->idle = say_idle_pattern;
	o->arg = a;
	o->share = a->verb == JOIN ? NULL : a->share;
	o->rename = a->rename;
	o->pick = a->pick;
	o->drop = a->drop;
	o->kind = get_kind(a);
	o->average = a->average >= 0 ? (enum merge_average)a->average : o->kind == TENSORS_SAFE ? MERGE_BOTH :
	    MERGE_AVERAGES;
	o->position = (o->n == 1 || o->share == NULL) && o->average == MERGE_BOTH;
	/* Programs whose names the arrays get do not know the state. */
	o->state = a->state >= 0 ? a->state : o->position && o->kind == TENSORS_SAFE && !a->exports;
	front_output(strcmp(a->out, "-") != 0 ? "-o" : "standard output", a->out, (const char *const *)o->path, o->n);
	if (strcmp(a->out, "-") == 0 && isatty(STDOUT_FILENO))
		front_wrong("weights cannot be written to a terminal; use -o FILE");
	return finish_output(a, o->kind == TENSORS_ONNX ? onnx_make(o, &a->net, a->logits, a->out) :
	    merge_run(o, a->out));
}

static int
run_split(struct args *a)
{
	if (a->merge.n != 1 || strcmp(a->out, "-") == 0)
		front_wrong("--split: needs -o PREFIX and one file");
	return finish_output(a, merge_split(a->merge.path[0], a->parts, a->out, watch_merge, a));
}

int
main(int argc, char *argv[])
{
	static struct args a = { .out = "-", .state = -1, .average = -1, .kind = -1, .tolerance = -1, .stop_fd = -1 };
	int status;

	front_init(argv[0], pmerge_usage, pmerge_help);
	parse_arguments(&a, argc, argv);
	check_options(&a);
	for (uint32_t i = 0; i < a.merge.n; i++)
		if (a.merge.n == 1 || strcmp(a.merge.path[i], "-") == 0)
			front_wait_read(a.merge.path[i]);
	a.began_s = clk_s();
	progress_start(PROGRESS_SILENT);
	switch (a.verb) {
	case LIST:	status = show_list(a.merge.path, a.merge.n); break;
	case VERIFY:	status = show_faults(a.merge.path, a.merge.n); break;
	case DIFF:	status = show_diff(a.merge.path, a.tolerance > 0 ? a.tolerance : 0); break;
	case SPLIT:	status = run_split(&a); break;
	default:	status = run_merge(&a);
	}
	progress_clear();
	rename_free(a.rename);
	front_flush();
	return status != 0 ? status : front_status();
}
