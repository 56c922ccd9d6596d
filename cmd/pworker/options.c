/* options - the command line of pworker: joins the themes' tables, reads values, and checks what options need. */
#include "pworker/pworker.h"
#include "front.h"
#include "front_option.h"
#include "front_recipe.h"

#include "base/err.h"
#include "dataset/dataset_client.h"
#include "net/init.h"
#include "record/recs_stream.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST	256	/* getopt's number of the first row; letters are below */

/* --data: a second one adds its files to those of the first. */
static void
add_data_path(struct pworker *p, const char *option, char *path)
{
	if (p->data.n > 0)
		p->data.n--;
	if ((p->data.n > 0 && buf_put(&p->data, ",", 1) < 0) || buf_put(&p->data, path, strlen(path) + 1) < 0)
		front_die(option, ERR_NOMEM);
	p->train.data.path = (char *)p->data.p;
}

static void
check_init(struct pworker *p, const char *option, char *text)
{
	if (init_check(p->train.init = text) < 0)
		front_wrong("%s: %s", option, err_line());
}

/* --help, --recipes and --version. */
static void
print_and_exit(struct pworker *p, const char *option, char *text)
{
	(void)p, (void)text;
	if (strcmp(option, "--help") == 0)
		front_help();
	else if (strcmp(option, "--recipes") == 0)
		front_recipes();
	else
		front_version();
}

static const struct pworker_option main_options[] = {
	{ "accumulate", PWORKER_WHOLE, PWORKER_MEMBER(train.accumulate), 1, 65536, .needs = NEED_TRAINING },
	{ "data", PWORKER_VALUE, .apply = add_data_path },
	{ "data-key-file", PWORKER_TEXT, PWORKER_MEMBER(data_key), .needs = NEED_REMOTE },
	{ "epochs", PWORKER_WHOLE, PWORKER_MEMBER(train.epochs), 0, UINT32_MAX, .needs = NEED_TRAINING },
	{ "help", PWORKER_ACTION, .apply = print_and_exit },
	{ "init", PWORKER_VALUE, .apply = check_init, .needs = NEED_TRAINING },
	{ "mean", PWORKER_TEXT, PWORKER_MEMBER(mean) },
	{ "print", PWORKER_FLAG, PWORKER_MEMBER(print), .needs = NEED_TRAINING },
	{ "recipes", PWORKER_ACTION, .apply = print_and_exit },
	{ "seed", PWORKER_WHOLE, PWORKER_MEMBER(train.seed), 0, 0x1p63 },
	{ "steps", PWORKER_WHOLE, PWORKER_MEMBER(train.steps), 1, 0x1p63, .needs = NEED_EPOCH },
	{ "val", PWORKER_TEXT, PWORKER_MEMBER(train.val), .needs = NEED_TRAINING },
	{ "version", PWORKER_ACTION, .apply = print_and_exit },
	{ 0 }
};

static void
settle_main_options(struct pworker *p)
{
	bool net = p->net != NULL, data = p->train.data.path != NULL;

	if (p->mode != PWORKER_TRAIN || (net && (data || p->print || p->profile > 0)))
		return;
	if (!net && p->noption > 0)
		pworker_propose(p->option[0].key);
	if (!net && !data && !p->print && p->profile == 0)
		front_missing(strchr((char *)p->command.p, ' ') != NULL ? 2 : 1, "--net and --data: are missing");
	if (!net && p->train.resume != NULL)
		front_wrong("--net: is missing, and %s names no net; the first line of the run's log has it",
		    p->train.resume);
	if (!net && p->resume_last)
		front_wrong("--net: is missing; --resume-last may find no checkpoint, and then the run starts with it");
	front_wrong("%s", net ? "--data: is missing; name the records to train on" :
	    "--net: is missing; name a net such as resnet, or the path of a script");
}

static const struct pworker_theme main_theme = { main_options, settle_main_options };

static const struct pworker_theme *const theme[] = {
	&pworker_data_theme, &pworker_device_theme, &pworker_job_theme, &pworker_eval_theme, &pworker_checkpoint_theme,
	&pworker_learn_theme, &pworker_net_theme, &pworker_log_theme, &main_theme
};
#define THEMES	(sizeof(theme) / sizeof(*theme))

/* The i-th row of all tables, or NULL after the last. */
static const struct pworker_option *
get_option(size_t i)
{
	for (size_t k = 0; k < THEMES; k++)
		for (const struct pworker_option *o = theme[k]->options; o->name != NULL; o++)
			if (i-- == 0)
				return o;
	return NULL;
}

static void
list_long_options(struct option *longs)
{
	const struct pworker_option *o;

	for (int i = 0; (o = get_option((size_t)i)) != NULL; i++) {
		assert(i < PWORKER_OPTIONS);
		longs[i] = (struct option){ o->name,
		    o->kind == PWORKER_FLAG || o->kind == PWORKER_SET || o->kind == PWORKER_HELP ||
		    o->kind == PWORKER_ACTION ? no_argument : required_argument, NULL, FIRST + i };
	}
}

const char *
pworker_nearest(const char *word)
{
	struct option longs[PWORKER_OPTIONS + 1] = { { 0 } };

	list_long_options(longs);
	return front_nearest(word, longs);
}

enum pworker_given
pworker_given(const struct pworker *p, const char *option)
{
	const struct pworker_option *o;

	for (size_t i = 0; (o = get_option(i)) != NULL; i++)
		if (strcmp(o->name, option) == 0)
			return (enum pworker_given)p->given[i];
	assert(!"a name of an option");
	return PWORKER_ABSENT;
}

/* Reads 1 to max numbers with commas between them, and returns how many. */
static uint32_t
parse_numbers(const struct pworker_option *o, const char *option, char *text, float *v, uint32_t max)
{
	uint32_t n = 0;

	for (char *one; (one = strsep(&text, ",")) != NULL; v[n++] = (float)front_real(option, one, o->lo, o->hi))
		if (n == max)
			front_wrong("%s: has more than %u numbers", option, max);
	return n;
}

/* LO,HI, or one number for both. */
static void
set_range(const struct pworker_option *o, const char *option, char *text, struct aug_range *to)
{
	float v[2];

	if (parse_numbers(o, option, text, v, 2) == 1)
		v[1] = v[0];
	if (v[0] > v[1])
		front_wrong("%s: '%g,%g' is not LO,HI", option, (double)v[0], (double)v[1]);
	*to = (struct aug_range){ v[0], v[1] };
}

/* R,G,B, or one number for all. */
static void
set_channels(const struct pworker_option *o, const char *option, char *text, float to[3])
{
	uint32_t n = parse_numbers(o, option, text, to, 3);

	if (n == 2)
		front_wrong("%s: '%g,%g' is not R,G,B", option, (double)to[0], (double)to[1]);
	if (n == 1)
		to[1] = to[2] = to[0];
}

static void
apply_option(struct pworker *p, const struct pworker_option *o, char *text)
{
	void *to = (char *)p + o->at;
	char option[64];
	float v;

	snprintf(option, sizeof(option), "--%s", o->name);
	switch (o->kind) {
	case PWORKER_RANGE:	set_range(o, option, text, to); break;
	case PWORKER_SYMMETRIC:
		v = (float)front_real(option, text, o->lo, o->hi);
		*(struct aug_range *)to = (struct aug_range){ -v, v };
		break;
	case PWORKER_CHANNELS:	set_channels(o, option, text, to); break;
	case PWORKER_VALUE: case PWORKER_ACTION:	o->apply(p, option, text); break;
	default:
		front_option_set(&(struct front_option){ .kind = (enum front_kind)o->kind, .at = o->at,
		    .size = o->size, .lo = o->lo, .hi = o->hi, .text = o->text }, option, text, p);
	}
}

/* Whether the word is a shortened form of the option's name: the net may have an option of that name. */
static bool
is_abbreviation(const char *name, char *argv[])
{
	bool apart = optarg != NULL && optarg == argv[optind - 1];
	const char *word = argv[optind - (apart ? 2 : 1)] + 2;

	if (strcspn(word, "=") == strlen(name))
		return false;
	optind -= apart;
	return true;
}

/* Whether a value is the name of another option, so that the value itself is missing. */
static bool
is_option(const char *value, const struct option *longs)
{
	for (; longs->name != NULL; longs++)
		if (strncmp(value, "--", 2) == 0 && strcmp(value + 2, longs->name) == 0)
			return true;
	return false;
}

/* Refuses what does not decide on the net, its batch or its device beside --profile, which needs no run's options. */
static void
check_profile(const struct pworker *p)
{
	static const char *const used[] = { "batch", "classes", "crop-size", "data", "devices", "dtype", "engine",
	    "freeze", "img-size", "init", "label-at", "loss", "net", "net-opt", "pad", "profile", "rand-resized-crop",
	    "random-scale", "resize", "resume", "seed", "shape", "start", "threads", "weight-at" };
	const struct pworker_option *o;
	struct buf others = { 0 };
	uint32_t n = 0;

	for (size_t i = 0; (o = get_option(i)) != NULL; i++) {
		bool is = false;

		for (size_t k = 0; k < sizeof(used) / sizeof(*used); k++)
			is |= strcmp(o->name, used[k]) == 0;
		if (is || p->given[i] != PWORKER_GIVEN)
			continue;
		if (buf_put_fmt(&others, "%s--%s", n++ > 0 ? ", " : "", o->name) < 0 || buf_terminate(&others) < 0)
			front_die("--profile", ERR_NOMEM);
	}
	if (n > 0)
		front_wrong("--profile: runs passes on random samples, where %s %s no effect", (char *)others.p,
		    n > 1 ? "have" : "has");
	buf_free(&others);
}

/*
 * Refuses an option of the command line that has no effect in combination with the others.  Options of a recipe are
 * exempt, because the command line may change what the recipe describes.
 */
static void
check_needs(const struct pworker *p)
{
	static const char *const mode[] = { "training", "--eval", "--predict", "--statistics" };
	const struct batch_opt *d = &p->train.data;
	const struct aug *a = &d->aug;
	bool trains = p->mode == PWORKER_TRAIN, val = p->train.val != NULL, net = p->net != NULL;
	bool print = trains && p->print;
	bool remote = (d->path != NULL && dataset_client_is_addr(d->path)) ||
	    (val && dataset_client_is_addr(p->train.val));
	bool border = (a->pad > 0 && !a->pad_reflect) || a->angles > 0 || a->turn.hi > 0 || a->shear.hi > 0 ||
	    a->side.hi > 0;
	const struct { unsigned need; bool met; const char *why; } rule[] = {
		{ NEED_TRAINING, trains, NULL },
		{ NEED_EVALUATION, !trains, "needs --eval, --predict or --statistics" },
		{ NEED_PREDICTION, p->mode == PWORKER_PREDICT, "needs --predict" },
		{ NEED_EPOCH, trains || p->mode == PWORKER_STATISTICS, "needs training or --statistics" },
		{ NEED_LABELS, p->mode != PWORKER_STATISTICS, "needs training, --eval or --predict" },
		{ NEED_EVAL, p->mode == PWORKER_EVAL, "needs --eval" },
		{ NEED_VIEWS, trains ? val : p->mode != PWORKER_STATISTICS, "needs --val, --eval or --predict" },
		{ NEED_NET, net, "needs --net" },
		{ NEED_FOREIGN, trains ? p->train.start != NULL : net,
		    "needs --start, or --net with --eval, --predict or --statistics" },
		{ NEED_RESIZED_CROP, a->resized_crop, "needs --rand-resized-crop" },
		{ NEED_BORDER, border,
		    "needs --pad without --pad-reflect, or an option that rotates, shears or bounds images" },
		{ NEED_PAD, a->pad > 0, "needs --pad" },
		{ NEED_NO_ROTATE, a->angles == 0, "does not go with --rotate" },
		{ NEED_SHUFFLE, d->shuffle, "does not go with --no-shuffle" },
		{ NEED_REMOTE, remote, "needs --data or --val HOST:PORT" },
		{ NEED_RUN, !print, "has no effect with --print, which starts no run" },
		{ NEED_PLAN, !print || p->batch != NULL, "has no effect with --print without --batch" },
		{ NEED_FILE, d->path == NULL || !recs_stream_is(d->path),
		    "does not go with a pipe, which can be read only once" },
	};
	const struct pworker_option *o;

	if (trains && p->profile > 0 && !print)
		check_profile(p);
	for (size_t i = 0; (o = get_option(i)) != NULL; i++)
		for (size_t k = 0; p->given[i] == PWORKER_GIVEN && k < sizeof(rule) / sizeof(*rule); k++) {
			if ((o->needs & rule[k].need) == 0 || rule[k].met)
				continue;
			if (rule[k].why == NULL)
				front_wrong("--%s: is for training, and does not go with %s%s", o->name, mode[p->mode],
				    p->train.ps.nservers > 0 && getenv("DMLC_NUM_ATTEMPT") != NULL ?
				    "; dlaunch -n 1 -s 0 starts no servers" : "");
			front_wrong("--%s: %s", o->name, rule[k].why);
		}
}

/* Quotes each word of the command line for a shell; control characters become question marks. */
static void
put_command(struct buf *b, char *argv[])
{
	int e = 0;

	for (size_t i = 0; argv[i] != NULL && e == 0; i++) {
		const char *word = argv[i];
		bool plain = *word != 0 && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		    "0123456789_-+=:,./@%^")] == 0;

		if ((e = buf_put_fmt(b, "%s%s", i > 0 ? " " : "", plain ? word : "'")) < 0 || plain)
			continue;
		for (; *word != 0 && e == 0; word++)
			e = *word == '\'' ? buf_put(b, "'\\''", 4) : buf_put_fmt(b, "%c",
			    (unsigned char)*word < ' ' ? '?' : *word);
		if (e == 0)
			e = buf_put(b, "'", 1);
	}
	if (e < 0 || buf_terminate(b) < 0)
		front_die(NULL, ERR_NOMEM);
}

/* The next word is an operand, after which options may follow; after "--" all words are operands. */
static bool
take_operand(struct pworker *p, int argc, char *argv[])
{
	bool last = optind > 1 && strcmp(argv[optind - 1], "--") == 0;

	if (p->operands.n == 0 && optind > 1 && !last && strncmp(argv[optind - 1], "--", 2) == 0)
		p->before = argv[optind - 1];
	for (int end = last ? argc : optind + 1; optind < end && optind < argc; optind++)
		if (buf_put(&p->operands, &argv[optind], sizeof(argv[optind])) < 0)
			front_die(NULL, ERR_NOMEM);
	return !last && optind < argc;
}

/* The name of an option that has one hyphen in place of two, at the word being parsed; or NULL. */
static const char *
find_single_hyphen(char *argv[], int argc)
{
	for (int i = optind - 1; i <= optind && i < argc; i++) {
		const char *word = argv[i], *near;

		if (word[0] == '-' && word[1] == optopt && word[2] != 0 && (near = pworker_nearest(word + 1)) != NULL &&
		    strcmp(near, word + 1) == 0)
			return near;
	}
	return NULL;
}

/* The name of the flag in a word --FLAG=VALUE that getopt_long(3) refused; or NULL. */
static const char *
find_flag_with_value(const char *word)
{
	const struct pworker_option *o = optopt >= FIRST ? get_option((size_t)(optopt - FIRST)) : NULL;

	return o != NULL && strncmp(word, "--", 2) == 0 && strcspn(word + 2, "=") == strlen(o->name) ? o->name : NULL;
}

void
pworker_options(struct pworker *p, int argc, char *argv[])
{
	struct option longs[PWORKER_OPTIONS + 1] = { { 0 } };
	const struct pworker_option *o;
	const char *near;
	int c;

	*p = (struct pworker){ .frequent = 50,
	    .learn = { .rule = OPT_SGD, .momentum = NAN, .beta2 = NAN, .eps = NAN, .trust = NAN, .wd = 1e-5 },
	    .train = { .epochs = 10, .accumulate = 1, .init = "uniform:0.07", .sched.base = 0.1,
	    .data = { .batch = 128, .shuffle = true, .aug.fill = 255, .waiting = pworker_report_wait },
	    .ps = { .nworkers = 1 } } };
	put_command(&p->command, argv);
	list_long_options(longs);
	opterr = 0;
	while ((c = front_recipe_getopt(&argc, &argv, "+:", longs)) != -1 || take_operand(p, argc, argv)) {
		if (c == -1)
			continue;
		o = c >= FIRST ? get_option((size_t)(c - FIRST)) : NULL;
		if (c == ':')
			front_wrong("%s: needs a value", argv[optind - 1]);
		else if (c == '?' && optopt != 0 && optopt < FIRST && (near = find_single_hyphen(argv, argc)) != NULL)
			front_wrong("-%s: no such option; did you mean --%s?", near, near);
		else if (c == '?' && optopt != 0 && optopt < FIRST)	/* a letter; else 0, or a row */
			front_wrong("-%c: no such option; --help lists the options", optopt);
		else if (c == '?' && (near = find_flag_with_value(argv[optind - 1])) != NULL)
			front_wrong("--%s: takes no value", near);
		else if (o == NULL || is_abbreviation(o->name, argv))
			pworker_net_option(p, argc, argv);
		else if (optarg != NULL && *optarg == 0)
			front_wrong("--%s: the value is empty", o->name);
		else if (optarg != NULL && is_option(optarg, longs))
			front_wrong("--%s: needs a value before %s", o->name, optarg);
		else {
			if (p->given[c - FIRST] != PWORKER_GIVEN)
				p->given[c - FIRST] = front_option_from() != NULL ? PWORKER_BY_RECIPE : PWORKER_GIVEN;
			apply_option(p, o, optarg);
		}
	}
	p->image = (char **)p->operands.p;
	p->nimage = p->operands.n / sizeof(*p->image);
	pworker_hold_weights(p);
	pworker_take_net(p);
	for (size_t i = 0; i < THEMES; i++)
		if (theme[i]->settle != NULL)
			theme[i]->settle(p);
	check_needs(p);
}

void
pworker_release(struct pworker *p)
{
	buf_free(&p->data);
	buf_free(&p->command);
	buf_free(&p->operands);
	buf_free(&p->learn.mults);
	buf_free(&p->server_rules);
	buf_free(&p->freeze);
	buf_free(&p->net_text);
	free(p->taken);
	free(p->batch);
	balance_free(&p->schedule);
	free(p->cuts);
	free(p->found);
	free(p->list);
	rename_free(p->start_rename);
	pworker_close_classes(&p->class);
	if (autotune_cache_close(p->autotune) < 0)
		front_say("--autotune: the kernels chosen are not stored: %s", err_line());
}
