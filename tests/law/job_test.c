/* job_test - whole processes in simulated time: no fault that a job survives changes a bit. */
#include "law/job.h"
#include "law/seeds.h"
#include "law/sim/sys.h"
#include "tap.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#define EACH	30	/* jobs of each fault */

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

/* Jobs that have one fault alone. */
static void
test_fault(enum job_fault fault, struct job_figures *f)
{
	const uint64_t n = world_jobs(EACH), had = f->fault[fault];
	uint64_t good = 0;

	for (seed = JOB_ONE * (1 + fault) + 1; seed <= JOB_ONE * (1 + fault) + n; seed++)
		good += job_run(seed, false, f);
	is(good, n, "%s change no bit", job_fault_names[fault]);
	ok(f->fault[fault] > had, "%s happen", job_fault_names[fault]);
}

int
main(int argc, char **argv)
{
	struct job_figures f = { .turns = 0 };
	struct seeds asked, s;
	uint64_t good = 0;

	if (!seeds_parse(argc, argv, &asked))
		return 2;
	s = seeds_or(&asked, 1500);
	signal(SIGABRT, report_signal);
	signal(SIGSEGV, report_signal);
	signal(SIGBUS, report_signal);
	for (seed = s.from; seed <= s.to && good + WORLD_BAD > seed - s.from; seed++)
		good += job_run(seed, s.trace, &f);
	is(good, seeds_count(&s), "no fault that a job survives changes a bit");
	is(sys_dates(), 0, "no process asks for the date, which somebody may set");
	if (asked.to == 0)
		ok(f.changes > 0 && f.shares[0] > 0 && f.shares[1] > 0 && f.locals > 0,
		    "settings and shares change, and workers have optimizers of their own");
	for (int i = 0; i < JOB_FAULTS && asked.to == 0; i++)
		test_fault((enum job_fault)i, &f);
	printf("# %" PRIu64 " schedules\n", seeds_count(&s));
	for (int i = 0; i < JOB_FAULTS; i++)
		printf("# %" PRIu64 " %s\n", f.fault[i], job_fault_names[i]);
	printf("# %" PRIu64 " changes of settings\n# %" PRIu64 " changes of shares by a log\n# %" PRIu64
	    " changes of shares by speed\n# %" PRIu64 " local steps\n# %" PRIu64 " turns\n# %.0f seconds in simulated time\n",
	    f.changes, f.shares[0], f.shares[1], f.locals, f.turns, f.seconds);
	return done();
}
