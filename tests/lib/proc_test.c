/* proc_test - tests proc against its header. */
#include "tap.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/agent/proc.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char *none[] = { NULL }, *argv[] = { (char[]){ "true" }, NULL };
static const struct role_place at = { .addr = "127.0.0.1", .bin = "", .go = "", .processors = 1 };

/* The command is missing: a start counts whether or not it succeeds. */
static void
test_start_again(void)
{
	char *missing[] = { (char[]){ "/nonexistent/pserver" }, NULL };
	struct job_child server = { JOB_SERVER, 0, JOB_NEW };
	const struct job j = { .workers = 1, .servers = 1, .key = "", .respawn = 2, .env = none, .argv = argv,
	    .server_argv = missing, .each = none, .child = &server, .nchildren = 1 };
	double now = clk_s();
	struct proc p;

	proc_init(&p, &j, 0, "", PROC_HOLD_S);
	is(proc_start(&p, &j, &at), ERR_SYS, "a missing command does not start");
	ok(p.listen_fd >= 0 && p.memory_fd >= 0, "a server's socket and memory are kept");
	/* The clock's zero is no start: it may be almost an hour ago. */
	p.hour_at = now - 3500;
	is(proc_start_again(&p, &j, &at), ERR_SYS, "a first further start is allowed");
	ok(p.hour_at >= now && p.again == 1, "the hour begins with the first further start");
	is(proc_start_again(&p, &j, &at), ERR_SYS, "a second further start is allowed");
	is(proc_start_again(&p, &j, &at), ERR_LIMIT, "a third one within the hour is refused");
	is_str(err_line(), "--respawn allows 2 in an hour", "the line says why");
	p.hour_at = now - 3700;
	is(proc_start_again(&p, &j, &at), ERR_SYS, "a process can be started again after an hour");
	is((int)p.again, 1, "the count of restarts begins again after an hour");
	proc_free(&p);
}

static bool stray;

static int
wait_for_end(struct proc *p, int *status)
{
	while (!proc_ended(p, status, &stray))
		if (poll(&(struct pollfd){ .fd = p->shim, .events = POLLIN }, 1, 30000) != 1)
			return 0;
	return 1;
}

/* Waits for a line of output. */
static const char *
read_line(struct proc *p)
{
	static char line[64];
	const char *text;
	size_t n = 0;

	while (proc_next_lines(p, 0, &text, &n) == ERR_AGAIN)
		if (poll(&(struct pollfd){ .fd = lines_fd(p->line[0]), .events = POLLIN }, 1, 30000) != 1)
			return "";
	snprintf(line, sizeof(line), "%.*s", (int)n, text);
	return line;
}

/* What an agent leaves that is killed: its connection ends, and nothing is released. */
static void
drop(struct proc *p)
{
	close(p->shim);
	p->shim = -1;
	p->state = PROC_ENDED;
	proc_free(p);
}

static void
test_adopt(void)
{
	static char script[] = "trap 'echo asked; exit 5' TERM; echo one; "
	    "while :; do sleep 0.1; done";
	char *sh[] = { (char[]){ "sh" }, (char[]){ "-c" }, script, NULL }, name[64], key[JOB_KEY + 1] = "";
	struct job_child worker = { JOB_WORKER, 0, JOB_NEW };
	struct job j = { .workers = 1, .key = "0123", .env = none, .argv = sh, .server_argv = none, .each = none,
	    .child = &worker, .nchildren = 1 };
	struct proc p, q;
	int status = -1;

	snprintf(name, sizeof(name), "proc-test-%d", (int)getpid());
	proc_init(&p, &j, 0, name, 60);
	is(proc_adopt(&p, key), ERR_PEER, "there is nothing to adopt before a process runs");
	is(proc_start(&p, &j, &at), 0, "a process starts");
	is_str(read_line(&p), "one\n", "the process runs");
	drop(&p);
	proc_init(&q, &j, 0, name, 60);
	is(proc_adopt(&q, key), 0, "another agent adopts it");
	ok(q.command == p.command && q.started_at == p.started_at, "an adopted process is the same process");
	is_str(key, "0123", "an adopted process has the key of its job");
	proc_signal(&q, SIGTERM);
	is_str(read_line(&q), "asked\n", "a signal reaches it, and its output the new agent");
	drop(&q);
	proc_init(&q, &j, 0, name, 60);
	is(proc_adopt(&q, key), 0, "a third agent adopts it");
	ok((q.passed & 1ull << SIGTERM) != 0, "the third agent knows that the process was asked to end");
	ok(wait_for_end(&q, &status) && WEXITSTATUS(status) == 5, "the third agent knows how the process ended");
	ok(!stray, "the shim has killed what was left");
	drop(&q);
	proc_init(&q, &j, 0, name, 60);
	is(proc_adopt(&q, key), 0, "the end is known to each further agent until one releases it");
	status = -1;
	ok(wait_for_end(&q, &status) && WEXITSTATUS(status) == 5, "each agent reads the same status");
	ok(q.peak_kib > 0, "each agent reads the peak memory");
	proc_free(&q);

	/* A process that another one replaces: never two of one name. */
	proc_init(&p, &j, 0, name, 60);
	is(proc_start(&p, &j, &at), 0, "a process of the same name starts once the first is released");
	read_line(&p);
	kill(p.command, SIGKILL);
	ok(wait_for_end(&p, &status) && WTERMSIG(status) == SIGKILL, "the process is killed");
	proc_close_pipes(&p);
	is(proc_start(&p, &j, &at), 0, "another one follows while its shim holds the name");
	is_str(read_line(&p), "one\n", "the other process runs");
	drop(&p);
	proc_init(&q, &j, 0, name, 60);
	is(proc_adopt(&q, key), 0, "an agent adopts it");
	ok(q.command == p.command, "the adopted process is the second one");
	kill(q.pid, SIGKILL);
	ok(wait_for_end(&q, &status) && stray && WTERMSIG(status) == SIGKILL, "a shim that is killed is noticed");
	proc_free(&q);

	proc_init(&p, &j, 0, name, 60);
	is(proc_start(&p, &j, &at), 0, "a process starts after it");
	read_line(&p);
	drop(&p);
	proc_init(&q, &j, 0, name, 60);
	proc_end_orphan(&q);
	is(proc_start(&q, &j, &at), 0, "a new attempt starts its own after it has ended the old one");
	ok(q.command != p.command && kill(p.command, 0) < 0, "the process of the old attempt is gone");
	proc_free(&q);
	j.input = true;
	proc_init(&q, &j, 0, name, 60);
	is_str(q.name, "", "a process with input cannot be adopted");
}

/* Returns whether a process has n children, once it has. */
static bool
wait_for_children(pid_t pid, int n)
{
	const double until = clk_s() + 30;
	char path[64], text[256];
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	while (found < n && clk_s() < until) {
		FILE *f = fopen(path, "r");
		const char *t = f != NULL && fgets(text, sizeof(text), f) != NULL ? text : "";

		found = 0;
		for (; *t != 0; t++)
			found += *t == ' ';
		if (f != NULL)
			fclose(f);
		poll(NULL, 0, 1);
	}
	return found == n;
}

/*
 * An agent, in a process of its own: starts a server, kills it and stops its shim, so that it waits in the start of
 * another one.  Writes the first server and shim.
 */
static _Noreturn void
be_agent(const struct job *j, const char *name, int out)
{
	struct proc p;
	int status;

	proc_init(&p, j, 0, name, 60);
	if (proc_start(&p, j, &at) < 0 || write(p.memory_fd, "kept", 4) != 4)
		_exit(1);
	kill(p.command, SIGKILL);
	if (!wait_for_end(&p, &status))
		_exit(1);
	kill(p.pid, SIGSTOP);
	if (write(out, &(pid_t[]){ p.command, p.pid }, 2 * sizeof(pid_t)) < 0)
		_exit(1);
	proc_start_again(&p, j, &at);
	_exit(0);
}

/* An agent is killed while it starts a server again, whose shim waits for the end of the shim before. */
static void
test_handover(void)
{
	char *sleeps[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "exec sleep 1000" }, NULL };
	char name[64], key[JOB_KEY + 1] = "", text[8];
	struct job_child server = { JOB_SERVER, 0, JOB_STARTED };
	const struct job j = { .workers = 1, .servers = 1, .key = "", .respawn = 2, .env = none, .argv = argv,
	    .server_argv = sleeps, .each = none, .child = &server, .nchildren = 1 };
	pid_t agent, first[2] = { 0 }, peer;
	int told[2], fd = -1;
	struct proc p;

	snprintf(name, sizeof(name), "proc-test-%d", (int)getpid());
	if (pipe(told) < 0 || (agent = fork()) < 0)
		return;
	if (agent == 0)
		be_agent(&j, name, told[1]);
	is((int)read(told[0], first, sizeof(first)), (int)sizeof(first), "the server has died");
	ok(wait_for_children(agent, 2), "the agent starts another shim beside the first one");
	kill(agent, SIGKILL);
	waitpid(agent, NULL, 0);
	proc_init(&p, &j, 0, name, 60);
	is(attach_connect(p.name, &fd, &peer), 0, "the process has a name before the first shim ends");
	kill(first[1], SIGCONT);
	ok(recv(fd, text, 4, 0) == 4, "a connection made then reaches the shim that follows");
	close(fd);
	is(proc_adopt(&p, key), 0, "another agent adopts the second server");
	ok(p.pid != first[1] && p.command != first[0] && kill(p.command, 0) == 0, "the adopted server is another process");
	ok(pread(p.memory_fd, text, 4, 0) == 4 && memcmp(text, "kept", 4) == 0, "the second server has the memory of the first one");
	ok(p.listen_fd >= 0, "the second server has a socket");
	proc_signal(&p, SIGKILL);
	ok(wait_for_end(&p, &fd) && WTERMSIG(fd) == SIGKILL, "a signal reaches it through its own shim");
	proc_free(&p);
	close(told[0]);
	close(told[1]);
}

static void
test_leaving(void)
{
	char *sleeps[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "exec sleep 1000" }, NULL };
	char name[64], key[JOB_KEY + 1] = "";
	struct job_child worker = { JOB_WORKER, 1, JOB_NEW };
	const struct job j = { .workers = 2, .servers = 1, .elastic = 1, .key = "", .respawn = 1, .env = none, .argv = sleeps,
	    .server_argv = none, .each = none, .child = &worker, .nchildren = 1 };
	struct proc p;
	int status = 0;

	snprintf(name, sizeof(name), "proc-test-%d", (int)getpid());
	proc_init(&p, &j, 0, name, 60);
	is(proc_start(&p, &j, &at), 0, "a worker that is to leave starts");
	p.leaving = true;
	kill(p.command, SIGKILL);
	ok(wait_for_end(&p, &status), "the worker is killed before it has left");
	is(proc_start_again(&p, &j, &at), 0, "the worker is started again, to leave");
	drop(&p);
	proc_init(&p, &j, 0, name, 60);
	is(proc_adopt(&p, key), 0, "another agent adopts the worker");
	ok((p.passed & 1ull << SIGUSR1) != 0, "an adopting agent learns that the worker was asked to leave before it was killed");
	proc_signal(&p, SIGKILL);
	ok(wait_for_end(&p, &status), "the worker ends");
	proc_free(&p);
}

static void
test_peak(void)
{
	struct job_child worker = { JOB_WORKER, 0, JOB_NEW };
	const struct job j = { .workers = 1, .key = "", .env = none, .argv = argv, .server_argv = none, .each = none,
	    .child = &worker, .nchildren = 1 };
	int status = -1;
	struct proc p;

	proc_init(&p, &j, 0, "", PROC_HOLD_S);
	is(proc_start(&p, &j, &at), 0, "a worker starts");
	ok(wait_for_end(&p, &status) && status == 0, "the worker ends");
	ok(p.peak_kib > 0, "the peak memory of the worker is known");
	proc_close_pipes(&p);
	p.peak_kib = UINT32_MAX;
	is(proc_start(&p, &j, &at), 0, "a worker replaces one that used more memory");
	ok(wait_for_end(&p, &status), "the worker's replacement ends");
	is(p.peak_kib == UINT32_MAX, 1, "the peak is the highest of both");
	proc_free(&p);
}

int
main(void)
{
	test_start_again();
	test_peak();
	test_adopt();
	test_handover();
	test_leaving();
	return done();
}
