/* main - one worker of a job, or a whole job: records in, gradients out.  See pworker(1). */
#include "pworker/pworker.h"
#include "front.h"

#include "base/clk.h"
#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPINS	"1000"	/* turns of an idle thread before it sleeps: tens of microseconds */

static const char pworker_usage[] =
    "pworker [@recipe] --net net --data train.rec [options]\n"
    "       pworker --eval | --predict | --statistics weights [options] [image ...]";
static const char pworker_help[] =
    "Training:\n"
    "  --net NAME|FILE.lua  with its options: --net-opt KEY=VALUE, or --KEY VALUE\n"
    "  --data FILE.rec,...  or HOST:PORT, --data-key-file FILE  --val FILE.rec,...\n"
    "  --epochs N (10)  --steps N  --batch N[:N...] (128)  --accumulate K  --seed N\n"
    "  --lr RATE  --momentum M (0.9)  --wd D (1e-5)  --optimizer ...: --help-learn\n"
    "  --rand-crop  --rand-mirror  --scale S  --mean FILE.bin  ...: --help-data\n"
    "  --shape CxHxW  --classes N  --loss softmax|sigmoid|squared\n"
    "  --init RULE  --start FILE  --freeze N|PATTERN  @NAME  a recipe  --recipes\n"
    "Checkpoints:\n"
    "  --save PREFIX  --resume-last  --resume FILE.safetensors  ...: --help-keep\n"
    "Evaluation:\n"
    "  --eval FILE.safetensors  print loss and accuracy; --confusion  of each class\n"
    "  --predict FILE.safetensors  print each image's class, or --top N (1)\n"
    "  --flip  --shift N  average over views  --final-views  at the end  --no-average\n"
    "  --statistics FILE.safetensors  recompute the statistics of batch norm\n"
    "Machine and job:\n"
    "  --engine cpu|ref|cuda  --devices cpu:0,cpu:1,...  --threads N  --autotune\n"
    "  --dtype f32|tf32|bf16|f16  --deterministic  --print  the net, and its memory\n"
    "  --servers HOST:PORT,...  --worker I/W  --key-file FILE or --plain\n"
    "  --async  --slack N  --updates N  --codec bf16|fp16|2bit|topk|powersgd  --shard\n"
    "  --backup B  --balance auto|LOG  --local-steps H --help-log -h --help --version\n";

static bool
is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != 0;
}

/*
 * Starts the program again with a short bound for OpenMP's idle threads, which take the processor from the decoders
 * and from other workers.  OpenMP reads its environment before main.
 */
static void
limit_spinning(char *argv[])
{
	char self[PATH_MAX];	/* the real path: /proc/self/exe would name the process "exe" */
	ssize_t n;

	if (is_set("OMP_WAIT_POLICY") || is_set("GOMP_SPINCOUNT"))
		return;
	if ((n = readlink("/proc/self/exe", self, sizeof(self) - 1)) < 0)
		return;
	self[n] = 0;
	unsetenv("OMP_WAIT_POLICY");	/* OpenMP warns about an empty one */
	setenv("GOMP_SPINCOUNT", SPINS, 1);
	execv(self, argv);
}

/* Whether a word asks for text alone.  A word that is another option's value only leaves OpenMP as it is. */
static bool
is_query(char *argv[])
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

	if (!is_query(argv))
		limit_spinning(argv);
	mem_limit_heaps();
	front_init(argv[0], pworker_usage, pworker_help);
	pworker_options(&p, argc, argv);
	if (p.mode != PWORKER_TRAIN)
		status = pworker_evaluate(&p);
	else if (p.print)
		status = pworker_print(&p);
	else if (p.profile > 0)
		status = pworker_profile(&p);
	else
		status = pworker_run(&p, began_s);
	pworker_release(&p);
	return status;
}
