/* main - records in, gradients out: one worker of a job, or all of it.  See pworker(1). */
#include "pworker/pworker.h"
#include "front.h"

#include "base/clk.h"
#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPINS	"1000"	/* of an idle thread before it sleeps: some tens of microseconds, where a pause is long */

static const char usage[] =
    "pworker [@recipe] --net net --data train.rec [--net-opt key=value] [options]\n"
    "       pworker --eval | --predict | --statistics weights --data records [options]\n"
    "       pworker --eval | --predict weights [options] [picture ...]";
static const char help[] =
    "  --net NAME|FILE.lua     lenet, resnet ... or your own --net-opt KEY=VALUE, or --KEY VALUE\n"
    "  --data FILE.rec,...     records to train on          --val FILE.rec,...  to validate on\n"
    "         HOST:PORT        those of a host's im2rec     --data-key-file FILE  (--key-file)\n"
    "  --epochs N (10)         --steps N  end after N steps --batch N[:N...] (128) a worker\n"
    "  --lr RATE (0.1), --momentum M (0.9), --wd DECAY (1e-5), --optimizer: --help-learn\n"
    "  --accumulate K (1)      batches a step               --freeze N|PATTERN  blocks or arrays\n"
    "  --init RULE (uniform:0.07), --seed N (0)             --mean FILE.bin  image, made if missing\n"
    "  --shape CxHxW           of a sample                  --classes N\n"
    "  --rand-crop, --rand-mirror, --scale S and all else that is done to pictures: --help-data\n"
    "  --save PREFIX           a checkpoint each epoch      --resume FILE.safetensors\n"
    "  --resume-last           from the newest; --start FILE, --best, --patience N, --keep N: --help-keep\n"
    "  --eval FILE.safetensors its loss and accuracy on --data, or --predict FILE: a row a picture,\n"
    "  --top N (1)             classes each; --no-average: the weights themselves\n"
    "  --flip, --shift N       these and validation: the mean over mirror images, and shifts by N pixels\n"
    "  --statistics FILE       the weights with batch norm's statistics of --data, to standard output\n"
    "  --engine cpu|ref|cuda   --threads N                  --dtype f32|tf32|bf16|f16\n"
    "  --servers HOST:PORT,... --worker I/W                 --key-file FILE, or --plain\n"
    "  --async                 --slack N (0)                --devices cpu:0,cpu:1,...\n"
    "  --frequent N (50)       steps a line for people, and all else that is told: --help-log\n"
    "  --deterministic, --autotune  which kernels           --print  the net; with --batch its memory\n"
    "  @NAME                   the options of a recipe; --recipes: which there are  --help  --version\n";

static bool
is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != 0;
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

	if (is_set("OMP_WAIT_POLICY") || is_set("GOMP_SPINCOUNT"))
		return;
	if ((n = readlink("/proc/self/exe", self, sizeof(self) - 1)) < 0)
		return;
	self[n] = 0;
	unsetenv("OMP_WAIT_POLICY");	/* of an empty one it would complain again */
	setenv("GOMP_SPINCOUNT", SPINS, 1);
	execv(self, argv);
}

/*
 * Does a word ask for text alone, which has no thread to idle?  One that is another option's value, as in --save
 * --print, leaves OpenMP as it is, no more.
 */
static bool
only_tells(char *argv[])
{
	static const char *const word[] = { "--help", "--print", "--recipes", "--version" };

	for (; *argv != NULL; argv++)
		for (size_t i = 0; i < sizeof(word) / sizeof(*word); i++)
			if (strncmp(*argv, word[i], strlen(word[i])) == 0)
				return true;
	return false;
}

int
main(int argc, char *argv[])
{
	double began_s = clk_s();
	struct pworker p;
	int status;

	if (!only_tells(argv))
		spin_little(argv);
	mem_limit_heaps();
	front_init(argv[0], usage, help);
	worker_options(&p, argc, argv);
	if (p.judged != NULL)
		status = worker_judge(&p);
	else if (p.print)
		status = worker_print(&p);
	else
		status = worker_run(&p, began_s);
	worker_release(&p);
	return status;
}
