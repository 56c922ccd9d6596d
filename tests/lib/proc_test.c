/* proc_test - tests proc against its header. */
#include "tap.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/agent/proc.h"

#include <signal.h>
#include <time.h>

static char *none[] = { NULL }, *argv[] = { (char[]){ "true" }, NULL };
static const struct role_place at = { .addr = "127.0.0.1", .bin = "", .go = "", .processors = 1 };

/* The command is missing: a start counts whether or not it succeeds. */
static void
test_start_again(void)
{
	char *missing[] = { (char[]){ "/nonexistent/pserver" }, NULL };
	const struct job j = { .workers = 1, .servers = 1, .key = "", .respawn = 2, .env = none, .argv = argv,
	    .server_argv = missing, .each = none };
	double now = clk_s();
	struct proc p;

	proc_init(&p, &(struct job_child){ JOB_SERVER, 0 });
	is(proc_start(&p, &j, &at), ERR_SYS, "a missing command does not start");
	ok(p.listen_fd >= 0 && p.memory_fd >= 0, "a server's socket and memory are kept");
	/* The clock's zero is no start: it may be almost an hour ago. */
	p.hour_at = now - 3500;
	is(proc_start_again(&p, &j, &at), ERR_SYS, "a first further start is allowed");
	ok(p.hour_at >= now && p.again == 1, "the hour begins with the first further start");
	is(proc_start_again(&p, &j, &at), ERR_SYS, "a second one is allowed");
	is(proc_start_again(&p, &j, &at), ERR_LIMIT, "a third one within the hour is not");
	is_str(err_line(), "that has happened 2 times in an hour already (see --respawn)", "the line says why");
	p.hour_at = now - 3700;
	is(proc_start_again(&p, &j, &at), ERR_SYS, "it is an hour later");
	is((int)p.again, 1, "and the count starts again then");
	proc_free(&p);
}

static int
wait_for_end(struct proc *p, int *status)
{
	const struct timespec most = { .tv_sec = 30 };
	sigset_t died;

	sigemptyset(&died);
	sigaddset(&died, SIGCHLD);
	while (!proc_ended(p, status))
		if (sigtimedwait(&died, NULL, &most) < 0)
			return 0;
	return 1;
}

static void
test_peak(void)
{
	const struct job j = { .workers = 1, .key = "", .env = none, .argv = argv, .server_argv = none, .each = none };
	int status = -1;
	struct proc p;

	proc_init(&p, &(struct job_child){ JOB_WORKER, 0 });
	is(proc_start(&p, &j, &at), 0, "a worker starts");
	ok(wait_for_end(&p, &status) && status == 0, "it ends");
	ok(p.peak_kib > 0, "its peak memory is known");
	proc_close_pipes(&p);
	p.peak_kib = UINT32_MAX;
	is(proc_start(&p, &j, &at), 0, "a worker replaces one that used more memory");
	ok(wait_for_end(&p, &status), "it ends too");
	is(p.peak_kib == UINT32_MAX, 1, "the peak is the highest of both");
	proc_free(&p);
}

int
main(void)
{
	sigset_t died;

	sigemptyset(&died);
	sigaddset(&died, SIGCHLD);
	sigprocmask(SIG_BLOCK, &died, NULL);
	test_start_again();
	test_peak();
	return done();
}
