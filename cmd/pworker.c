/* pworker - records in, gradients out: one worker of a job, or all of it.  See pworker(1). */
#include "front.h"
#include "pworker_batch.h"
#include "pworker_data.h"
#include "pworker_judge.h"
#include "pworker_learn.h"
#include "pworker_log.h"
#include "pworker_tracker.h"
#include "pworker_print.h"
#include "pworker_open.h"

#include "base/clk.h"
#include "base/err.h"
#include "net/init.h"
#include "net/script.h"
#include "ps/last.h"
#include "ps/train.h"
#include "wire/conn.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SERVERS	1024	/* most servers */
#define NETOPTS	64	/* most options of a net */
#define OPTIONS	128	/* of the command line, with a zero behind them */
#define SPINS	"1000"	/* of an idle thread before it sleeps: some tens of microseconds, where a pause is long */

static const char usage[] =
    "pworker --net net --data train.rec [options] [--net-option value ...]\n"
    "       pworker --eval | --predict weights --data records [options]";
static const char help[] =
    "  --net NAME|FILE.lua     lenet, inception, resnet, vgg ... or a script; see net(5)\n"
    "  --data FILE.rec,...     records to train on          --val FILE.rec,...  to validate on\n"
    "         HOST:PORT        those of a host's im2rec     --data-key-file FILE  (--key-file)\n"
    "  --epochs N (10)         --steps N  end after N steps --batch N[:N...] (128) a worker\n"
    "  --lr RATE (0.1), --momentum M (0.9), --wd DECAY (1e-5), --optimizer: --help-learn\n"
    "  --accumulate K (1)      batches a step\n"
    "  --init RULE (uniform:0.07)                           --seed N (0)\n"
    "  --shape CxHxW           of a sample                  --classes N\n"
    "  --rand-crop, --rand-mirror, --scale S and all else that is done to pictures: --help-data\n"
    "  --mean FILE.bin         mean image, made if missing\n"
    "  --save PREFIX           a checkpoint each epoch      --resume FILE.safetensors\n"
    "  --start FILE            weights by name, of whatever net; --start-rename REGEX=TEXT\n"
    "  --resume-last           go on from the newest checkpoint of --save, if there is any\n"
    "  --eval FILE.safetensors its loss and accuracy on --data, or --predict FILE: a row a picture,\n"
    "  --top N (1)             classes each; --flip: the mean with mirror images\n"
    "  --engine NAME           --threads N\n"
    "  --servers HOST:PORT,... --worker I/W                 --key-file FILE, or --plain\n"
    "  --async                 --slack N (0)                --frequent N (50)  steps a line\n"
    "  --print                 show the net; with --batch the memory it takes  --help  --version\n";

enum {
	O_ACCUMULATE = 256, O_ASYNC, O_BATCH, O_CLASSES, O_DATA, O_DATA_KEY, O_ENGINE, O_EPOCHS, O_EVAL, O_FLIP, O_FREQUENT, O_HELP,
	O_INIT, O_KEY, O_MEAN, O_NET, O_PLAIN, O_PREDICT, O_PRINT, O_RESUME, O_LAST,
	O_SAVE, O_SEED, O_SERVERS, O_SHAPE, O_SLACK, O_START, O_STARTNAME, O_STEPS, O_THREADS, O_TOP, O_VAL, O_VERSION, O_WORKER
};

static const struct option longs[] = {
	{ "accumulate", required_argument, NULL, O_ACCUMULATE },
	{ "async", no_argument, NULL, O_ASYNC },
	{ "batch", required_argument, NULL, O_BATCH },
	{ "classes", required_argument, NULL, O_CLASSES },
	{ "data", required_argument, NULL, O_DATA },
	{ "data-key-file", required_argument, NULL, O_DATA_KEY },
	{ "engine", required_argument, NULL, O_ENGINE },
	{ "epochs", required_argument, NULL, O_EPOCHS },
	{ "eval", required_argument, NULL, O_EVAL },
	{ "flip", no_argument, NULL, O_FLIP },
	{ "frequent", required_argument, NULL, O_FREQUENT },
	{ "help", no_argument, NULL, O_HELP },
	{ "init", required_argument, NULL, O_INIT },
	{ "key-file", required_argument, NULL, O_KEY },
	{ "mean", required_argument, NULL, O_MEAN },
	{ "net", required_argument, NULL, O_NET },
	{ "plain", no_argument, NULL, O_PLAIN },
	{ "predict", required_argument, NULL, O_PREDICT },
	{ "print", no_argument, NULL, O_PRINT },
	{ "resume", required_argument, NULL, O_RESUME },
	{ "resume-last", no_argument, NULL, O_LAST },
	{ "save", required_argument, NULL, O_SAVE },
	{ "seed", required_argument, NULL, O_SEED },
	{ "servers", required_argument, NULL, O_SERVERS },
	{ "shape", required_argument, NULL, O_SHAPE },
	{ "slack", required_argument, NULL, O_SLACK },
	{ "start", required_argument, NULL, O_START },
	{ "start-rename", required_argument, NULL, O_STARTNAME },
	{ "steps", required_argument, NULL, O_STEPS },
	{ "threads", required_argument, NULL, O_THREADS },
	{ "top", required_argument, NULL, O_TOP },
	{ "val", required_argument, NULL, O_VAL },
	{ "version", no_argument, NULL, O_VERSION },
	{ "worker", required_argument, NULL, O_WORKER },
	{ NULL, 0, NULL, 0 }
};

/* What the command line asks for, as text where it needs more than a number. */
struct args {
	struct train_opt train;
	struct worker_learn learn;
	const char	*net, *engine, *mean, *key, *data_key;
	struct buf	 data;		/* names with commas between */
	char		*server[SERVERS];
	struct script_opt option[NETOPTS];
	uint32_t	 noption;
	struct rename_rules *start_rename;
	uint32_t	 c, h, w, classes;
	struct worker_batch batch;
	uint64_t	 frequent;
	int		 print, last, plain;
	const char	*judged;	/* weights that are to be judged, not trained; NULL: none */
	bool		 flip;
	uint32_t	 rows, top;	/* rows a picture, most probable classes first; rows 0: a score alone */
	char		*list;		/* of servers, by a tracker's scheduler */
	char		*found;		/* by last; the checkpoint to resume from, or NULL */
};

static volatile sig_atomic_t stop;

static void
on_signal(int sig)
{
	if (stop != 0)
		_exit(128 + sig);	/* asked twice: at once */
	stop = sig;
}

/*
 * OpenMP reads its environment before main: idle threads that spin take the
 * processor from the decoders and from other workers, so they get a short bound.
 */
static void
spin_little(char *argv[])
{
	char self[PATH_MAX];	/* its real path: by /proc/self/exe the process would be called "exe" */
	ssize_t n;

	if (getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL)
		return;
	if ((n = readlink("/proc/self/exe", self, sizeof(self) - 1)) < 0)
		return;
	self[n] = 0;
	setenv("GOMP_SPINCOUNT", SPINS, 1);
	execv(self, argv);
}

static void
shape(struct args *a, const char *text)
{
	unsigned c, h, w;
	char tail;

	if ((sscanf(text, "%5ux%5ux%5u%c", &c, &h, &w, &tail) != 3 &&
	    sscanf(text, "%5u,%5u,%5u%c", &c, &h, &w, &tail) != 3) || c == 0 || h == 0 || w == 0)
		front_wrong("--shape: '%.64s' is not CxHxW or C,H,W, as in 3x28x28", text);
	a->c = c;
	a->h = h;
	a->w = w;
}

static void
servers(struct args *a, char *text)
{
	uint32_t n = 0;

	for (char *s = strtok(text, ","); s != NULL; s = strtok(NULL, ",")) {
		if (n == SERVERS)
			front_wrong("--servers: more than %d", SERVERS);
		a->server[n++] = s;
	}
	if (n == 0)
		front_wrong("--servers: no address");
	a->train.ps.server = a->server;
	a->train.ps.nservers = n;
}

/* Given again, it adds to what was given before. */
static void
data(struct args *a, const char *path)
{
	if (a->data.n > 0)
		a->data.n--;
	if ((a->data.n > 0 && buf_put(&a->data, ",", 1) < 0) || buf_put(&a->data, path, strlen(path) + 1) < 0)
		front_die("--data", ERR_NOMEM);
	a->train.data.path = (char *)a->data.p;
}

/* An option that is not pworker's is the net's: --layers 110 or --layers=110. */
static void
net_option(struct args *a, int argc, char *argv[])
{
	char *key = argv[optind - 1], *value;

	if (strncmp(key, "--", 2) != 0 || key[2] == 0)
		front_usage();
	key += 2;
	if (a->noption == NETOPTS)
		front_wrong("--%s: more than %d options of a net", key, NETOPTS);
	if ((value = strchr(key, '=')) != NULL)
		*value++ = 0;
	else if (optind < argc)
		value = argv[optind++];
	else
		front_wrong("--%s: neither an option of pworker nor one of a net with its value", key);
	a->option[a->noption++] = (struct script_opt){ key, value };
}

static void
start_rule(struct args *a, const char *rule)
{
	if (a->start_rename == NULL && rename_new(&a->start_rename) < 0)
		front_die("--start-rename", ERR_NOMEM);
	if (rename_add(a->start_rename, rule) < 0)
		front_wrong("--start-rename: %s", err_line());
	a->train.start_rename = a->start_rename;
}

static void
arguments(struct args *a, int argc, char *argv[])
{
	struct option all[OPTIONS] = { { 0 } };
	struct train_opt *t = &a->train;
	size_t n = 0;
	int c;

	for (const struct option *o = longs; o->name != NULL; o++)
		all[n++] = *o;
	for (const struct option *o = worker_data_longs; o->name != NULL; o++)
		all[n++] = *o;
	for (const struct option *o = worker_learn_longs; o->name != NULL; o++)
		all[n++] = *o;
	worker_learn_init(&a->learn);
	assert(n < OPTIONS);
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", all, NULL)) != -1)
		switch (c) {
		case O_ACCUMULATE: t->accumulate = (uint32_t)front_num("--accumulate", optarg, 1, 65536); break;
		case O_ASYNC:	t->ps.slack = GATE_ASYNC; break;
		case O_BATCH:	worker_batch_take(&a->batch, optarg); break;
		case O_CLASSES:	a->classes = (uint32_t)front_num("--classes", optarg, 1, 1 << 24); break;
		case O_DATA:	data(a, optarg); break;
		case O_DATA_KEY: a->data_key = optarg; break;
		case O_ENGINE:	a->engine = optarg; break;
		case O_EPOCHS:	t->epochs = (uint64_t)front_num("--epochs", optarg, 0, UINT32_MAX); break;
		case O_EVAL:	a->judged = optarg; a->rows = 0; break;
		case O_FLIP:	a->flip = true; break;
		case O_FREQUENT: a->frequent = (uint64_t)front_num("--frequent", optarg, 1, INT64_MAX); break;
		case O_HELP:	front_help();
		case O_INIT:
			if (init_check(t->init = optarg) < 0)
				front_wrong("--init: %s", err_line());
			break;
		case O_KEY:	a->key = optarg; break;
		case O_MEAN:	a->mean = optarg; break;
		case O_NET:	a->net = optarg; break;
		case O_PREDICT:	a->judged = optarg; a->rows = 1; break;
		case O_PLAIN:	a->plain = 1; break;
		case O_PRINT:	a->print = 1; break;
		case O_RESUME:	t->resume = optarg; break;
		case O_LAST:	a->last = 1; break;
		case O_SAVE:
			if (*(t->save = optarg) == 0)
				front_wrong("--save: a prefix of no letters");
			break;
		case O_SEED:	t->seed = (uint64_t)front_num("--seed", optarg, 0, INT64_MAX); break;
		case O_SERVERS:	servers(a, optarg); break;
		case O_SHAPE:	shape(a, optarg); break;
		case O_SLACK:	t->ps.slack = (uint32_t)front_num("--slack", optarg, 0, UINT32_MAX - 1); break;
		case O_START:	t->start = optarg; break;
		case O_STARTNAME: start_rule(a, optarg); break;
		case O_STEPS:	t->steps = (uint64_t)front_num("--steps", optarg, 1, INT64_MAX); break;
		case O_THREADS:	t->threads = (unsigned)front_num("--threads", optarg, 1, 1024); break;
		case O_TOP:	a->top = (uint32_t)front_num("--top", optarg, 1, 1 << 24); break;
		case O_VAL:	t->val = optarg; break;
		case O_VERSION:	printf("pworker (tally) %s\n", TALLY_VERSION); front_flush(); exit(0);
		case O_WORKER:	front_part("--worker", optarg, &t->ps.rank, &t->ps.nworkers); break;
		case ':':	front_wrong("%s: needs a value", argv[optind - 1]);
		default:
			if (c >= WORKER_LEARN)
				worker_learn_take(&a->learn, c, optarg);
			else if (c >= WORKER_DATA)
				worker_data_take(&t->data, c, optarg);
			else
				net_option(a, argc, argv);
		}
	worker_data_settle(&t->data);
	worker_learn_settle(&a->learn, &t->ps);
	t->sched = a->learn.sched;
	if (optind < argc || (a->net == NULL && a->judged == NULL) || (t->data.path == NULL && !a->print))
		front_usage();
	if (t->ps.nservers == 0 && t->ps.nworkers > 1)
		front_wrong("--worker: several workers need --servers");
	if (t->ps.nservers > 0 && a->key == NULL && !a->plain)
		front_wrong("--servers: needs the job's --key-file");
	if (a->last && t->save == NULL)
		front_wrong("--resume-last: needs --save");
}

static void
read_key(const struct args *a, uint8_t key[CONN_KEY])
{
	int e;

	memset(key, 0, CONN_KEY);	/* what --plain has: all know it */
	if (a->key != NULL && !a->plain && (e = conn_key_read(a->key, key)) < 0)
		front_die(a->key, e);
}

/* Who is told nothing by options may be by a tracker's environment.  NULL: nobody. */
static struct meet *
meet_others(struct args *a, uint8_t key[CONN_KEY])
{
	struct worker_opt *ps = &a->train.ps;
	struct meet_env env;
	struct meet *m = NULL;
	bool tracker = !a->print && ps->nservers == 0 && ps->nworkers == 1 && worker_tracker(&env, a->key, a->plain);

	read_key(a, key);
	if (tracker) {
		m = worker_tracker_join(&env, key, &a->list);
		servers(a, a->list);
		ps->rank = env.rank;
		ps->nworkers = env.workers;
	}
	worker_batch_settle(&a->batch, &a->train);
	return m;
}

/* Worker 0 reads the checkpoint; a run that has none yet begins as it would without the option. */
static void
find_last(struct args *a)
{
	int e;

	if (!a->last || a->train.ps.rank != 0)
		return;
	if ((e = last_find(a->train.save, &a->found)) < 0)
		front_die("--resume-last", e);
	if (e > 0)
		a->train.resume = a->found;
	front_say("resumes from %s", a->train.resume != NULL ? a->train.resume : "the beginning: there is no checkpoint yet");
}

/* With --batch also what training takes on the engine. */
static void
print_net(const struct args *a, const struct graph *g)
{
	const struct engine *engine = a->batch.each != NULL ? engine_find(a->engine) : NULL;

	if (a->batch.each != NULL && engine == NULL)
		front_die("--engine", ERR_ARG);
	worker_print(g, engine, a->train.threads, a->train.data.batch,
	    opt_states(a->train.ps.hyper.rule));
}

static void
catch_signals(void)
{
	static const int sig[] = { SIGINT, SIGTERM };
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;

	sigemptyset(&sa.sa_mask);
	for (int i = 0; i < 2; i++)	/* what the caller has us ignore stays ignored */
		if (sigaction(sig[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(sig[i], &sa, NULL);
}

/* Before the training begins there is nothing to keep, and a signal ends the process as it always does. */
static void
on_event(void *arg, const struct train_event *ev)
{
	if (ev->kind == TRAIN_START)
		catch_signals();
	worker_log_event(arg, ev);
}

/* Weights that know their net, and records: no training. */
static int
judge(struct args *a)
{
	struct weights f;
	struct judge_opt o = { .engine = engine_find(a->engine), .threads = a->train.threads, .weights = &f, .flip = a->flip };
	uint8_t key[CONN_KEY];
	const char *file = a->data_key != NULL ? a->data_key : a->key;
	float *mean = NULL;
	int e;

	if (o.engine == NULL)
		front_die("--engine", ERR_ARG);
	if ((e = weights_load(a->judged, NULL, &f)) < 0)
		front_die(NULL, e);
	if (file != NULL && (e = conn_key_read(file, key)) < 0)
		front_die(file, e);
	a->train.data.recs = worker_open_records(a->train.data.path, file != NULL ? key : NULL);
	if (a->mean != NULL)
		mean = worker_open_mean(a->mean, &a->train, f.graph);
	o.data = a->train.data;
	o.data.aug.mean = mean;
	if (a->rows > 0)
		worker_judge_rows(&o, a->top > 0 ? a->top : 1);
	else
		worker_judge_score(&o);
	recs_close(a->train.data.recs);
	weights_free(&f);
	free(mean);
	return front_status();
}

static void
release(struct args *a)
{
	buf_free(&a->data);
	buf_free(&a->learn.mults);
	free(a->batch.each);
	free(a->found);
	free(a->list);
	rename_free(a->start_rename);
}

int
main(int argc, char *argv[])
{
	struct args a = { .frequent = 50, .train = { .epochs = 10, .accumulate = 1, .init = "uniform:0.07",
	    .data = { .batch = 128, .shuffle = true, .aug.fill = 255 },
	    .ps = { .nworkers = 1 } } };
	struct worker_log l = { .began = clk_s() };
	uint8_t key[CONN_KEY], data_key[CONN_KEY], *recs_key;
	struct meet *others;
	struct graph *g;
	float *mean = NULL;
	int e;

	spin_little(argv);
	front_init(argv[0], usage, help);
	arguments(&a, argc, argv);
	if (a.judged != NULL) {
		worker_batch_settle(&a.batch, &a.train);
		e = judge(&a);
		release(&a);
		return e;
	}
	others = meet_others(&a, key);
	if ((e = script_run(a.net, a.c, a.h, a.w, a.classes, a.option, a.noption, &g)) < 0)
		front_die(NULL, e);
	if (a.print) {
		print_net(&a, g);
		graph_free(g);
		release(&a);
		return 0;
	}
	if ((a.train.engine = engine_find(a.engine)) == NULL)
		front_die("--engine", ERR_ARG);
	if (a.data_key != NULL && (e = conn_key_read(a.data_key, data_key)) < 0)
		front_die(a.data_key, e);
	recs_key = a.data_key != NULL ? data_key : a.key != NULL ? key : NULL;
	a.train.data.recs = worker_open_records(a.train.data.path, recs_key);
	if (a.train.val != NULL)
		a.train.val_recs = worker_open_records(a.train.val, recs_key);
	if (a.train.val != NULL && a.train.val_recs == NULL)
		front_wrong("--val: %s is a pipe, and records to validate on are read again and again", a.train.val);
	if (a.mean != NULL)
		mean = worker_open_mean(a.mean, &a.train, g);
	find_last(&a);
	signal(SIGPIPE, SIG_IGN);

	l.rank = a.train.ps.rank;
	l.nworkers = a.train.ps.nworkers;
	l.sync = a.train.ps.slack == GATE_SYNC;
	l.net = a.net;
	l.engine = a.train.engine->name;
	l.frequent = a.frequent;
	gethostname(l.host, sizeof(l.host) - 1);
	a.train.ps.graph = g;
	a.train.ps.key = key;
	a.train.ps.incarnation = clk_date_ns();
	a.train.data.aug.mean = mean;
	a.train.stop = &stop;
	a.train.event = on_event;
	a.train.arg = &l;

	e = train_run(&a.train);
	recs_close(a.train.data.recs);
	recs_close(a.train.val_recs);
	free(mean);
	release(&a);
	meet_leave(others);
	graph_free(g);
	if (e == ERR_STOP)
		return 128 + stop;
	if (e < 0)
		front_die(NULL, e);
	return front_status();
}
