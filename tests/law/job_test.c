/* job_test - whole processes in simulated time: no fault that a job survives changes a bit. */
#include "law/job.h"
#include "law/seeds.h"
#include "tap.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

static uint64_t seed;

/* A fault may also end the test itself. */
static void
report_signal(int signal)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "# seed %" PRIu64 ": signal %d\n", seed, signal);

	(void)!write(STDOUT_FILENO, line, (size_t)n);
	_exit(1);
}

int
main(int argc, char **argv)
{
	struct job_figures f = { .turns = 0 };
	struct seeds asked, s;
	uint64_t good = 0;

	if (!seeds_parse(argc, argv, &asked))
		return 2;
	s = seeds_or(&asked, 2000);
	signal(SIGABRT, report_signal);
	signal(SIGSEGV, report_signal);
	signal(SIGBUS, report_signal);
	for (seed = s.from; seed <= s.to && good + WORLD_BAD > seed - s.from; seed++)
		good += job_run(seed, s.trace, &f);
	is(good, seeds_count(&s), "no fault that a job survives changes a bit");
	printf("# %" PRIu64 " schedules\n", seeds_count(&s));
	for (int i = 0; i < JOB_FAULTS; i++)
		printf("# %" PRIu64 " %s\n", f.fault[i], job_fault_names[i]);
	printf("# %" PRIu64 " turns\n# %.0f seconds in simulated time\n", f.turns, f.seconds);
	return done();
}
